// SPDX-License-Identifier: Apache-2.0
//
// `weir token create`, `list` and `revoke`: who may do what with the server.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec token_create_spec();
Result<void> token_create_command(const OptionValues& options, Console& console);

CommandSpec token_list_spec();
Result<void> token_list_command(const OptionValues& options, Console& console);

CommandSpec token_revoke_spec();
Result<void> token_revoke_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
