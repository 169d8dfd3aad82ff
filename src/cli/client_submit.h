// SPDX-License-Identifier: Apache-2.0
//
// `weir submit`: jobs from files, or one from the command line, to the server.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec submit_spec();
Result<void> submit_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
