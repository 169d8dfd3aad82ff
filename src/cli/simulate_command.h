// SPDX-License-Identifier: Apache-2.0
//
// `weir simulate`: reads a cluster and task lists, compares policies, prints and writes the result.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> simulate_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
