// SPDX-License-Identifier: Apache-2.0
//
// `weir network simulate`: a collective, or several jobs, on a shared fabric.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec network_simulate_spec();
Result<void> network_simulate_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
