// SPDX-License-Identifier: Apache-2.0
//
// `weir dashboard`: the link to the server's page, with the token. The token stands after a `#`, which browsers do not
// send; the page reads it from there.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec dashboard_spec();
Result<void> dashboard_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
