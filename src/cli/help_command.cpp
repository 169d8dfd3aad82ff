// SPDX-License-Identifier: Apache-2.0
#include "cli/help_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "cli/find_command_words.h"
#include "cli/help_text.h"

namespace weir::cli {

Result<void> help_command(const OptionValues& options, Console& console) {
  if (!options.has("command")) {
    console.out << program_help();
    return {};
  }
  const std::vector<std::string>& words = options.texts("command");
  if (words.size() == 1 && is_group_of_commands(words[0])) {
    console.out << group_help(words[0]);
    return {};
  }
  const auto found = find_command_words(words);
  if (!found) return tl::unexpected(found.error());
  console.out << command_help(found->command->spec);
  return {};
}

Result<void> reference_command(const OptionValues&, Console& console) {
  console.out << reference_page();
  return {};
}

}  // namespace weir::cli
