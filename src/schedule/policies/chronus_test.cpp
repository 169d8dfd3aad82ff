// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/chronus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

const CurveSketch kLinearCurve{{1, 10}, {2, 20}, {4, 40}, {8, 80}};

// Leases of a hundred seconds; jobs on one GPU do ten iterations a second.
PoolUnderTest a_chronus_pool(int gpus, const RescaleCost& cost = kFreeRescales) {
  PoolUnderTest pool{"chronus", 1, gpus, cost};
  pool.config.round = from_seconds(100);
  return pool;
}

TrainingJobBuilder seconds_on(std::int32_t gpus, std::int64_t seconds) {
  return a_training_job().curve(kLinearCurve).asks_for(gpus).iterations(10 * gpus * seconds);
}

JobId submit(PoolUnderTest& pool, const TrainingJobBuilder& job, Time at = {}) {
  pool.submit(job, at);
  return pool.latest();
}

Time wake_up_of(const PoolUnderTest& pool, Time now) {
  const CapacityProfile unpromised{now, pool.pool().gpus_up()};
  const PoolView view{pool.state(), pool.pool(), unpromised, now, pool.config};
  return ChronusPolicy{}.allocate(view).wake_up;
}

TEST(Chronus, GivesWhatWasAskedForAndNothingElse) {
  PoolUnderTest pool = a_chronus_pool(8);
  const JobId job = submit(pool, seconds_on(2, 100).deadline(150));
  pool.decide();
  EXPECT_EQ(pool.block_of(job).size, 2U);
}

TEST(Chronus, PromisesWhatATimetableMeets) {
  PoolUnderTest pool = a_chronus_pool(1);
  EXPECT_TRUE(is_promised_in(pool.submit(seconds_on(1, 100).deadline(100))));
  EXPECT_TRUE(is_promised_in(pool.submit(seconds_on(1, 100).deadline(200))));
  // In time by itself, but then one of the others would be late.
  EXPECT_FALSE(is_promised_in(pool.submit(seconds_on(1, 50).deadline(200))));
  EXPECT_TRUE(is_promised_in(pool.submit(seconds_on(1, 50).deadline(250))));
}

TEST(Chronus, SaysWhyItRefuses) {
  PoolUnderTest pool = a_chronus_pool(1);
  const auto reason_of = [&](const TrainingJobBuilder& job) {
    for (const Record& record : pool.submit(job)) {
      if (std::holds_alternative<PromiseRefused>(record.what)) return record.reason.code;
    }
    return ReasonCode::as_reported;
  };
  EXPECT_EQ(reason_of(seconds_on(1, 101).deadline(100)), ReasonCode::too_slow_alone);
  pool.submit(seconds_on(1, 100).deadline(100));
  EXPECT_EQ(reason_of(seconds_on(1, 50).deadline(100)), ReasonCode::no_room);
}

TEST(Chronus, RefusesHardDeadlinesAndRunsSoftOnesLate) {
  PoolUnderTest pool = a_chronus_pool(1);
  const auto hard = pool.submit(seconds_on(1, 500).deadline(100));
  EXPECT_EQ(all_of<PromiseRefused>(hard).size(), 1U);
  const auto soft = pool.submit(seconds_on(1, 500).soft_deadline(100));
  EXPECT_EQ(all_of<JobUnpromised>(soft).size(), 1U);
  pool.decide();
  EXPECT_EQ(pool.block_of(pool.latest()).size, 1U);
}

TEST(Chronus, RefusesWhatNoNodeOfThePoolCouldRun) {
  PoolUnderTest pool = a_chronus_pool(1);
  const auto records = pool.submit(a_training_job().curve({{4, 10}}).asks_for(4));
  EXPECT_EQ(all_of<PromiseRefused>(records).size(), 1U);
}

// A start, and one move that its plan does not foresee.
TEST(Chronus, CountsThePriceOfAStartAndOfAMove) {
  PoolUnderTest pool = a_chronus_pool(1, kTwoSeconds);
  EXPECT_FALSE(is_promised_in(pool.submit(seconds_on(1, 97).deadline(100))));
  EXPECT_TRUE(is_promised_in(pool.submit(seconds_on(1, 96).deadline(100))));
}

