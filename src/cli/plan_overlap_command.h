// SPDX-License-Identifier: Apache-2.0
//
// `weir plan --overlap`: how many CTAs the collectives of a backward pass should use.
#pragma once

#include <vector>

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

// Options of `weir plan` that belong to --overlap.
std::vector<OptionSpec> overlap_planning_options();

// Options that belong to the other kind of plan, and are given.
void refuse_mixed_plan_options(const OptionValues& options, const CommandSpec& spec,
                               Diagnostics& mistakes);

// Requires: --overlap is given.
Result<void> plan_overlap_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
