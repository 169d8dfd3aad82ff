// SPDX-License-Identifier: Apache-2.0
//
// `weir predict`: what an iteration costs under a plan that somebody has already, or on one GPU.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> predict_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
