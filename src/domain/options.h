// SPDX-License-Identifier: Apache-2.0
//
// One table describes each option: name, type, unit, default, range, one line of help. Parsing the
// command line, `--help`, the config file and the reference page are all made from it, so they
// cannot disagree. This file knows what an option is and what a right value looks like; it reads no
// files and knows no command-line library. The rows themselves are in cli/command_table.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "domain/diagnostics.h"
#include "domain/nearest_name.h"
#include "domain/result.h"

namespace weir {

enum class OptionType : std::uint8_t {
  flag,
  integer,
  number,
  text,
  file,
  text_list,     // "fgd,best-fit"
  integer_list,  // "1,2,42..51": a range has both ends
  number_list,
  file_list,
  words,  // all that stands after `--`, as it is: another program's command line
};

constexpr bool is_list(OptionType type) {
  return type >= OptionType::text_list;
}

struct OptionSpec {
  std::string name{};  // "node-order": `--node-order`, and the key in a config file
  OptionType type = OptionType::flag;
  std::string unit{};          // of the value; empty when it has none
  std::string default_text{};  // as a user would write it; empty when there is none
  std::optional<double> least{};
  std::optional<double> most{};
  std::vector<std::string> choices{};  // empty when any text will do
  // Choices may also be joined with weights, "fgd:0.9+pwr:0.1"; the command checks such a text.
  bool may_be_blended = false;
  std::string help{};  // one line
  bool required = false;
  std::string short_name{};  // "f": also `-f`; one letter or none
  bool positional = false;   // given without its name: `weir trace describe FILE...`
  bool in_recipe = true;     // false when it cannot change the result: `--threads`
};

struct CommandExample {
  std::string command{};
  std::string purpose{};
};

struct CommandSpec {
  std::string name{};     // "trace describe"
  std::string summary{};  // one line
  std::string about{};    // what it is for, in a few sentences
  std::vector<OptionSpec> options{};
  std::vector<CommandExample> examples{};

  const OptionSpec* find(std::string_view option_name) const;
};

// An option as somebody wrote it, with the place to name when it is wrong.
struct GivenOption {
  std::string name{};                // without dashes
  std::vector<std::string> words{};  // empty for a bare flag
  std::string file{};                // empty for the command line
  std::uint64_t line = 0;
};

using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>,
                                 std::vector<std::int64_t>, std::vector<double>>;

// The checked options of one command. The getters require that the table has such an option and
// (except has) that it was given or has a default.
class OptionValues {
 public:
  bool has(std::string_view name) const { return values_.contains(name); }
  // False when the value is the default's.
  bool is_given(std::string_view name) const { return given_.contains(name); }
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::vector<std::string>& texts(std::string_view name) const {
    return get<std::vector<std::string>>(name);
  }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  const std::vector<double>& numbers(std::string_view name) const {
    return get<std::vector<double>>(name);
  }

  // The options that differ from their default, as one would type them: the recipe of the run.
  const std::string& recipe() const { return recipe_; }

 private:
  friend Result<OptionValues> read_options(const CommandSpec&, const std::vector<GivenOption>&,
                                           const std::vector<GivenOption>&);
  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(values_.find(name)->second);
  }

  std::map<std::string, OptionValue, std::less<>> values_;
  std::set<std::string, std::less<>> given_;
  std::string recipe_;
};

// Checks everything at once: an error lists every mistake. An option on the command line replaces
// the same option of the config file. Repeating a list option on the command line extends the list.
Result<OptionValues> read_options(const CommandSpec& command,
                                  const std::vector<GivenOption>& command_line,
                                  const std::vector<GivenOption>& config = {});

// "1..64", "one of fifo, backfill", "0.01 or more"; what a value of this option has to be.
std::string expected_value(const OptionSpec& option);

}  // namespace weir
