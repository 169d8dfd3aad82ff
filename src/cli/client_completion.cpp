// SPDX-License-Identifier: Apache-2.0
#include "cli/client_completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "cli/find_command_words.h"

namespace weir::cli {
namespace {

std::string first_word(const std::string& name) {
  return name.substr(0, name.find(' '));
}
// Empty for a command of one word.
std::string second_word(const std::string& name) {
  const std::size_t space = name.find(' ');
  return space == std::string::npos ? "" : name.substr(space + 1);
}

// The first words of all commands, each once.
std::vector<std::string> first_words() {
  std::vector<std::string> words;
  for (const Command& command : commands()) {
    const std::string word = first_word(command.spec.name);
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

bool has_name(const OptionSpec& option) {
  return !option.positional && option.type != OptionType::words;
}

// Everything that may stand after the command: its options, and words that are known.
std::string words_of(const CommandSpec& command) {
  std::vector<std::string> words;
  for (const OptionSpec& option : command.options) {
    if (has_name(option)) {
      words.push_back("--" + option.name);
    } else if (option.positional) {
      words.insert(words.end(), option.choices.begin(), option.choices.end());
    }
  }
  words.emplace_back("--help");
  return fmt::format("{}", fmt::join(words, " "));
}

std::string bash_script() {
  std::string text =
      "# Completion of weir for bash: source <(weir completion bash)\n"
      "_weir() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command=${COMP_WORDS[1]} words=\n";
  std::vector<std::string> pairs;
  for (const std::string& first : first_words()) {
    if (!second_words(first).empty()) pairs.push_back(first);
  }
  if (!pairs.empty()) {
    text += fmt::format(
        "  case $command in {})\n    [ \"$COMP_CWORD\" -gt 2 ] && "
        "command=\"$command ${{COMP_WORDS[2]}}\" ;;\n  esac\n",
        fmt::join(pairs, "|"));
  }
  text += fmt::format("  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"{}\"\n  else\n",
                      fmt::join(first_words(), " "));
  text += "    case \"$command $previous\" in\n";
  for (const Command& command : commands()) {
    for (const OptionSpec& option : command.spec.options) {
      if (!has_name(option) || option.type == OptionType::flag) continue;
      // Nothing known: names of files.
      text += fmt::format("      \"{} --{}\") words=\"{}\" ;;\n", command.spec.name, option.name,
                          fmt::join(option.choices, " "));
    }
  }
  text += "      *) case $command in\n";
  for (const std::string& first : pairs) {
    text += fmt::format("        \"{}\") words=\"{}\" ;;\n", first,
                        fmt::join(second_words(first), " "));
  }
  for (const Command& command : commands()) {
    text +=
        fmt::format("        \"{}\") words=\"{}\" ;;\n", command.spec.name, words_of(command.spec));
  }
  return text +
         "      esac ;;\n"
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _weir weir\n";
}

std::string zsh_script() {
  return "# Completion of weir for zsh: source <(weir completion zsh)\n"
         "autoload -U +X compinit && compinit -u\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script();
}

std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_script() {
  std::string text = "# Completion of weir for fish: weir completion fish | source\n";
  for (const std::string& first : first_words()) {
    const Command* const command = find_command(first);
    text += fmt::format("complete -c weir -n __fish_use_subcommand -f -a {} -d {}\n", first,
                        fish_quoted(command == nullptr ? "" : command->spec.summary));
    const std::vector<std::string> seconds = second_words(first);
    if (seconds.empty()) continue;
    const std::string condition =
        fmt::format("__fish_seen_subcommand_from {0}; and not __fish_seen_subcommand_from {1}",
                    first, fmt::join(seconds, " "));
    text += fmt::format("complete -c weir -n {} -f -a {}\n", fish_quoted(condition),
                        fish_quoted(fmt::format("{}", fmt::join(seconds, " "))));
  }
  for (const Command& command : commands()) {
    const std::string second = second_word(command.spec.name);
    const std::string condition =
        fmt::format("__fish_seen_subcommand_from {}{}", first_word(command.spec.name),
                    second.empty() ? "" : "; and __fish_seen_subcommand_from " + second);
    for (const OptionSpec& option : command.spec.options) {
      if (!has_name(option)) continue;
      text += fmt::format("complete -c weir -n {} -l {}", fish_quoted(condition), option.name);
      if (!option.short_name.empty()) text += " -s " + option.short_name;
      if (option.type != OptionType::flag) text += " -r";
      if (!option.choices.empty()) {
        text += fmt::format(" -f -a {}",
                            fish_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
      }
      text += fmt::format(" -d {}\n", fish_quoted(option.help));
    }
  }
  return text;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "fish") return fish_script();
  return shell == "zsh" ? zsh_script() : bash_script();
}

CommandSpec completion_spec() {
  return {.name = "completion",
          .summary = "Print what a shell needs to complete weir's commands.",
          .about =
              "Prints a script. With bash: `source <(weir completion bash)`, or write it to "
              "~/.local/share/bash-completion/completions/weir. With zsh: `source <(weir "
              "completion zsh)`. With fish: `weir completion fish | source`.",
          .options = {{.name = "shell",
                       .type = OptionType::text,
                       .choices = {"bash", "zsh", "fish"},
                       .help = "The shell.",
                       .required = true,
                       .positional = true}},
          .examples = {{"weir completion bash", "For your .bashrc."}}};
}

Result<void> completion_command(const OptionValues& options, Console& console) {
  console.out << completion_script(options.text("shell"));
  return {};
}

}  // namespace weir::cli
