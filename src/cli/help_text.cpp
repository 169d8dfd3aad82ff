// SPDX-License-Identifier: Apache-2.0
#include "cli/help_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/command_table.h"
#include "cli/version.h"

namespace weir::cli {
namespace {

constexpr std::size_t kLineLength = 88;

// Text in lines of at most kLineLength, each indented.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string result;
  std::string line(indent, ' ');
  bool is_empty = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_empty && line.size() + 1 + word.size() > kLineLength) {
      result += line + "\n";
      line = std::string(indent, ' ');
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return result + line + "\n";
}

std::string_view placeholder(const OptionSpec& option) {
  switch (option.type) {
    case OptionType::flag:
      return "";
    case OptionType::integer:
      return "N";
    case OptionType::number:
      return "X";
    case OptionType::integer_list:
      return "N,N..N";
    case OptionType::number_list:
      return "X,...";
    case OptionType::file:
      return "FILE";
    case OptionType::file_list:
      return "FILE,...";
    case OptionType::text:
      return "NAME";
    case OptionType::text_list:
      return "NAME,...";
    case OptionType::words:
      return "COMMAND...";
  }
  return "";
}

std::string spelling(const OptionSpec& option) {
  if (option.type == OptionType::words) return "-- COMMAND...";
  if (option.positional) {
    std::string upper = option.name;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return is_list(option.type) ? upper + "..." : upper;
  }
  const std::string_view value = placeholder(option);
  const std::string letter =
      option.short_name.empty() ? "" : fmt::format("-{}, ", option.short_name);
  return fmt::format("{}--{}{}{}", letter, option.name, value.empty() ? "" : " ", value);
}

std::string usage(const CommandSpec& command) {
  std::string text = "weir " + command.name;
  bool has_more = false;
  for (const OptionSpec& option : command.options) {
    if (option.required) {
      text += " " + spelling(option);
    } else if (option.positional || option.type == OptionType::words) {
      text += fmt::format(" [{}]", spelling(option));
    } else {
      has_more = true;
    }
  }
  return has_more ? text + " [options]" : text;
}

// "One of fifo, backfill. Default: fifo."
std::string details(const OptionSpec& option) {
  std::vector<std::string> parts;
  if (!option.choices.empty() || option.least || option.most) {
    std::string values = expected_value(option);
    values.front() = static_cast<char>(values.front() - 'a' + 'A');
    parts.push_back(values + ".");
  }
  if (!option.unit.empty()) parts.push_back(fmt::format("Unit: {}.", option.unit));
  if (option.required) parts.emplace_back("Required.");
  if (!option.default_text.empty())
    parts.push_back(fmt::format("Default: {}.", option.default_text));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string markdown_cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

std::string reference_section(const CommandSpec& command) {
  std::string text = fmt::format("## weir {}\n\n{}\n\n", command.name, command.about);
  text += fmt::format("    {}\n\n", usage(command));
  if (!command.options.empty()) {
    text += "| option | what it does | values | default |\n|---|---|---|---|\n";
    for (const OptionSpec& option : command.options) {
      std::string values = option.type == OptionType::flag ? "" : expected_value(option);
      if (!option.unit.empty()) values += fmt::format(" ({})", option.unit);
      text += fmt::format(
          "| `{}` | {} | {} | {} |\n", spelling(option), markdown_cell(option.help),
          markdown_cell(values),
          option.required
              ? "required"
              : (option.default_text.empty() ? "" : fmt::format("`{}`", option.default_text)));
    }
    text += "\n";
  }
  for (const CommandExample& example : command.examples) {
    text += fmt::format("{}\n\n    {}\n\n", example.purpose, example.command);
  }
  return text;
}

// The commands whose names begin so, with a line each.
std::string command_lines(std::string_view beginning) {
  std::vector<const CommandSpec*> listed;
  std::size_t longest = 0;
  for (const Command& command : commands()) {
    if (!command.spec.name.starts_with(beginning)) continue;
    listed.push_back(&command.spec);
    longest = std::max(longest, command.spec.name.size());
  }
  std::string text = "\nCommands\n";
  for (const CommandSpec* spec : listed)
    text += fmt::format("  {:<{}}  {}\n", spec->name, longest, spec->summary);
  return text;
}

}  // namespace

std::string program_help() {
  std::string text = fmt::format(
      "weir {}: a scheduler for GPU clusters, and a simulator to compare policies.\n\n", kVersion);
  text += "Start here\n";
  const CommandExample& first = commands().front().spec.examples.front();
  text += fmt::format("  {}\n{}", first.command, wrapped(first.purpose, 6));
  text += command_lines({});
  text +=
      "\n`weir help simulate` explains a command. Most commands take --json.\n"
      "Exit codes: 0 ok, 1 failure, 2 bad input, 3 refused, 4 unavailable, 130 interrupted.\n";
  return text;
}

std::string group_help(const std::string& group) {
  std::string text = fmt::format("Usage: weir {} COMMAND [options]\n", group);
  text += command_lines(group + " ");
  return text + fmt::format("\n`weir {} COMMAND --help` explains one of them.\n", group);
}

std::string command_help(const CommandSpec& command) {
  std::string text = fmt::format("{}\n\nUsage: {}\n\n{}", command.summary, usage(command),
                                 wrapped(command.about, 0));
  if (!command.examples.empty()) text += "\nExamples\n";
  for (const CommandExample& example : command.examples) {
    text += fmt::format("  {}\n{}", example.command, wrapped(example.purpose, 6));
  }
  if (!command.options.empty()) text += "\nOptions\n";
  for (const OptionSpec& option : command.options) {
    text += fmt::format("  {}\n{}", spelling(option), wrapped(option.help, 6));
    if (const std::string more = details(option); !more.empty()) text += wrapped(more, 6);
  }
  return text;
}

std::string reference_page() {
  std::string text =
      "# Command line\n\n"
      "Made by `weir reference` from the option table in src/cli/command_table.cpp. Do not "
      "edit.\n\n"
      "Lists are separated by commas; options that take a list may be repeated. `42..51` stands "
      "for the\n"
      "numbers 42 to 51. Every option can also stand in a YAML file that is named with `--config` "
      "where\n"
      "the command has it. Results go to standard output, progress and mistakes to standard "
      "error.\n\n"
      "Exit codes: 0 ok, 1 failure, 2 bad input, 3 refused or infeasible, 4 unavailable, 130\n"
      "interrupted. When the input is bad, every mistake is named and nothing is written. A model "
      "that\n"
      "fits nowhere is 3 as the answer of `weir plan`, and 2 as a mistake of a job file.\n\n";
  for (const Command& command : commands()) text += reference_section(command.spec);
  text.pop_back();  // one newline at the end is enough
  return text;
}

}  // namespace weir::cli
