// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <ostream>

#include "cli/command_table.h"
#include "cli/config_file.h"
#include "cli/find_command_words.h"
#include "cli/help_text.h"
#include "cli/parse_command_line.h"
#include "cli/version.h"

namespace weir::cli {
namespace {

// The options of the config file that the command line names, if any.
Result<std::vector<GivenOption>> config_options(const CommandSpec& command,
                                                const std::vector<GivenOption>& command_line) {
  constexpr std::string_view kConfig = "config";
  std::vector<GivenOption> options;
  if (command.find(kConfig) == nullptr) return options;
  for (const GivenOption& given : command_line) {
    if (given.name != kConfig || given.words.size() != 1) continue;
    auto read = read_config_file(given.words.front());
    if (!read) return read;
    options = std::move(*read);
  }
  for (const GivenOption& option : options) {
    if (option.name == kConfig) {
      return bad_input(Diagnostic{option.file, option.line, option.name, "a config file",
                                  "no config file inside a config file"});
    }
  }
  return options;
}

Result<void> run_command(const Command& command, std::span<const std::string> words,
                         Console& console) {
  ParsedWords parsed = parse_command_line(command.spec, words);
  if (parsed.wants_help) {
    console.out << command_help(command.spec);
    return {};
  }
  const auto config = config_options(command.spec, parsed.options);
  if (!config) parsed.mistakes.append(config.error().details);
  const auto options =
      read_options(command.spec, parsed.options, config ? *config : std::vector<GivenOption>{});
  if (!options) parsed.mistakes.append(options.error().details);
  if (!parsed.mistakes.empty()) return bad_input(std::move(parsed.mistakes));
  return command.run(*options, console);
}

bool asks_for_help(const std::string& word) {
  return word == "--help" || word == "-h";
}

Result<void> run_words(std::span<const std::string> words, Console& console) {
  if (words.empty() || asks_for_help(words[0])) {
    console.out << program_help();
    return {};
  }
  if (words.size() > 1 && is_group_of_commands(words[0]) && asks_for_help(words[1])) {
    console.out << group_help(words[0]);
    return {};
  }
  if (words[0] == "--version") {
    console.out << "weir " << kVersion << "\n";
    return {};
  }
  const auto found = find_command_words(words);
  if (!found) return tl::unexpected(found.error());
  return run_command(*found->command, words.subspan(found->words), console);
}

int failure(Console& console, std::string_view message) {
  console.err << "weir: " << message << "\n";
  return static_cast<int>(ExitCode::failure);
}

}  // namespace

int run(std::span<const std::string> words, Console& console) {
  // Our own code returns errors as values. This is the last net, for what libraries throw.
  try {
    const Result<void> result = run_words(words, console);
    if (!result) {
      console.err << to_string(result.error().details);
      return static_cast<int>(exit_code_of(result.error().code));
    }
    console.out.flush();
    if (console.out.fail()) return failure(console, "standard output cannot be written");
    return console.exit_code;
  } catch (const std::bad_alloc&) {
    return failure(console, "out of memory");
  } catch (const std::exception& error) {
    return failure(console, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace weir::cli
