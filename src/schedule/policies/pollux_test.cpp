// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/pollux.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

const CurveSketch kScales{{1, 10}, {2, 20}, {4, 40}, {8, 80}};
const CurveSketch kScalesBadly{{1, 10}, {2, 12}, {4, 13}, {8, 14}};

// One node, rounds of a minute.
PoolUnderTest a_pollux_pool(int gpus, const RescaleCost& cost = kFreeRescales) {
  return {"pollux", 1, gpus, cost};
}

JobId submit(PoolUnderTest& pool, const CurveSketch& curve, Time at = {}) {
  pool.submit(a_training_job().curve(curve).iterations(1'000'000), at);
  return pool.latest();
}

Allocation allocation_of(const PoolUnderTest& pool, Time now) {
  const CapacityProfile unpromised{now, pool.pool().gpus_up()};
  const PoolView view{pool.state(), pool.pool(), unpromised, now, pool.config};
  return PolluxPolicy{}.allocate(view);
}

TEST(Pollux, GivesAJobAloneAllThatHelps) {
  PoolUnderTest pool = a_pollux_pool(8);
  const JobId job = submit(pool, {{1, 10}, {2, 19}, {4, 30}, {8, 25}});
  pool.decide();
  EXPECT_EQ(pool.block_of(job).size, 4U);
}

TEST(Pollux, ShiftsGpusByGoodput) {
  PoolUnderTest pool = a_pollux_pool(4);
  const JobId scales = submit(pool, kScales);
  const JobId scales_badly = submit(pool, kScalesBadly);
  const JobId another = submit(pool, kScalesBadly);
  pool.decide();
  EXPECT_EQ(pool.block_of(scales).size, 2U);
  EXPECT_EQ(pool.block_of(scales_badly).size, 1U);
  EXPECT_EQ(pool.block_of(another).size, 1U);
}

// A fair share is two GPUs. Four instead are half as fast again for the first job, and less for the
// others; over a single GPU, the second would gain most.
TEST(Pollux, CountsSpeedUpsOverAFairShare) {
  PoolUnderTest pool = a_pollux_pool(8);
  const JobId first = submit(pool, {{1, 10}, {2, 20}, {4, 30}});
  const JobId second = submit(pool, {{1, 10}, {2, 11}, {4, 16}});
  const JobId third = submit(pool, {{1, 10}, {2, 20}, {4, 21}});
  pool.decide();
  EXPECT_EQ(pool.block_of(first).size, 4U);
  EXPECT_EQ(pool.block_of(second).size, 2U);
  EXPECT_EQ(pool.block_of(third).size, 2U);
}

TEST(Pollux, JobsShrinkWhenAnotherComes) {
  PoolUnderTest pool = a_pollux_pool(8);
  const JobId first = submit(pool, kScales);
  const JobId second = submit(pool, kScales);
  pool.decide();
  EXPECT_EQ(pool.block_of(first).size, 4U);
  EXPECT_EQ(pool.block_of(second).size, 4U);
  const JobId third = submit(pool, kScales, at_second(3000));
  pool.decide(at_second(3000));
  EXPECT_GE(pool.block_of(third).size, 2U);
  EXPECT_EQ(pool.block_of(first).size + pool.block_of(second).size + pool.block_of(third).size, 8U);
}

TEST(Pollux, JobsGrowWhenAnotherEnds) {
  PoolUnderTest pool = a_pollux_pool(8);
  const JobId first = submit(pool, kScales);
  const JobId second = submit(pool, kScales);
  pool.decide();
  pool.finish(second, at_second(3000));
  pool.decide(at_second(3000));
  EXPECT_EQ(pool.block_of(first).size, 8U);
}

// Two GPUs instead of one are a fifth faster. Ten seconds after its start, two seconds lost are too
// much for that; ten minutes after, they are not.
TEST(Pollux, MakesNoChangeThatDoesNotPayItsPrice) {
  PoolUnderTest pool = a_pollux_pool(2, kTwoSeconds);
  pool.config.round = from_seconds(1);
  const JobId first = submit(pool, kScalesBadly);
  const JobId second = submit(pool, kScalesBadly);
  pool.decide();
  EXPECT_EQ(pool.block_of(first).size, 1U);
  pool.finish(second, at_second(10));
  pool.decide(at_second(10));
  EXPECT_EQ(pool.block_of(first).size, 1U);
  pool.decide(at_second(600));
  EXPECT_EQ(pool.block_of(first).size, 2U);
}

TEST(Pollux, DecidesAtTheBeginningOfARoundOnly) {
  PoolUnderTest pool = a_pollux_pool(8);
  const JobId first = submit(pool, kScales);
  pool.decide();
  const JobId second = submit(pool, kScales, at_second(61));
  pool.decide(at_second(61));
  EXPECT_EQ(pool.block_of(first).size, 8U);
  EXPECT_TRUE(pool.block_of(second).is_none());
  pool.decide(at_second(120));
  EXPECT_EQ(pool.block_of(first).size, 4U);
  EXPECT_EQ(pool.block_of(second).size, 4U);
}

