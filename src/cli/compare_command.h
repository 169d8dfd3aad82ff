// SPDX-License-Identifier: Apache-2.0
//
// `weir simulate --compare FILE`: policies for training jobs beside each other, on many traces that
// each have their own cluster and curves.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> compare_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
