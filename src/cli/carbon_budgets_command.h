// SPDX-License-Identifier: Apache-2.0
//
// `weir carbon budgets`: how soon jobs are done under budgets of carbon, by policy.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec carbon_budgets_spec();
Result<void> carbon_budgets_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