TEST(Chronus, LeasesEndToEndPayOnce) {
  PoolUnderTest pool = a_chronus_pool(1, kTwoSeconds);
  EXPECT_TRUE(is_promised_in(pool.submit(seconds_on(1, 996).deadline(1000))));
}

TEST(Chronus, KeepsLeases) {
  PoolUnderTest pool = a_chronus_pool(1);
  const JobId holder = submit(pool, seconds_on(1, 150).deadline(1000));
  pool.decide();
  const JobId urgent = submit(pool, seconds_on(1, 100).deadline(200), at_second(50));
  EXPECT_TRUE(pool.job(urgent).is_promised());
  pool.decide(at_second(50));
  EXPECT_EQ(pool.block_of(holder).size, 1U);
  EXPECT_TRUE(pool.block_of(urgent).is_none());
  pool.decide(at_second(100));
  EXPECT_TRUE(pool.block_of(holder).is_none());
  EXPECT_EQ(pool.block_of(urgent).size, 1U);
}

TEST(Chronus, PromisesNothingThatWouldNeedALeaseSomebodyKeeps) {
  PoolUnderTest pool = a_chronus_pool(1);
  submit(pool, seconds_on(1, 100));  // without a deadline, and first
  pool.decide();
  EXPECT_FALSE(is_promised_in(pool.submit(seconds_on(1, 100).deadline(150), at_second(10))));
  EXPECT_TRUE(is_promised_in(pool.submit(seconds_on(1, 100).deadline(200), at_second(10))));
}

TEST(Chronus, AtABoundaryAllLeasesAreGivenAnew) {
  PoolUnderTest pool = a_chronus_pool(1);
  const JobId without = submit(pool, seconds_on(1, 500));
  pool.decide();
  const JobId urgent = submit(pool, seconds_on(1, 100).deadline(200), at_second(100));
  EXPECT_TRUE(pool.job(urgent).is_promised());
  pool.decide(at_second(100));
  EXPECT_TRUE(pool.block_of(without).is_none());
  EXPECT_EQ(pool.block_of(urgent).size, 1U);
}

TEST(Chronus, FreeGpusAreGivenOutBetweenBoundaries) {
  PoolUnderTest pool = a_chronus_pool(2);
  submit(pool, seconds_on(1, 500));
  pool.decide();
  const JobId second = submit(pool, seconds_on(1, 500), at_second(30));
  pool.decide(at_second(30));
  EXPECT_EQ(pool.block_of(second).size, 1U);
}

