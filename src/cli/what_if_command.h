// SPDX-License-Identifier: Apache-2.0
//
// `weir what-if`: how things would go on if something were different, on the state of the server or
// on a day that is in a log.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec what_if_spec();
Result<void> what_if_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
