// SPDX-License-Identifier: Apache-2.0
#include "cli/find_command_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace weir::cli {

std::vector<std::string> second_words(const std::string& first) {
  std::vector<std::string> words;
  for (const Command& command : commands()) {
    if (command.spec.name.starts_with(first + " ")) {
      words.push_back(command.spec.name.substr(first.size() + 1));
    }
  }
  return words;
}

bool is_group_of_commands(const std::string& word) {
  return find_command(word) == nullptr && !second_words(word).empty();
}

namespace {

tl::unexpected<Error> unknown(const std::string& field, const std::string& found,
                              const std::vector<std::string>& names) {
  return bad_input(
      Diagnostic{{},
                 0,
                 field,
                 found,
                 fmt::format("one of {}{}", fmt::join(names, ", "), did_you_mean(found, names))});
}

}  // namespace

Result<FoundCommand> find_command_words(std::span<const std::string> words) {
  const std::string& first = words[0];
  // "tenants set" before "tenants".
  if (words.size() > 1) {
    if (const Command* command = find_command(first + " " + words[1]))
      return FoundCommand{command, 2};
  }
  if (const Command* command = find_command(first)) return FoundCommand{command, 1};
  const std::vector<std::string> seconds = second_words(first);
  if (!seconds.empty()) {
    const bool has_second = words.size() > 1 && !words[1].starts_with("-");
    const std::string second = has_second ? words[1] : "";
    if (const Command* command = find_command(first + " " + second))
      return FoundCommand{command, 2};
    return unknown("the command after " + first, second, seconds);
  }
  // What people look for under another name.
  if (first == "compare")
    return bad_input(Diagnostic{
        {},
        0,
        "command",
        first,
        "weir simulate --compare FILE, or weir simulate --policy weir,edf --jobs FILE --cluster "
        "4x8xA100"});
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.spec.name);
  return unknown("command", first, names);
}

}  // namespace weir::cli
