// SPDX-License-Identifier: Apache-2.0
//
// `weir observe`: one look at a Kubernetes cluster: what waits, why, what would start it, when it will start.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec observe_spec();
Result<void> observe_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
