// SPDX-License-Identifier: Apache-2.0
//
// `weir carbon power`: what power limits save and how jobs follow the clock, from measured sweeps;
// with --curves, what jobs draw at every size and clock as schedulers see it.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec carbon_power_spec();

Result<void> carbon_power_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
