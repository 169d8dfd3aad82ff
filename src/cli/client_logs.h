// SPDX-License-Identifier: Apache-2.0
//
// `weir logs`: what a job has printed, and with -f what it goes on to print.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec logs_spec();
Result<void> logs_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
