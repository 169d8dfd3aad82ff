// SPDX-License-Identifier: Apache-2.0
//
// The rivals, each by a small case that shows what it does and the others do not.
#include "schedule/policies/training_policies.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

// Fastest on two GPUs.
TrainingJobBuilder a_job_with_a_knee() {
  return a_training_job().curve({{1, 10}, {2, 19}, {4, 15}}).iterations(1000);
}

std::uint32_t gpus_alone(std::string_view policy) {
  PoolUnderTest pool{policy, 1, 4, kFreeRescales};
  pool.submit(a_job_with_a_knee().deadline(500));
  pool.decide();
  return pool.block_of(pool.latest()).size;
}

TEST(Edf, TakesGpusPastTheKnee) {
  EXPECT_EQ(gpus_alone("edf"), 4U);
}

TEST(EdfKnee, StopsAtTheKnee) {
  EXPECT_EQ(gpus_alone("edf-knee"), 2U);
  EXPECT_EQ(gpus_alone("edf-admission"), 2U);
}

TEST(Edf, ServesTheEarliestDeadlineFirst) {
  for (const char* policy : {"edf", "edf-knee"}) {
    PoolUnderTest pool{policy, 1, 4, kFreeRescales};
    const auto job = a_training_job().curve({{1, 10}, {2, 19}, {4, 30}}).iterations(1000);
    pool.submit(TrainingJobBuilder{job}.deadline(500));
    const JobId late = pool.latest();
    pool.submit(job);
    const JobId never = pool.latest();
    pool.submit(TrainingJobBuilder{job}.deadline(400));
    pool.decide();
    EXPECT_EQ(pool.block_of(pool.latest()).size, 4U) << policy;
    EXPECT_TRUE(pool.block_of(late).is_none()) << policy;
    EXPECT_TRUE(pool.block_of(never).is_none()) << policy;
  }
}

