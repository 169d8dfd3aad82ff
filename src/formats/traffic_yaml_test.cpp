// SPDX-License-Identifier: Apache-2.0
#include "formats/traffic_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::formats {
namespace {

using ::testing::HasSubstr;

Result<std::vector<KindTraffic>> read(const std::string& text) {
  return read_traffic_yaml(*InputFile::from_memory("traffic.yaml", text));
}

TEST(TrafficYaml, ReadsPartsOfAnIteration) {
  const auto kinds = read(
      "traffic:\n"
      "  - {model: vgg16, all_reduce: 0.23}\n"
      "  - {model: experts, all_reduce: 0.0737, all_to_all: 0.258, all_gather: 0.0158, pattern: "
      "ring}\n"
      "  - {model: other, all_reduce: 1}\n");
  ASSERT_TRUE(kinds) << to_string(kinds.error().details);
  const std::vector<KindTraffic> expected{{"vgg16", 230'000, 0, 0, true},
                                          {"experts", 73'700, 258'000, 15'800, false},
                                          {"", 1'000'000, 0, 0, true}};
  EXPECT_EQ(*kinds, expected);
}

TEST(TrafficYaml, TellsOfEveryMistake) {
  const auto kinds = read(
      "traffic:\n"
      "  - {model: a, all_reduce: 1.5}\n"
      "  - {all_reduce: 0.1}\n"
      "  - {model: b, all_reduce: 0.6, all_to_all: 0.6}\n"
      "  - {model: b, pattern: star}\n"
      "  - {model: c, all_reduce: -0.1, colour: blue}\n");
  ASSERT_FALSE(kinds);
  const std::string text = to_string(kinds.error().details);
  EXPECT_EQ(kinds.error().code, ErrorCode::bad_input);
  for (const char* part : {"1.5", "0 to 1", "a model's name", "at most 1", "described before",
                           "halving-doubling or ring", "-0.1", "colour"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(TrafficYaml, WantsAList) {
  for (const char* text : {"traffic: 3\n", "traffic: []\n", "jobs: []\n", ""})
    EXPECT_FALSE(read(text)) << text;
}

}  // namespace
}  // namespace weir::formats
