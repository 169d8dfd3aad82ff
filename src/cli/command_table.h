// SPDX-License-Identifier: Apache-2.0
//
// Every command of `weir` with its options: the one table behind parsing, help, config files and
// the reference page. Adding an option is one row here and one use of it in the command.
#pragma once

#include <span>
#include <string_view>

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

struct Command {
  CommandSpec spec;
  Result<void> (*run)(const OptionValues& options, Console& console);
};

// In the order in which help lists them.
std::span<const Command> commands();

// Null when there is no command of that name ("trace describe").
const Command* find_command(std::string_view name);

}  // namespace weir::cli
