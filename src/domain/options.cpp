// SPDX-License-Identifier: Apache-2.0
#include "domain/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace weir {
namespace {

// More would be a slip of the pen (`--seeds 1..1000000000`), and would fill the memory.
constexpr std::size_t kLongestList = 100'000;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (true) {
    const std::size_t to = text.find(separator, from);
    parts.push_back(text.substr(from, to - from));
    if (to == std::string::npos) return parts;
    from = to + 1;
  }
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

template <class T>
bool in_range(const OptionSpec& option, T value) {
  const auto number = static_cast<double>(value);
  return (!option.least || number >= *option.least) && (!option.most || number <= *option.most);
}

enum class Appended : std::uint8_t { yes, wrong, too_many };

// Appends the integers of "42" or "42..51".
Appended append_integers(const OptionSpec& option, std::string_view text,
                         std::vector<std::int64_t>& list) {
  const std::size_t dots = text.find("..");
  const auto first = parse_number<std::int64_t>(text.substr(0, dots));
  const auto last =
      dots == std::string_view::npos ? first : parse_number<std::int64_t>(text.substr(dots + 2));
  if (!first || !last || *first > *last || !in_range(option, *first) || !in_range(option, *last)) {
    return Appended::wrong;
  }
  // Unsigned: the width of the widest range does not fit a signed integer.
  const auto width = static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first);
  if (width >= kLongestList - list.size()) return Appended::too_many;
  for (std::uint64_t step = 0; step <= width; ++step) {
    list.push_back(*first + static_cast<std::int64_t>(step));
  }
  return Appended::yes;
}

bool is_choice(const OptionSpec& option, const std::string& word) {
  return option.choices.empty() ||
         (option.may_be_blended && word.find_first_of(":+") != std::string::npos) ||
         std::find(option.choices.begin(), option.choices.end(), word) != option.choices.end();
}

bool looks_like_an_option(std::string_view word) {
  return word.starts_with("--");
}

std::string shown_name(const OptionSpec& option, const GivenOption& given) {
  if (option.type == OptionType::words) return "-- " + option.name;
  if (option.positional) return option.name;
  return given.file.empty() ? "--" + option.name : option.name;
}

// Turns words into a value, and says what is wrong with each that is not right.
class ValueReader {
 public:
  ValueReader(const OptionSpec& option, const GivenOption& given, Diagnostics& mistakes)
      : option_{option}, given_{given}, mistakes_{mistakes} {}

  std::optional<OptionValue> read() {
    if (option_.type == OptionType::flag) return read_flag();
    if (option_.type == OptionType::words && !given_.words.empty()) return given_.words;
    if (given_.words.empty() || looks_like_an_option(given_.words.front())) {
      mistake("", expected_value(option_));
      return std::nullopt;
    }
    if (is_list(option_.type)) return read_list();
    if (given_.words.size() > 1) {
      mistake(fmt::format("{}", fmt::join(given_.words, " ")), "one value");
      return std::nullopt;
    }
    return read_single(given_.words.front());
  }

 private:
  void mistake(const std::string& found, const std::string& expected) {
    mistakes_.add({given_.file, given_.line, shown_name(option_, given_), found, expected});
  }

  // Reports the word as wrong and gives back nothing.
  std::nullopt_t wrong(const std::string& word) {
    mistake(word, expected_value(option_) + did_you_mean(word, option_.choices));
    return std::nullopt;
  }

  std::optional<OptionValue> read_flag() {
    if (given_.words.empty() || given_.words.front() == "true") return true;
    if (given_.words.front() == "false") return false;
    return wrong(given_.words.front());
  }

  std::optional<OptionValue> read_single(const std::string& word) {
    switch (option_.type) {
      case OptionType::integer: {
        const auto value = parse_number<std::int64_t>(word);
        if (!value || !in_range(option_, *value)) return wrong(word);
        return *value;
      }
      case OptionType::number: {
        const auto value = parse_number<double>(word);
        if (!value || !in_range(option_, *value)) return wrong(word);
        return *value;
      }
      default:
        if (word.empty() || !is_choice(option_, word)) return wrong(word);
        return word;
    }
  }

  std::optional<OptionValue> read_list() {
    std::vector<std::string> items;
    for (const std::string& word : given_.words) {
      for (std::string& item : split(word, ',')) items.push_back(std::move(item));
    }
    const std::size_t mistakes_before = mistakes_.total();
    std::vector<std::int64_t> integers;
    std::vector<double> numbers;
    for (const std::string& item : items) {
      if (option_.type == OptionType::integer_list) {
        const Appended appended = append_integers(option_, item, integers);
        if (appended == Appended::wrong) wrong(item);
        if (appended == Appended::too_many) {
          mistake(item, fmt::format("at most {} numbers", kLongestList));
        }
      } else if (option_.type == OptionType::number_list) {
        const auto value = parse_number<double>(item);
        if (!value || !in_range(option_, *value)) {
          wrong(item);
        } else {
          numbers.push_back(*value);
        }
      } else if (item.empty() || !is_choice(option_, item)) {
        wrong(item);
      }
    }
    if (mistakes_.total() > mistakes_before) return std::nullopt;
    if (option_.type == OptionType::integer_list) return without_repeats(std::move(integers));
    if (option_.type == OptionType::number_list) return without_repeats(std::move(numbers));
    return without_repeats(std::move(items));
  }

  template <class T>
  std::optional<OptionValue> without_repeats(std::vector<T> list) {
    std::vector<T> sorted = list;
    std::sort(sorted.begin(), sorted.end());
    const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
    if (repeated == sorted.end()) return OptionValue{std::move(list)};
    mistake(fmt::format("{}", *repeated), "each value once");
    return std::nullopt;
  }

