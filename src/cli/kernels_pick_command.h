// SPDX-License-Identifier: Apache-2.0
//
// `weir kernels pick`: which of a library's algorithms for a convolution, or of attention's backends, will be the fastest.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec kernels_pick_spec();
Result<void> kernels_pick_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
