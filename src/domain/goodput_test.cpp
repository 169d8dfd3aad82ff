// SPDX-License-Identifier: Apache-2.0
#include "domain/goodput.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace weir {
namespace {

constexpr IterationRate per_second(std::int64_t iterations) {
  return IterationRate{iterations * 1'000'000};
}

TEST(Goodput, IsTheRateAtTheUsersBatch) {
  EXPECT_EQ(goodput({64, per_second(7)}, {64, 1000}), per_second(7));
  EXPECT_EQ(goodput({64, per_second(7)}, {64, 0}), per_second(7));
}

// Ten iterations a second with twice the batch are twenty of the user's, of which
// (300 + 100) / (300 + 200) count: sixteen.
TEST(Goodput, ALargerBatchCountsForLessThanItsSamples) {
  EXPECT_EQ(goodput({200, per_second(10)}, {100, 300}), per_second(16));
}

TEST(Goodput, WithoutNoiseALargerBatchBringsNothing) {
  EXPECT_EQ(goodput({800, per_second(10)}, {100, 0}), per_second(10));
}

TEST(Goodput, CountsTheLargestValuesExactly) {
  EXPECT_EQ(
      goodput({1'000'000'000, IterationRate{1'000'000'000'000}}, {1'000'000'000, 1'000'000'000}),
      IterationRate{1'000'000'000'000});
}

TEST(BestBatch, WeighsSpeedAgainstEfficiency) {
  const std::vector<BatchRate> choices{
      {100, per_second(10)}, {200, per_second(9)}, {400, per_second(4)}};
  // 200: 18 of the user's, times (phi + 100) / (phi + 200).
  EXPECT_EQ(best_batch(choices, {100, 300}, 400), (BatchRate{200, IterationRate{14'400'000}}));
  EXPECT_EQ(best_batch(choices, {100, 0}, 400), (BatchRate{100, per_second(10)}));
}

TEST(BestBatch, KeepsBetweenTheUsersBatchAndTheLimit) {
  const std::vector<BatchRate> choices{
      {50, per_second(1000)}, {100, per_second(10)}, {200, per_second(10)}};
  EXPECT_EQ(best_batch(choices, {100, 1'000'000}, 199)->batch, 100);
  EXPECT_EQ(best_batch(choices, {100, 1'000'000}, 200)->batch, 200);
  EXPECT_EQ(best_batch(choices, {300, 10}, 400), std::nullopt);
}

TEST(BestBatch, OfEqualsTheSmallest) {
  const std::vector<BatchRate> choices{{200, per_second(10)}, {100, per_second(10)}};
  EXPECT_EQ(best_batch(choices, {100, 0}, 400)->batch, 100);
}

// More noise never makes a larger batch worse, and never brings more than its samples.
RC_GTEST_PROP(Goodput, GrowsWithTheNoiseUpToTheThroughput, ()) {
  const auto base = *rc::gen::inRange<std::int64_t>(1, 10'000);
  const auto batch = base + *rc::gen::inRange<std::int64_t>(0, 100'000);
  const auto noise = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const BatchRate at{batch, IterationRate{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000)}};
  const IterationRate less = goodput(at, {base, noise});
  const IterationRate more = goodput(at, {base, noise + 1 + noise / 2});
  RC_ASSERT(less <= more);
  RC_ASSERT(at.rate <= less);
  RC_ASSERT(static_cast<WideInteger>(more.value) * base <=
            static_cast<WideInteger>(at.rate.value) * batch);
}

}  // namespace
}  // namespace weir
