// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/limit_saving.h"

#include <gtest/gtest.h>

namespace weir::predict {
namespace {

TEST(LimitSaving, ComparesTheBestLimitWithTheLargest) {
  // 1930, 1550 and 2000 J an epoch.
  const PowerSweep sweep{{"imagenet", "resnet50", 256, "adam"},
                         {{100, 19.3, 100}, {150, 12.5, 124}, {250, 10, 200}}};
  const auto saving = limit_saving(sweep);
  ASSERT_TRUE(saving);
  EXPECT_EQ(saving->best_limit_watts, 150);
  EXPECT_DOUBLE_EQ(saving->energy_saved, 1 - 1550.0 / 2000);
  EXPECT_DOUBLE_EQ(saving->slowdown, 0.25);
}

TEST(LimitSaving, IsNothingWhereTheLargestLimitIsBest) {
  const auto saving = limit_saving({{}, {{100, 20, 100}, {150, 14, 150}, {250, 10, 200}}});
  ASSERT_TRUE(saving);
  EXPECT_EQ(saving->best_limit_watts, 250);
  EXPECT_EQ(saving->energy_saved, 0);
  EXPECT_EQ(saving->slowdown, 0);
}

TEST(LimitSaving, TwoLimitsAreNoSweep) {
  EXPECT_FALSE(limit_saving({{}, {{100, 20, 80}, {250, 10, 200}}}));
}

}  // namespace
}  // namespace weir::predict
