// SPDX-License-Identifier: Apache-2.0
//
// `weir help` and `weir reference`.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> help_command(const OptionValues& options, Console& console);
Result<void> reference_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
