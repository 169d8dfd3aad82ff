// SPDX-License-Identifier: Apache-2.0
//
// `weir trace export`, `weir trace replay` and `weir backup`: what a server has written, for later.
#pragma once

#include <vector>

#include "cli/command_table.h"

namespace weir::cli {

std::vector<Command> log_commands();

}  // namespace weir::cli
