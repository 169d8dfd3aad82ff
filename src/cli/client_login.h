// SPDX-License-Identifier: Apache-2.0
//
// `weir login` and `weir logout`: which server commands talk to, and with which token, until told
// otherwise.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec login_spec();
Result<void> login_command(const OptionValues& options, Console& console);

CommandSpec logout_spec();
Result<void> logout_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
