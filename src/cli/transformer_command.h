// SPDX-License-Identifier: Apache-2.0
//
// `weir plan --model-config` and `--dims`: a plan, its export, or a curve, for a model that nobody measured.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> transformer_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
