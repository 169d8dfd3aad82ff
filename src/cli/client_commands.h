// SPDX-License-Identifier: Apache-2.0
//
// The commands that talk to a server, for the command table.
#pragma once

#include <vector>

#include "cli/command_table.h"

namespace weir::cli {

std::vector<Command> client_commands();

}  // namespace weir::cli
