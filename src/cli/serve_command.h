// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec serve_spec();

// The control plane, until SIGINT or SIGTERM.
Result<void> serve_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