TEST(Pollux, WakesForTheNextRoundAfterNewsAndLaterWithoutAny) {
  PoolUnderTest pool = a_pollux_pool(8);
  EXPECT_EQ(allocation_of(pool, at_second(0)).wake_up, Time::max());
  submit(pool, kScales);
  EXPECT_EQ(allocation_of(pool, at_second(20)).wake_up, at_second(60));
  EXPECT_EQ(allocation_of(pool, at_second(60)).wake_up, at_second(120));
  pool.decide(at_second(60));
  EXPECT_EQ(allocation_of(pool, at_second(120)).wake_up, at_second(720));
}

TEST(Pollux, GivesEveryJobSomethingBeforeAnybodyMore) {
  PoolUnderTest pool = a_pollux_pool(4);
  std::vector<JobId> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(submit(pool, kScales));
  pool.decide();
  for (const JobId id : jobs) EXPECT_EQ(pool.block_of(id).size, 1U);
}

TEST(Pollux, WhoeverWaitsStartsWhenGpusAreFree) {
  PoolUnderTest pool = a_pollux_pool(1);
  const JobId first = submit(pool, kScales);
  const JobId second = submit(pool, kScales);
  pool.decide();
  const JobId runs = pool.block_of(first).is_none() ? second : first;
  const JobId waits = runs == first ? second : first;
  pool.decide(at_second(600));
  EXPECT_EQ(pool.block_of(runs).size, 1U);  // nobody is stopped for nothing
  pool.finish(runs, at_second(610));
  pool.decide(at_second(660));
  EXPECT_EQ(pool.block_of(waits).size, 1U);
}

TEST(Pollux, SharesOnlyGpusThatAreOpen) {
  PoolUnderTest pool = a_pollux_pool(8);
  pool.close({0, 4});
  const JobId job = submit(pool, kScales);
  pool.decide();
  EXPECT_EQ(pool.block_of(job), (GpuBlock{4, 4}));
}

TEST(Pollux, WhereGpusAreShortWhoeverHadLeastComesFirst) {
  PoolUnderTest pool = a_pollux_pool(2);
  const JobId first = submit(pool, {{1, 10}});
  const JobId second = submit(pool, {{1, 10}});
  pool.decide();
  pool.resize(first, kNoGpus, at_second(600));
  pool.close({0, 1});
  pool.resize(second, kNoGpus, at_second(660));
  pool.decide(at_second(660));
  EXPECT_EQ(pool.block_of(first).size, 1U);
  EXPECT_TRUE(pool.block_of(second).is_none());
}

TEST(Pollux, KeepsItsSizesBetweenRoundsAlsoWhenSomebodyEnds) {
  PoolUnderTest pool = a_pollux_pool(8);
  const JobId first = submit(pool, kScales);
  const JobId second = submit(pool, kScales);
  pool.decide();
  const GpuBlock before = pool.block_of(first);
  pool.finish(second, at_second(30));
  pool.decide(at_second(30));
  EXPECT_EQ(pool.block_of(first), before);
  EXPECT_EQ(allocation_of(pool, at_second(30)).wake_up, at_second(60));
}

TEST(Pollux, PromisesNothing) {
  PoolUnderTest pool = a_pollux_pool(1);
  const auto records = pool.submit(a_training_job().iterations(100'000).deadline(1));
  EXPECT_EQ(all_of<JobUnpromised>(records).size(), 1U);
  EXPECT_FALSE(PolluxPolicy{}.makes_promises());
}

RC_GTEST_PROP(Pollux, TheSameSeedGivesTheSameRecords, ()) {
  const auto curves = [] {
    std::vector<Curve> drawn;
    const int count = between(1, 12);
    for (int i = 0; i < count; ++i) drawn.push_back(any_curve(16));
    return drawn;
  }();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto play = [&] {
    PoolUnderTest pool{"pollux", 2, 8, kTwoSeconds};
    pool.config.seed = seed;
    std::vector<std::vector<Record>> records;
    Time now{};
    for (const Curve& curve : curves) {
      pool.submit(a_training_job().curve(curve).iterations(100'000), now);
      records.push_back(pool.decide(now));
      now += from_seconds(60);
    }
    return records;
  };
  RC_ASSERT(play() == play());
}

RC_GTEST_PROP(Pollux, EveryJobFinishesInTheEnd, ()) {
  PoolUnderTest pool{"pollux", between(1, 3), 4, any_cost()};
  const int count = between(1, 20);
  for (int i = 0; i < count; ++i)
    pool.submit(a_training_job().curve(any_curve(4)).iterations(between<std::int64_t>(1, 5000)));
  std::int64_t round = 0;
  for (; !pool.pool().active.empty(); ++round) {
    RC_ASSERT(round < 10'000);
    const Time now = at_second(60 * round);
    const std::vector<JobId> active = pool.pool().active;
    for (const JobId id : active) {
      const TrainingJob& job = pool.job(id);
      const Time since = std::max(job.observed_at, job.ready_at);
      if (!job.block.is_none() && now > since && job.rate() * (now - since) >= job.left)
        pool.finish(id, now);
    }
    pool.decide(now);
  }
}

}  // namespace
}  // namespace weir::schedule