TEST(Edf, PromisesNothing) {
  for (const char* policy : {"edf", "edf-knee", "fifo"}) {
    PoolUnderTest pool{policy, 1, 1, kFreeRescales};
    const auto records = pool.submit(a_training_job().iterations(100'000).deadline(1));
    EXPECT_EQ(all_of<JobUnpromised>(records).size(), 1U) << policy;
    EXPECT_FALSE(find_training_policy(policy)->makes_promises()) << policy;
  }
}

// With two equally fast sizes and a deadline out of reach this divided by zero.
TEST(Edf, AcceptsAJobWithAFlatCurveAndAHopelessDeadline) {
  PoolUnderTest pool{"edf", 1, 2, kFreeRescales};
  const auto records =
      pool.submit(a_training_job().curve({{1, 10}, {2, 10}}).iterations(1000).deadline(1));
  EXPECT_EQ(all_of<JobUnpromised>(records).size(), 1U);
}

TEST(EdfAdmission, RefusesWhatItsOrderCannotMeet) {
  PoolUnderTest pool{"edf-admission", 1, 1, kFreeRescales};
  const auto job = a_training_job().iterations(500);
  EXPECT_TRUE(is_promised_in(pool.submit(TrainingJobBuilder{job}.deadline(60))));
  EXPECT_FALSE(is_promised_in(pool.submit(TrainingJobBuilder{job}.deadline(99))));
  // Itself in time, but then the first would be late.
  EXPECT_FALSE(is_promised_in(pool.submit(TrainingJobBuilder{job}.deadline(55))));
  EXPECT_TRUE(is_promised_in(pool.submit(TrainingJobBuilder{job}.deadline(100))));
}

TEST(EdfAdmission, CountsThePriceOfAStart) {
  PoolUnderTest pool{"edf-admission", 1, 1, kTwoSeconds};
  EXPECT_FALSE(is_promised_in(pool.submit(a_training_job().iterations(981).deadline(100))));
  EXPECT_TRUE(is_promised_in(pool.submit(a_training_job().iterations(980).deadline(100))));
}

TEST(ElasticFlow, CountsWhatAStartCosts) {
  PoolUnderTest pool{"elasticflow", 1, 1, kTwoSeconds};
  EXPECT_FALSE(is_promised_in(pool.submit(a_training_job().iterations(1000).deadline(100))));
  EXPECT_TRUE(is_promised_in(pool.submit(a_training_job().iterations(960).deadline(100))));
  EXPECT_FALSE(is_promised_in(pool.submit(a_training_job().iterations(1).deadline(100))));
}

TEST(ElasticFlow, GivesLeftOverGpusToWhoeverCanUseThem) {
  EXPECT_EQ(gpus_alone("elasticflow"), 2U);
}

TEST(ElasticFlow, GivesEachJobWhatItsDeadlineNeedsFirst) {
  PoolUnderTest pool{"elasticflow", 1, 4, kFreeRescales};
  const CurveSketch linear{{1, 10}, {2, 20}, {4, 40}};
  const auto job = a_training_job().curve(linear).iterations(1000);
  pool.submit(TrainingJobBuilder{job}.deadline(100));  // needs one GPU throughout
  const JobId one = pool.latest();
  pool.submit(TrainingJobBuilder{job}.deadline(50));  // needs two throughout
  pool.decide();
  EXPECT_GE(pool.block_of(one).size, 1U);
  EXPECT_GE(pool.block_of(pool.latest()).size, 2U);
}

TEST(Fifo, TheHeadOfTheLineHoldsBackThoseBehindIt) {
  PoolUnderTest pool{"fifo", 1, 4, kFreeRescales};
  const CurveSketch curve{{1, 10}, {2, 20}, {4, 40}};
  const auto job = a_training_job().curve(curve).iterations(1000);
  pool.submit(TrainingJobBuilder{job}.asks_for(2));
  const JobId first = pool.latest();
  pool.submit(TrainingJobBuilder{job}.asks_for(4));
  const JobId head = pool.latest();
  pool.submit(TrainingJobBuilder{job}.asks_for(1));
  const JobId behind = pool.latest();
  pool.decide();
  EXPECT_EQ(pool.block_of(first).size, 2U);
  EXPECT_TRUE(pool.block_of(head).is_none());
  EXPECT_TRUE(pool.block_of(behind).is_none());
  pool.finish(first, at_second(50));
  pool.decide(at_second(50));
  EXPECT_EQ(pool.block_of(head).size, 4U);
}

TEST(Fifo, GivesTheNextSmallerMeasuredSize) {
  PoolUnderTest pool{"fifo", 1, 8, kFreeRescales};
  pool.submit(a_training_job().curve({{1, 10}, {2, 19}, {8, 30}}).asks_for(4));
  pool.decide();
  EXPECT_EQ(pool.block_of(pool.latest()).size, 2U);
}

TEST(TrainingPolicies, AreFoundByName) {
  for (const TrainingPolicyRow& row : training_policies())
    EXPECT_EQ(find_training_policy(row.name), row.policy);
  EXPECT_EQ(find_training_policy("edf-kne"), nullptr);
}

RC_GTEST_PROP(TrainingPolicies, GiveDisjointOpenBlocksOfSizesTheJobsMayHave, ()) {
  std::vector<std::string_view> names;
  for (const TrainingPolicyRow& row : training_policies()) names.push_back(row.name);
  PoolUnderTest pool{*rc::gen::elementOf(names), between(1, 4),
                     *rc::gen::elementOf(std::vector<int>{1, 4, 6, 8}), any_cost()};
  Time now{};
  const int steps = between(1, 20);
  for (int i = 0; i < steps; ++i) {
    now += from_seconds(between(0, 60));
    const auto seconds = between<std::int64_t>(5, 300);
    auto job = a_training_job()
                   .curve(any_curve(16))
                   .asks_for(between(1, 9))
                   .iterations(between<std::int64_t>(1, 20) * seconds);
    if (between(0, 4) > 0) job.deadline(seconds_of(now) + seconds);
    pool.submit(job, now);
    pool.decide(now);
    BlockMap map = pool.pool().closed;
    for (const JobId id : pool.pool().active) {
      const GpuBlock block = pool.block_of(id);
      if (block.is_none()) continue;
      RC_ASSERT(pool.job(id).level() != kPaused);
      RC_ASSERT(map.is_free(block));
      map.take(block);
    }
  }
}

// A server's timer does not fire to the nanosecond.
TEST(TrainingPolicies, InRoundsTakeTurnsAlsoWhenTheTimerFiresALittleLate) {
  for (const char* policy : {"gandiva", "themis"}) {
    PoolUnderTest pool{policy, 1, 1, kFreeRescales};
    pool.config.round = from_seconds(100);
    pool.submit(a_training_job().iterations(1'000'000), at_second(1));
    const JobId first = pool.latest();
    pool.decide(at_second(1));
    pool.submit(a_training_job().iterations(1'000'000), at_second(2));
    pool.decide(at_second(2));
    EXPECT_FALSE(pool.block_of(first).is_none()) << policy;
    for (const int milliseconds : {3, 4, 900}) {
      pool.decide(at_second(100) + std::chrono::milliseconds{milliseconds});
      EXPECT_TRUE(pool.block_of(first).is_none()) << policy << " takes one turn, not several";
    }
    pool.decide(at_second(102));
    EXPECT_TRUE(pool.block_of(first).is_none()) << policy;
  }
}

// A decision is made on everything there is to know; without news it stands. Only a job that had to move
// is news: it is done later than before, and policies that look at that may prefer another now.
RC_GTEST_PROP(TrainingPolicies, OfFixedSizesChangeNothingWhenAskedAgain, ()) {
  const std::vector<std::string_view> names{"tiresias", "themis", "gandiva", "srtf", "fifo"};
  PoolUnderTest pool{*rc::gen::elementOf(names), between(1, 4), 8, any_cost()};
  pool.config.round = from_seconds(60);
  Time now{};
  for (int i = between(1, 15); i > 0; --i) {
    now += from_seconds(between(0, 10) * 30);
    pool.submit(a_training_job()
                    .curve({{1, 10}, {2, 20}, {4, 40}, {8, 80}})
                    .asks_for(between(1, 9))
                    .iterations(between(1, 100'000)),
                now);
    bool has_moved = false;
    const TrainingState before = pool.copy_of_state();
    for (const JobResized& resized : all_of<JobResized>(pool.decide(now)))
      has_moved =
          has_moved || (!before.job(resized.job).block.is_none() && !resized.block.is_none());
    const auto again = all_of<JobResized>(pool.decide(now));
    RC_ASSERT(has_moved || again.empty());
  }
}

}  // namespace
}  // namespace weir::schedule
