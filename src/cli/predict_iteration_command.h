// SPDX-License-Identifier: Apache-2.0
//
// `weir predict --model resnet50 --gpu h200 --batch 64`: a whole iteration on one GPU, kernel by kernel.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

std::vector<OptionSpec> iteration_options();

// Requires: no plan is given.
Result<void> predict_iteration_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