TEST(Chronus, LeftOverLeasesGoToPromisedJobsFirstThenToTheShortest) {
  PoolUnderTest pool = a_chronus_pool(2);
  const JobId longer = submit(pool, seconds_on(1, 300));
  const JobId shorter = submit(pool, seconds_on(1, 200));
  const JobId promised = submit(pool, seconds_on(1, 900).deadline(100'000));
  pool.decide();
  EXPECT_EQ(pool.block_of(promised).size, 1U);
  EXPECT_EQ(pool.block_of(shorter).size, 1U);
  EXPECT_TRUE(pool.block_of(longer).is_none());
}

TEST(Chronus, ASmallerJobFillsWhatALargerOneCannotUse) {
  PoolUnderTest pool = a_chronus_pool(4);
  submit(pool, seconds_on(2, 100));
  const JobId large = submit(pool, seconds_on(4, 200));
  const JobId small = submit(pool, seconds_on(1, 300));
  pool.decide();
  EXPECT_TRUE(pool.block_of(large).is_none());
  EXPECT_EQ(pool.block_of(small).size, 1U);
}

TEST(Chronus, WhatIsLeftOverMovesNobody) {
  PoolUnderTest pool = a_chronus_pool(4);
  std::vector<JobId> ones;
  for (int i = 0; i < 4; ++i) ones.push_back(submit(pool, seconds_on(1, 150)));
  pool.decide();
  pool.finish(ones[0], at_second(50));
  pool.finish(ones[2], at_second(50));
  const JobId pair = submit(pool, seconds_on(2, 300), at_second(50));
  pool.decide(at_second(50));
  EXPECT_TRUE(pool.block_of(pair).is_none());
  // A promise that needs the lease may.
  const JobId urgent = submit(pool, seconds_on(2, 100).deadline(160), at_second(50));
  EXPECT_TRUE(pool.job(urgent).is_promised());
  pool.decide(at_second(50));
  EXPECT_EQ(pool.block_of(urgent).size, 2U);
}

TEST(Chronus, AMoveForAnothersPromiseBreaksNone) {
  PoolUnderTest pool = a_chronus_pool(4, kTwoSeconds);
  std::vector<JobId> ones;
  for (int i = 0; i < 4; ++i) ones.push_back(submit(pool, seconds_on(1, 196).deadline(200)));
  for (const JobId id : ones) EXPECT_TRUE(pool.job(id).is_promised());
  pool.decide();
  pool.finish(ones[0], at_second(50));
  pool.finish(ones[2], at_second(50));
  const JobId pair = submit(pool, seconds_on(2, 100).deadline(160), at_second(50));
  EXPECT_TRUE(pool.job(pair).is_promised());
  const GpuBlock before[]{pool.block_of(ones[1]), pool.block_of(ones[3])};
  pool.decide(at_second(50));
  EXPECT_EQ(pool.block_of(pair).size, 2U);
  EXPECT_FALSE(before[0] == pool.block_of(ones[1]) && before[1] == pool.block_of(ones[3]));
  for (const JobId id : {ones[1], ones[3]}) {
    const TrainingJob& job = pool.job(id);
    EXPECT_LE(std::max(job.ready_at, job.observed_at) + time_for(job.left, job.rate()),
              at_second(200));
  }
}

TEST(Chronus, GpusThatAreClosedAreNotPromised) {
  PoolUnderTest pool = a_chronus_pool(2);
  pool.close({1, 1});
  EXPECT_TRUE(is_promised_in(pool.submit(seconds_on(1, 100).deadline(110))));
  EXPECT_FALSE(is_promised_in(pool.submit(seconds_on(1, 100).deadline(110))));
  pool.decide();
  EXPECT_EQ(pool.block_of(JobId{1}), (GpuBlock{0, 1}));
}

// Half way through, a job that was to be done in 200 seconds has 150 left.
TEST(Chronus, PlansWithWhatIsReallyLeft) {
  PoolUnderTest pool = a_chronus_pool(1);
  const JobId slow = submit(pool, seconds_on(1, 200).deadline(400));
  pool.decide();
  pool.observe(slow, work_of_iterations(1500), at_second(0), at_second(100));
  EXPECT_FALSE(is_promised_in(pool.submit(seconds_on(1, 160).deadline(400), at_second(100))));
  EXPECT_TRUE(is_promised_in(pool.submit(seconds_on(1, 90).deadline(400), at_second(100))));
}

// Deadlines in the order of arrival and against it: the earlier deadline has the earlier leases.
TEST(Chronus, TheEarlierDeadlineRunsFirst) {
  PoolUnderTest pool = a_chronus_pool(1);
  const JobId later = submit(pool, seconds_on(1, 100).deadline(400));
  const JobId earlier = submit(pool, seconds_on(1, 100).deadline(300));
  pool.decide();
  EXPECT_EQ(pool.block_of(earlier).size, 1U);
  EXPECT_TRUE(pool.block_of(later).is_none());
}

// By filling, the newcomer goes first and the job that runs pays for its interruption and is late.
// Searching lets it run through.
TEST(Chronus, PromisesWhatOnlyASearchFinds) {
  PoolUnderTest pool = a_chronus_pool(1, {from_seconds(40), from_seconds(0)});
  const JobId runs = submit(pool, seconds_on(1, 290).deadline(500));
  EXPECT_TRUE(pool.job(runs).is_promised());
  pool.decide();
  const JobId newcomer = submit(pool, seconds_on(1, 10).deadline(495), at_second(100));
  EXPECT_TRUE(pool.job(newcomer).is_promised());
  pool.decide(at_second(100));
  EXPECT_EQ(pool.block_of(runs).size, 1U);
  EXPECT_TRUE(pool.block_of(newcomer).is_none());
}

TEST(Chronus, WakesAtTheNextBoundaryWhileSomebodyWaits) {
  PoolUnderTest pool = a_chronus_pool(1);
  submit(pool, seconds_on(1, 300));
  EXPECT_EQ(wake_up_of(pool, at_second(30)), Time::max());
  submit(pool, seconds_on(1, 300));
  EXPECT_EQ(wake_up_of(pool, at_second(30)), at_second(100));
  EXPECT_EQ(wake_up_of(pool, at_second(100)), at_second(200));
}

TEST(Chronus, LeasesAreFourMinutesByDefault) {
  PoolUnderTest pool{"chronus", 1, 1, kFreeRescales};
  submit(pool, seconds_on(1, 300));
  submit(pool, seconds_on(1, 300));
  EXPECT_EQ(wake_up_of(pool, at_second(10)), at_second(240));
}

TEST(Chronus, AJobThatIsLateAlreadyKeepsNobodyOut) {
  PoolUnderTest pool = a_chronus_pool(1);
  const JobId late = submit(pool, seconds_on(1, 100).deadline(110));
  EXPECT_TRUE(pool.job(late).is_promised());
  // Nothing was given to it for a whole lease: it cannot make it any more.
  EXPECT_TRUE(is_promised_in(pool.submit(seconds_on(1, 100).deadline(300), at_second(100))));
}

// --- whole runs, in which every job does exactly what its curve says ---

struct Drawn {
  TrainingJobBuilder job;
  std::int64_t at = 0;
};

std::vector<Drawn> any_jobs(std::int32_t largest) {
  std::vector<Drawn> jobs;
  std::int64_t now = 0;
  const int count = between(1, 15);
  for (int i = 0; i < count; ++i) {
    now += between<std::int64_t>(0, 80);
    const auto gpus =
        static_cast<std::int32_t>(any_power_of_two(static_cast<std::uint32_t>(largest)));
    const auto seconds = between<std::int64_t>(5, 250);
    TrainingJobBuilder job = seconds_on(gpus, seconds);
    const int kind = between(0, 5);
    if (kind > 1) job.deadline(now + seconds + between<std::int64_t>(0, 2 * seconds + 20));
    if (kind == 1) job.soft_deadline(now + seconds);
    jobs.push_back({job, now});
  }
  return jobs;
}

// Plays the jobs second by second. Returns how many promises were broken.
int play(PoolUnderTest& pool, const std::vector<Drawn>& jobs, std::int64_t lease) {
  std::size_t next = 0;
  int broken = 0;
  std::int64_t second = 0;
  for (; next < jobs.size() || !pool.pool().active.empty(); ++second) {
    RC_ASSERT(second < 100'000);
    const Time now = at_second(second);
    bool has_news = second % lease == 0;
    const std::vector<JobId> active = pool.pool().active;
    for (const JobId id : active) {
      const TrainingJob& job = pool.job(id);
      const bool is_done = !job.block.is_none() && now >= job.ready_at &&
                           job.rate() * (now - std::max(job.observed_at, job.ready_at)) >= job.left;
      if (!is_done) continue;
      if (job.is_promised() && now > job.spec->deadline) ++broken;
      pool.finish(id, now);
      has_news = true;
    }
    for (; next < jobs.size() && jobs[next].at <= second; ++next, has_news = true)
      pool.submit(jobs[next].job, now);
    if (!has_news) continue;
    std::vector<std::pair<JobId, GpuBlock>> before;
    for (const JobId id : pool.pool().active) before.emplace_back(id, pool.block_of(id));
    pool.decide(now);
    for (const auto& [id, block] : before) {
      if (second % lease != 0 && !block.is_none()) RC_ASSERT(pool.block_of(id).size == block.size);
    }
  }
  return broken;
}

RC_GTEST_PROP(Chronus, KeepsItsPromisesAndLeasesAndEveryJobFinishes, ()) {
  const auto nodes = *rc::gen::elementOf(std::vector<int>{1, 2, 4});
  PoolUnderTest pool{"chronus", nodes, 8,
                     *rc::gen::elementOf(std::vector{kFreeRescales, kTwoSeconds})};
  const auto lease = *rc::gen::elementOf(std::vector<std::int64_t>{20, 50, 100});
  pool.config.round = from_seconds(lease);
  RC_ASSERT(play(pool, any_jobs(8 * nodes), lease) == 0);
}

}  // namespace
}  // namespace weir::schedule
