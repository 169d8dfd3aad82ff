// SPDX-License-Identifier: Apache-2.0
#include "domain/options.h"

#include <gmock/gmock.h>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CommandSpec a_command() {
  return {
      .name = "simulate",
      .options = {
          {.name = "policy",
           .type = OptionType::text_list,
           .default_text = "all",
           .choices = {"random", "best-fit", "fgd", "all"}},
          {.name = "seeds", .type = OptionType::integer_list, .default_text = "42..46", .least = 0},
          {.name = "load", .type = OptionType::number_list, .default_text = "0.9,1", .least = 0.01},
          {.name = "threads",
           .type = OptionType::integer,
           .default_text = "0",
           .least = 0,
           .most = 1024,
           .in_recipe = false},
          {.name = "nodes", .type = OptionType::file},
          {.name = "json", .type = OptionType::flag, .in_recipe = false},
      }};
}

GivenOption on_command_line(std::string name, std::vector<std::string> words) {
  return {std::move(name), std::move(words), {}, 0};
}

std::string mistakes(const Result<OptionValues>& result) {
  return result ? "" : to_string(result.error().details);
}

TEST(Options, DefaultsApplyWhenNothingIsGiven) {
  const auto values = read_options(a_command(), {});
  ASSERT_TRUE(values) << mistakes(values);
  EXPECT_THAT(values->texts("policy"), ElementsAre("all"));
  EXPECT_THAT(values->integers("seeds"), ElementsAre(42, 43, 44, 45, 46));
  EXPECT_THAT(values->numbers("load"), ElementsAre(0.9, 1.0));
  EXPECT_FALSE(values->is_given("seeds"));
  EXPECT_FALSE(values->has("nodes"));
  EXPECT_FALSE(values->flag("json"));
  EXPECT_EQ(values->recipe(), "weir simulate");
}

TEST(Options, ListsTakeCommasRangesAndRepeats) {
  const auto values = read_options(
      a_command(), {on_command_line("seeds", {"1,7..9"}), on_command_line("seeds", {"20"}),
                    on_command_line("policy", {"fgd", "best-fit"})});
  ASSERT_TRUE(values) << mistakes(values);
  EXPECT_THAT(values->integers("seeds"), ElementsAre(1, 7, 8, 9, 20));
  EXPECT_THAT(values->texts("policy"), ElementsAre("fgd", "best-fit"));
}

TEST(Options, EveryMistakeIsReportedAtOnce) {
  const auto values = read_options(
      a_command(), {on_command_line("policy", {"fdg,best-fit"}), on_command_line("seeds", {"9..7"}),
                    on_command_line("threads", {"-1"}), on_command_line("sedes", {"1"})});
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().code, ErrorCode::bad_input);
  EXPECT_EQ(values.error().details.total(), 4U);
  const std::string text = mistakes(values);
  EXPECT_THAT(text,
              HasSubstr("option is \"--sedes\", expected an option of `weir simulate`; did you "
                        "mean --seeds?"));
  EXPECT_THAT(text,
              HasSubstr("--policy is \"fdg\", expected some of random, best-fit, fgd, all; did "
                        "you mean fgd?"));
  EXPECT_THAT(text,
              HasSubstr("--seeds is \"9..7\", expected whole numbers like 7 or 42..51, each 0 "
                        "or more"));
  EXPECT_THAT(text, HasSubstr("--threads is \"-1\", expected a whole number 0..1024"));
}

TEST(Options, ARangeThatWouldFillTheMemoryIsRefused) {
  const auto values =
      read_options(a_command(), {on_command_line("seeds", {"0..9223372036854775807"})});
  EXPECT_THAT(mistakes(values), HasSubstr("expected at most 100000 numbers"));
}

TEST(Options, AValueGivenTwiceInAListIsAMistake) {
  const auto values = read_options(a_command(), {on_command_line("seeds", {"42,40..44"})});
  EXPECT_THAT(mistakes(values), HasSubstr("--seeds is \"42\", expected each value once"));
}

TEST(Options, AnOptionInPlaceOfAValueMeansTheValueIsMissing) {
  const auto values = read_options(a_command(), {on_command_line("nodes", {"--json"})});
  EXPECT_THAT(mistakes(values), HasSubstr("--nodes is missing, expected a file name"));
}

TEST(Options, TheCommandLineWinsOverTheConfigFile) {
  const std::vector<GivenOption> config = {{"seeds", {"1", "2"}, "run.yaml", 1},
                                           {"json", {"true"}, "run.yaml", 2}};
  const auto values = read_options(a_command(), {on_command_line("seeds", {"5"})}, config);
  ASSERT_TRUE(values) << mistakes(values);
  EXPECT_THAT(values->integers("seeds"), ElementsAre(5));
  EXPECT_TRUE(values->is_given("seeds"));
  EXPECT_TRUE(values->flag("json"));
}

TEST(Options, AMistakeInTheConfigFileNamesFileLineAndKey) {
  const auto values = read_options(
      a_command(), {}, {{"polcy", {"fgd"}, "run.yaml", 3}, {"threads", {"many"}, "run.yaml", 4}});
  EXPECT_THAT(mistakes(values),
              HasSubstr("run.yaml:3: key is \"polcy\", expected an option of `weir "
                        "simulate`; did you mean policy?"));
  EXPECT_THAT(mistakes(values),
              HasSubstr("run.yaml:4: threads is \"many\", expected a whole number"));
}

TEST(Options, ARequiredOptionMustBeGiven) {
  CommandSpec command = a_command();
  command.options[4].required = true;
  EXPECT_THAT(mistakes(read_options(command, {})),
              HasSubstr("--nodes is missing, expected a file name"));
}

TEST(Options, TheRecipeHoldsWhatDiffersFromTheDefaultAndCanChangeTheResult) {
  const auto values = read_options(
      a_command(), {on_command_line("nodes", {"my nodes.csv"}),
                    on_command_line("seeds", {"42..46"}), on_command_line("policy", {"fgd"}),
                    on_command_line("threads", {"2"}), on_command_line("json", {})});
  ASSERT_TRUE(values) << mistakes(values);
  EXPECT_EQ(values->recipe(), "weir simulate --policy fgd --nodes 'my nodes.csv'");
}

TEST(NearestName, SeesThroughSwapsCaseAndDashesButDoesNotGuessWildly) {
  const std::vector<std::string> names = {"random", "best-fit", "fgd", "fgd-plus"};
  EXPECT_EQ(nearest_name("fdg", names), "fgd");
  EXPECT_EQ(nearest_name("BestFit", names), "best-fit");
  EXPECT_EQ(nearest_name("fgdplus", names), "fgd-plus");
  EXPECT_EQ(nearest_name("genetic", names), std::nullopt);
  EXPECT_EQ(nearest_name("", names), std::nullopt);
}

}  // namespace
}  // namespace weir
