// SPDX-License-Identifier: Apache-2.0
//
// `weir carbon savings`: what jobs save when they may wait for cleaner, or cheaper, hours.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> carbon_savings_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
