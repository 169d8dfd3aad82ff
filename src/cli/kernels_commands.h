// SPDX-License-Identifier: Apache-2.0
//
// `weir kernels fit` and `weir kernels check`: models of a GPU's kernels from tables of timings, and how far they are off.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec kernels_fit_spec();
CommandSpec kernels_check_spec();

Result<void> kernels_fit_command(const OptionValues& options, Console& console);
Result<void> kernels_check_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
