// SPDX-License-Identifier: Apache-2.0
//
// `weir carbon report`: who used how much energy, from a server or from its log.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec carbon_report_spec();
Result<void> carbon_report_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
