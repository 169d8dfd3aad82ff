// SPDX-License-Identifier: Apache-2.0
//
// `weir plan`: the fastest parallel plan for a model on a cluster.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> plan_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
