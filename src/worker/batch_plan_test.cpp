// SPDX-License-Identifier: Apache-2.0
#include "worker/batch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "worker/batch_plan_testing.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<BatchPlan> plans_of_all_ranks(std::int64_t batch, std::int64_t size,
                                          std::int64_t most) {
  std::vector<BatchPlan> plans;
  for (std::int64_t rank = 0; rank < size; ++rank) plans.push_back(plan(batch, size, rank, most));
  return plans;
}

struct Drawn {
  std::int64_t batch = *rc::gen::inRange<std::int64_t>(1, 3000);
  std::int64_t size = *rc::gen::inRange<std::int64_t>(1, 40);
  std::int64_t most = *rc::gen::inRange<std::int64_t>(0, 70);
  std::vector<BatchPlan> plans = plans_of_all_ranks(batch, size, most);
};

TEST(BatchPlan, DividesEvenlyWhereItCan) {
  EXPECT_THAT(plan(256, 4, 2).micro_batches(), ElementsAre(64));
  EXPECT_EQ(plan(256, 4, 2).imbalance(), 0.0);
  EXPECT_EQ(plan(256, 4, 2).weight_of(64), 0.25);
}

TEST(BatchPlan, TakesSeveralPassesWhenAGpuCannotHoldItsPart) {
  EXPECT_THAT(plan(256, 2, 0, 48).micro_batches(), ElementsAre(43, 43, 42));
}

TEST(BatchPlan, DealsTheRestToTheFirstRanks) {
  EXPECT_THAT(plan(10, 3, 0, 2).micro_batches(), ElementsAre(2, 2));
  EXPECT_THAT(plan(10, 3, 1, 2).micro_batches(), ElementsAre(2, 1));
  EXPECT_EQ(plan(10, 3, 2).first(), 7);
  EXPECT_DOUBLE_EQ(plan(10, 3, 2).imbalance(), 0.2);  // 4 instead of 10/3
}

TEST(BatchPlan, ARankWithASampleLessThanPassesSkipsOne) {
  EXPECT_THAT(plan(3, 2, 0, 1).micro_batches(), ElementsAre(1, 1));
  EXPECT_THAT(plan(3, 2, 1, 1).micro_batches(), ElementsAre(1));
}

TEST(BatchPlan, ARankMayHaveNothing) {
  EXPECT_THAT(plan(2, 3, 2).micro_batches(), IsEmpty());
  EXPECT_EQ(plan(2, 3, 2).samples(), 0);
}

RC_GTEST_PROP(BatchPlan, IsTheWholeBatchAndNothingButIt, ()) {
  const Drawn drawn;
  std::int64_t next = 0;
  for (const BatchPlan& each : drawn.plans) {
    const auto sizes = each.micro_batches();
    RC_ASSERT(each.first() == next);
    RC_ASSERT(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == each.samples());
    next += each.samples();
  }
  RC_ASSERT(next == drawn.batch);
}

RC_GTEST_PROP(BatchPlan, WeightsAddUpToOne, ()) {
  const Drawn drawn;
  double sum = 0;
  for (const BatchPlan& each : drawn.plans)
    for (const std::int64_t size : each.micro_batches()) sum += each.weight_of(size);
  RC_ASSERT(std::abs(sum - 1.0) < 1e-9);
}

RC_GTEST_PROP(BatchPlan, NoMicroBatchIsEmptyOrTooLarge, ()) {
  const Drawn drawn;
  for (const BatchPlan& each : drawn.plans)
    for (const std::int64_t size : each.micro_batches()) {
      RC_ASSERT(size >= 1);
      RC_ASSERT(drawn.most == 0 || size <= drawn.most);
    }
}

RC_GTEST_PROP(BatchPlan, RanksDifferByOneAtMost, ()) {
  const Drawn drawn;
  const auto [fewest, most] = std::ranges::minmax(drawn.plans, {}, &BatchPlan::samples);
  RC_ASSERT(most.samples() - fewest.samples() <= 1);
  RC_ASSERT(most.samples() == fewest.most_samples());
  RC_ASSERT(most.micro_batches().size() - fewest.micro_batches().size() <= 1);
}

TEST(BatchPlan, TheLastBatchOfAnEpochIsSmaller) {
  EXPECT_EQ(plan(256, 4, 1, 8).of(30), plan(30, 4, 1, 8));
}

TEST(BatchPlan, SaysAllThatIsWrong) {
  const auto refused = BatchPlan::make(0, {0, -1}, -5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  EXPECT_EQ(refused.error().details.total(), 4u);
  EXPECT_FALSE(BatchPlan::make(8, {2, 2}));
}

class Environment : public testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }
  static void forget() {
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
  }
};

TEST_F(Environment, IsRank0Of1Outside) {
  EXPECT_EQ(place_from_environment().value(), (Place{1, 0}));
}

TEST_F(Environment, IsWhatWeirSets) {
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "4", 1);
  EXPECT_EQ(place_from_environment().value(), (Place{4, 3}));
}

TEST_F(Environment, SaysWhichVariableIsWrong) {
  setenv("RANK", "first", 1);
  const auto refused = place_from_environment();
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error().details), HasSubstr("RANK is \"first\""));
  setenv("RANK", "1", 1);
  EXPECT_FALSE(place_from_environment());  // of 1
}

}  // namespace
}  // namespace weir::worker
