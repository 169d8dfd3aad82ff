// SPDX-License-Identifier: Apache-2.0
#include "cli/parse_command_line.h"

#include <gmock/gmock.h>

namespace weir::cli {
namespace {

using ::testing::ElementsAre;

CommandSpec a_command() {
  return {.name = "try",
          .options = {{.name = "file", .type = OptionType::file_list, .positional = true},
                      {.name = "policy", .type = OptionType::text_list},
                      {.name = "out", .type = OptionType::file},
                      {.name = "json", .type = OptionType::flag}}};
}

ParsedWords parse(const std::vector<std::string>& words) {
  return parse_command_line(a_command(), words);
}

std::vector<std::string> words_for(const ParsedWords& parsed, const std::string& option) {
  for (const GivenOption& given : parsed.options) {
    if (given.name == option) return given.words;
  }
  return {"(not given)"};
}

TEST(ParseCommandLine, TakesWordsInEveryUsualForm) {
  const ParsedWords parsed =
      parse({"a.csv", "b.csv", "--policy", "x,y", "--policy=z", "--json", "--out", "o"});
  EXPECT_THAT(words_for(parsed, "file"), ElementsAre("a.csv", "b.csv"));
  EXPECT_THAT(words_for(parsed, "policy"), ElementsAre("x,y", "z"));
  EXPECT_THAT(words_for(parsed, "out"), ElementsAre("o"));
  EXPECT_THAT(words_for(parsed, "json"), ElementsAre());
  EXPECT_TRUE(parsed.mistakes.empty());
}

TEST(ParseCommandLine, TakesTheFilesTheShellMadeOfAStar) {
  EXPECT_THAT(words_for(parse({"--policy", "x", "y", "--json"}), "policy"), ElementsAre("x", "y"));
}

TEST(ParseCommandLine, AFlagMayBeSwitchedOff) {
  EXPECT_THAT(words_for(parse({"--json=false"}), "json"), ElementsAre("false"));
  EXPECT_THAT(words_for(parse({"--json", "--json"}), "json"), ElementsAre());
}

TEST(ParseCommandLine, KeepsBothValuesOfARepeatedOption) {
  EXPECT_THAT(words_for(parse({"--out", "a", "--out", "b"}), "out"), ElementsAre("a", "b"));
}

TEST(ParseCommandLine, TakesANumberBelowZeroForAValue) {
  EXPECT_THAT(words_for(parse({"--out", "-5"}), "out"), ElementsAre("-5"));
}

TEST(ParseCommandLine, KeepsWhatItDoesNotKnow) {
  const ParsedWords parsed = parse({"--json", "--polcy=x", "-q"});
  EXPECT_THAT(words_for(parsed, "polcy"), ElementsAre());
  EXPECT_THAT(words_for(parsed, "q"), ElementsAre());
}

TEST(ParseCommandLine, SeesTheWishForHelpAnywhere) {
  EXPECT_TRUE(parse({"--policy", "x", "-h"}).wants_help);
  EXPECT_FALSE(parse({"--policy", "x"}).wants_help);
}

TEST(ParseCommandLine, NeverThrows) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--"},
                                             {"-"},
                                             {""},
                                             {"--out", ""},
                                             {"--out="},
                                             {"--=x"},
                                             {"---"},
                                             {"--json=maybe"},
                                             {"--out", "a b", "--", "c"},
                                             {"\xff"},
                                             {"++"},
                                             {"--out", "\"quoted"},
                                             {"[", "]"}}) {
    EXPECT_NO_THROW(parse(words));
  }
}

TEST(ParseCommandLine, WhatFollowsTwoDashesIsTakenAsItIs) {
  const CommandSpec command{
      .name = "submit",
      .options = {{.name = "command", .type = OptionType::words},
                  {.name = "gpus", .type = OptionType::integer},
                  {.name = "follow", .type = OptionType::flag, .short_name = "f"}}};
  const auto parsed = parse_command_line(
      command, std::vector<std::string>{"-f", "--gpus", "2", "--", "echo", "a,b", "--help", "a,b"});
  EXPECT_TRUE(parsed.mistakes.empty());
  EXPECT_FALSE(parsed.wants_help);
  const auto options = read_options(command, parsed.options);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->texts("command"), (std::vector<std::string>{"echo", "a,b", "--help", "a,b"}));
  EXPECT_EQ(options->integer("gpus"), 2);
  EXPECT_TRUE(options->flag("follow"));
  EXPECT_EQ(options->recipe(), "weir submit -- echo a,b --help a,b --gpus 2 --follow");
  const auto nothing = parse_command_line(command, std::vector<std::string>{"--"});
  EXPECT_FALSE(read_options(command, nothing.options)) << "a program is missing";
}

}  // namespace
}  // namespace weir::cli
