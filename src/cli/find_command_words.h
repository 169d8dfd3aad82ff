// SPDX-License-Identifier: Apache-2.0
//
// Which command the first words of a command line name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "domain/result.h"

namespace weir::cli {

// The words that may follow "trace".
std::vector<std::string> second_words(const std::string& first);

// "trace", which is no command itself.
bool is_group_of_commands(const std::string& word);

struct FoundCommand {
  const Command* command = nullptr;
  std::size_t words = 0;  // how many words its name took
};

// Requires: words is not empty. The error lists what could stand there, with the nearest name.
Result<FoundCommand> find_command_words(std::span<const std::string> words);

}  // namespace weir::cli
