// SPDX-License-Identifier: Apache-2.0
#include "control/measured_changes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

#include "schedule/training_testing.h"

namespace weir::control {
namespace {

using schedule::RescaleCost;
using schedule::testing::any_cost;
using schedule::testing::any_power_of_two;
using schedule::testing::between;
using std::chrono::milliseconds;
using std::chrono::seconds;

const RescaleCost kConfigured{seconds{2}, seconds{2}};

TEST(MeasuredChanges, AreBelievedWhenThereAreSome) {
  MeasuredChanges changes;
  EXPECT_FALSE(changes.hear(1, seconds{20}, kConfigured));
  EXPECT_FALSE(changes.hear(1, seconds{20}, kConfigured));
  const auto cost = changes.hear(1, seconds{20}, kConfigured);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->full(1), seconds{20});
  EXPECT_EQ(cost->per_doubling, seconds{2}) << "one size does not tell";
}

TEST(MeasuredChanges, AFewThatTookLongDoNotCount) {
  MeasuredChanges changes;
  std::optional<RescaleCost> cost;
  for (int i = 0; i < 10; ++i) {
    const auto next = changes.hear(1, seconds{i < 8 ? 8 : 90}, cost.value_or(kConfigured));
    if (next) cost = next;
  }
  EXPECT_EQ(cost->full(1), seconds{8});
}

TEST(MeasuredChanges, WhatIsLessThanConfiguredIsBelievedToo) {
  MeasuredChanges changes;
  for (int i = 0; i < 2; ++i) changes.hear(1, milliseconds{600}, kConfigured);
  EXPECT_EQ(changes.hear(1, milliseconds{600}, kConfigured)->full(1), milliseconds{600});
}

TEST(MeasuredChanges, SeveralSizesTellWhatADoublingCosts) {
  MeasuredChanges changes;
  const RescaleCost long_ago{seconds{9}, seconds{0}};
  changes.hear(1, seconds{3}, long_ago);
  changes.hear(2, seconds{4}, long_ago);
  const auto cost = changes.hear(4, seconds{6}, long_ago);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->per_doubling, milliseconds{1500});
  EXPECT_EQ(cost->full(1), seconds{3});
  EXPECT_EQ(cost->full(4), seconds{6});
}

TEST(MeasuredChanges, NoSizeIsDearerThanItMustBe) {
  MeasuredChanges changes;
  changes.hear(1, seconds{3}, kConfigured);
  changes.hear(2, seconds{6}, kConfigured);
  const auto cost = changes.hear(4, seconds{13}, kConfigured);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->base, MeasuredChanges::kLeast);
  EXPECT_EQ(cost->full(4), seconds{13});
  EXPECT_LE(cost->full(1), seconds{5});
}

TEST(MeasuredChanges, MoreGpusAreNeverTakenToBeCheaper) {
  MeasuredChanges changes;
  changes.hear(1, seconds{30}, kConfigured);
  changes.hear(2, seconds{10}, kConfigured);
  const auto cost = changes.hear(2, seconds{10}, kConfigured);
  ASSERT_TRUE(cost);
  EXPECT_EQ(*cost, (RescaleCost{seconds{30}, Duration{0}}));
}

TEST(MeasuredChanges, SmallDifferencesAreNoNews) {
  MeasuredChanges changes;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(changes.hear(1, milliseconds{4900}, kConfigured));
}

TEST(MeasuredChanges, NothingTakesNoTime) {
  MeasuredChanges changes;
  std::optional<RescaleCost> cost;
  for (int i = 0; i < 3; ++i) cost = changes.hear(1, Duration{1}, kConfigured);
  EXPECT_GE(cost->full(1), MeasuredChanges::kLeast);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(changes.hear(1, Duration{0}, kConfigured)) << "unknown";
}

TEST(MeasuredChanges, OnlyTheLatestCount) {
  MeasuredChanges changes;
  for (int i = 0; i < 100; ++i) changes.hear(1, seconds{50}, kConfigured);
  std::optional<RescaleCost> cost;
  for (int i = 0; i < 32; ++i) cost = changes.hear(1, seconds{10}, kConfigured);
  EXPECT_EQ(cost->full(1), seconds{10});
}

// What is adopted stays: the same changes again are no news.
RC_GTEST_PROP(MeasuredChanges, WhatWasAdoptedCoversWhatWasSeen, ()) {
  MeasuredChanges changes;
  RescaleCost known = any_cost();
  std::map<std::uint32_t, Duration> last;
  for (int i = 0; i < 40; ++i) {
    const std::uint32_t gpus = any_power_of_two(16);
    // The same for each size, so that every percentile is this figure.
    const auto at = last.try_emplace(gpus, milliseconds{between<std::int64_t>(1, 60'000)}).first;
    const auto cost = changes.hear(gpus, at->second, known);
    if (!cost) continue;
    RC_ASSERT(cost->per_doubling >= Duration{0});
    RC_ASSERT(cost->full(gpus) >= at->second);
    known = *cost;
    RC_ASSERT(!changes.hear(gpus, at->second, known));
  }
}

}  // namespace
}  // namespace weir::control
