// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/capped_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::schedule {
namespace {

using ::testing::ElementsAre;

PricedOptions three_sizes() {
  PricedOptions options;
  for (const std::int32_t gpus : {1, 2, 4}) {
    for (const std::int32_t clock : {500, 750, 1000}) {
      PricedOption option;
      option.gpus = gpus;
      option.clock_permille = clock;
      options.push_back(option);
    }
  }
  return options;
}

EnergyCaps capped_at(std::int32_t gpus, std::int32_t clock_permille) {
  EnergyCaps caps;
  caps.gpus = gpus;
  caps.clock_permille = clock_permille;
  return caps;
}

TEST(CappedOptions, WithoutCapsAreTheFastestOfEachSize) {
  EXPECT_THAT(capped_options(three_sizes(), {}), ElementsAre(2, 5, 8));
}

TEST(CappedOptions, LeaveOutLargerSizesAndFasterClocks) {
  EXPECT_THAT(capped_options(three_sizes(), capped_at(2, 800)), ElementsAre(1, 4));
}

TEST(CappedOptions, TheLeastSizeIsAlwaysAllowed) {
  PricedOptions options = three_sizes();
  options.erase(options.begin(), options.begin() + 3);
  EXPECT_THAT(capped_options(options, capped_at(1, 1000)), ElementsAre(2));
}

TEST(CappedOptions, WhereAllClocksAreFasterTheSlowestIsTaken) {
  EXPECT_THAT(capped_options(three_sizes(), capped_at(4, 300)), ElementsAre(0, 3, 6));
}

TEST(CappedOptions, OfAJobWithoutOptionsAreNone) {
  EXPECT_TRUE(capped_options({}, {}).empty());
}

}  // namespace
}  // namespace weir::schedule
