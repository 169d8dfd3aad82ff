// SPDX-License-Identifier: Apache-2.0
//
// `weir explain`: what became of one training job and why, from a record log, from a
// simulation, or from the records of a server.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> explain_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