  const OptionSpec& option_;
  const GivenOption& given_;
  Diagnostics& mistakes_;
};

std::vector<std::string> option_names(const CommandSpec& command, std::string_view prefix) {
  std::vector<std::string> names;
  for (const OptionSpec& option : command.options) {
    if (!option.positional) names.push_back(std::string{prefix} + option.name);
  }
  return names;
}

void report_unknown(const CommandSpec& command, const GivenOption& given, Diagnostics& mistakes) {
  const std::string prefix = given.file.empty() ? "--" : "";
  const std::string found = prefix + given.name;
  mistakes.add({given.file, given.line, given.file.empty() ? "option" : "key", found,
                fmt::format("an option of `weir {}`{}", command.name,
                            did_you_mean(found, option_names(command, prefix)))});
}

// What was written for one option: the command line's words, or else the config file's.
std::optional<GivenOption> combine(const OptionSpec& option,
                                   const std::vector<GivenOption>& command_line,
                                   const std::vector<GivenOption>& config, Diagnostics& mistakes) {
  std::optional<GivenOption> result;
  for (const std::vector<GivenOption>* source : {&command_line, &config}) {
    for (const GivenOption& given : *source) {
      if (given.name != option.name) continue;
      if (!result) {
        result = given;
      } else if (is_list(option.type) && given.file.empty()) {
        result->words.insert(result->words.end(), given.words.begin(), given.words.end());
      } else if (option.type != OptionType::flag) {
        mistakes.add({given.file, given.line, shown_name(option, given),
                      fmt::format("{}", fmt::join(given.words, ",")), "the option only once"});
      }
    }
    if (result) break;
  }
  return result;
}

std::string in_quotes_if_needed(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"_-./,:=+@%"}.find(c) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return quoted + "'";
}

std::string recipe_entry(const OptionSpec& option, const GivenOption& given) {
  if (option.type == OptionType::flag) return " --" + option.name;
  if (option.type == OptionType::words) {
    std::string entry = " --";
    for (const std::string& word : given.words) entry += " " + in_quotes_if_needed(word);
    return entry;
  }
  const std::string words = in_quotes_if_needed(fmt::format("{}", fmt::join(given.words, ",")));
  return option.positional ? " " + words : fmt::format(" --{} {}", option.name, words);
}

std::string range_text(const OptionSpec& option) {
  if (option.least && option.most) return fmt::format("{}..{}", *option.least, *option.most);
  if (option.least) return fmt::format("{} or more", *option.least);
  if (option.most) return fmt::format("{} or less", *option.most);
  return "";
}

}  // namespace

const OptionSpec* CommandSpec::find(std::string_view option_name) const {
  const auto at = std::find_if(options.begin(), options.end(), [&](const OptionSpec& option) {
    return option.name == option_name;
  });
  return at == options.end() ? nullptr : &*at;
}

bool OptionValues::flag(std::string_view name) const {
  return has(name) && get<bool>(name);
}

Result<OptionValues> read_options(const CommandSpec& command,
                                  const std::vector<GivenOption>& command_line,
                                  const std::vector<GivenOption>& config) {
  Diagnostics mistakes;
  for (const std::vector<GivenOption>* source : {&command_line, &config}) {
    for (const GivenOption& given : *source) {
      if (command.find(given.name) == nullptr) report_unknown(command, given, mistakes);
    }
  }
  OptionValues result;
  for (const OptionSpec& option : command.options) {
    const GivenOption by_default{option.name, {option.default_text}, {}, 0};
    std::optional<GivenOption> given = combine(option, command_line, config, mistakes);
    if (!given && option.required) {
      mistakes.add({{},
                    0,
                    option.positional ? option.name : "--" + option.name,
                    {},
                    expected_value(option)});
    }
    const bool has_default = option.type != OptionType::flag && !option.default_text.empty();
    if (!given && !has_default) continue;
    const auto value = ValueReader{option, given ? *given : by_default, mistakes}.read();
    if (!value) continue;
    if (given && option.in_recipe && *value != OptionValue{false}) {
      Diagnostics unused;
      const auto usual =
          has_default ? ValueReader{option, by_default, unused}.read() : std::nullopt;
      if (value != usual) result.recipe_ += recipe_entry(option, *given);
    }
    if (given) result.given_.insert(option.name);
    result.values_.emplace(option.name, *value);
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  result.recipe_ = "weir " + command.name + result.recipe_;
  return result;
}

std::string expected_value(const OptionSpec& option) {
  const std::string range = range_text(option);
  const auto with_range = [&](std::string_view kind, std::string_view link = " ") {
    return range.empty() ? std::string{kind} : fmt::format("{}{}{}", kind, link, range);
  };
  if (!option.choices.empty()) {
    return fmt::format("{} {}", is_list(option.type) ? "some of" : "one of",
                       fmt::join(option.choices, ", "));
  }
  switch (option.type) {
    case OptionType::flag:
      return "true or false";
    case OptionType::integer:
      return with_range("a whole number");
    case OptionType::number:
      return with_range("a number");
    case OptionType::integer_list:
      return with_range("whole numbers like 7 or 42..51", ", each ");
    case OptionType::number_list:
      return with_range("numbers separated by commas", ", each ");
    case OptionType::file:
      return "a file name";
    case OptionType::file_list:
      return "file names separated by commas";
    case OptionType::text:
      return "some text";
    case OptionType::text_list:
      return "words separated by commas";
    case OptionType::words:
      return "a program and its arguments";
  }
  return "";
}

namespace {}  // namespace

}  // namespace weir
