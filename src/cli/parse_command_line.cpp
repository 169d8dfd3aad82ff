// SPDX-License-Identifier: Apache-2.0
#include "cli/parse_command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

namespace weir::cli {
namespace {

CLI::Option* declare(CLI::App& app, const OptionSpec& option) {
  const std::string letter = option.short_name.empty() ? "" : "-" + option.short_name + ",";
  const std::string name = option.positional ? option.name : letter + "--" + option.name;
  if (option.type == OptionType::flag) return app.add_flag(name);
  CLI::Option* declared = app.add_option(name);
  declared->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  // A list may also be given as several words, so that the shell's `*.csv` works.
  if (is_list(option.type)) {
    declared->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
  }
  return declared;
}

// What CLI11 could not place: unknown options (with their values) and words too many.
void sort_leftovers(const CommandSpec& command, const std::vector<std::string>& leftovers,
                    ParsedWords& parsed) {
  bool follows_option = false;
  for (const std::string& word : leftovers) {
    if (word.size() > 1 && word.front() == '-') {
      const std::size_t start = word.find_first_not_of('-');
      const std::string bare = start == std::string::npos ? word : word.substr(start);
      const std::size_t equals = bare.find('=');
      parsed.options.push_back({bare.substr(0, equals), {}, {}, 0});
      follows_option = equals == std::string::npos;
    } else if (!std::exchange(follows_option, false)) {
      parsed.mistakes.add(
          {{}, 0, "word", word, "only options of `weir " + command.name + "` here"});
    }
  }
}

}  // namespace

ParsedWords parse_command_line(const CommandSpec& command, std::span<const std::string> words) {
  ParsedWords parsed;
  const auto after = std::find_if(command.options.begin(), command.options.end(),
                                  [](const OptionSpec& o) { return o.type == OptionType::words; });
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (after != command.options.end() && dashes != words.end()) {
    parsed.options.push_back({after->name, {dashes + 1, words.end()}, {}, 0});
    words = words.first(static_cast<std::size_t>(dashes - words.begin()));
  }
  std::vector<std::string> rest;
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") {
      parsed.wants_help = true;
    } else {
      rest.push_back(word);
    }
  }
  // An option at the very end without its value: CLI11 would stop there, but other mistakes are to
  // be told too.
  if (!rest.empty() && rest.back().starts_with("--")) {
    const OptionSpec* last = command.find(rest.back().substr(2));
    if (last != nullptr && last->type != OptionType::flag && !last->positional) {
      parsed.options.push_back({last->name, {}, {}, 0});
      rest.pop_back();
    }
  }
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<const OptionSpec*, CLI::Option*>> declared;
  for (const OptionSpec& option : command.options) {
    if (option.type == OptionType::words) continue;
    declared.emplace_back(&option, declare(app, option));
  }
  try {
    std::reverse(rest.begin(), rest.end());  // CLI11 takes words from the back
    app.parse(std::move(rest));
  } catch (const CLI::Error& error) {
    parsed.mistakes.add(
        {{}, 0, "command line", error.what(), "options as in `weir help " + command.name + "`"});
  }
  for (const auto& [spec, option] : declared) {
    if (option->count() == 0) continue;
    std::vector<std::string> values = option->results();
    // CLI11 says "true" for a bare flag; `--json=false` stays what it is.
    if (spec->type == OptionType::flag) std::erase(values, "true");
    parsed.options.push_back({spec->name, std::move(values), {}, 0});
  }
  sort_leftovers(command, app.remaining(), parsed);
  return parsed;
}

}  // namespace weir::cli
