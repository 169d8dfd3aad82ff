// SPDX-License-Identifier: Apache-2.0
#include "schedule/allocate/left_over.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/admit/audit.h"
#include "schedule/admit/promises.h"
#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

GpuBlock block_for(const std::vector<WantedBlock>& wanted, JobId job) {
  for (const WantedBlock& block : wanted) {
    if (block.job == job) return block.block;
  }
  return kNoGpus;
}

std::vector<WantedBlock> allocate(const PoolUnderTest& pool, Time now = {}) {
  return allocate_with_left_overs(pool.state(), pool.pool(), now);
}

TEST(LeftOver, GoesToThoseWhoHaveNothingFirst) {
  PoolUnderTest pool{1, 2, kFreeRescales};
  const JobId first = pool.add_unpromised(a_training_job().curve({{1, 10}, {2, 20}}));
  const JobId second = pool.add_unpromised(a_training_job().curve({{1, 10}, {2, 20}}));
  const auto wanted = allocate(pool);
  EXPECT_EQ(block_for(wanted, first).size, 1U);
  EXPECT_EQ(block_for(wanted, second).size, 1U);
}

TEST(LeftOver, APromisedJobStartsBeforeASoftOneAndThatBeforeBestEffort) {
  PoolUnderTest pool{1, 2, kFreeRescales};
  const JobId best_effort = pool.add_unpromised(a_training_job());
  const JobId soft = pool.add_unpromised(a_training_job().soft_deadline(50));
  const JobId promised =
      pool.promise(a_training_job().deadline(100),
                   {{{at_second(0), kNoGpus}, {at_second(80), {0, 1}}}, at_second(90)});
  const auto wanted = allocate(pool);
  EXPECT_EQ(block_for(wanted, promised).size, 1U);
  EXPECT_EQ(block_for(wanted, soft).size, 1U);
  EXPECT_EQ(block_for(wanted, best_effort), kNoGpus);
}

// Two jobs could grow, and there is one free pair to grow into; the others cannot use it.
TEST(LeftOver, TheHigherReturnIsServedFirst) {
  PoolUnderTest pool{1, 8, kFreeRescales};
  const JobId flat = pool.add_unpromised(a_training_job().curve({{1, 10}, {2, 12}}));
  const JobId other = pool.add_unpromised(a_training_job());
  const JobId steep = pool.add_unpromised(a_training_job().curve({{1, 10}, {2, 19}}));
  const JobId another = pool.add_unpromised(a_training_job());
  pool.resize(flat, {0, 1});
  pool.resize(other, {1, 1});
  pool.resize(steep, {2, 1});
  pool.resize(another, {3, 1});
  pool.close({6, 2});
  const auto wanted = allocate(pool);
  EXPECT_EQ(block_for(wanted, steep), (GpuBlock{4, 2}));
  EXPECT_EQ(block_for(wanted, flat), (GpuBlock{0, 1}));
}

// One GPU is promised until the deadline, and nothing is to spare: a change would break the promise.
TEST(LeftOver, AJobWithoutSurplusDoesNotGrow) {
  const RescaleCost cost{from_seconds(2), from_seconds(0)};
  const auto grows = [&](std::int64_t iterations) {
    PoolUnderTest pool{1, 2, cost};
    const JobId job = pool.promise(
        a_training_job().curve({{1, 10}, {2, 20}}).iterations(iterations).deadline(100),
        {{{at_second(0), {0, 1}}}, at_second(100)});
    pool.resize(job, {0, 1});
    pool.observe(job, work_of_iterations(iterations), at_second(0));
    return block_for(allocate(pool), job).size == 2;
  };
  // The way there and back: 4 s at 10/s.
  EXPECT_TRUE(grows(960));
  EXPECT_FALSE(grows(961));
}

TEST(LeftOver, AJobKeepsWhatItHasWhileNobodyElseNeedsIt) {
  const RescaleCost cost{from_seconds(2), from_seconds(0)};
  PoolUnderTest pool{1, 4, cost};
  const JobId job = pool.promise(a_training_job().curve({{1, 10}, {2, 20}}).deadline(100),
                                 {{{at_second(0), {2, 1}}}, at_second(100)});
  pool.resize(job, {0, 2});
  EXPECT_EQ(block_for(allocate(pool), job), (GpuBlock{0, 2}));
  const JobId owner =
      pool.promise(a_training_job().deadline(100), {{{at_second(0), {1, 1}}}, at_second(100)});
  const auto wanted = allocate(pool);
  EXPECT_EQ(block_for(wanted, owner), (GpuBlock{1, 1}));
  EXPECT_FALSE(block_for(wanted, job).overlaps({1, 1}));
}

// --- Histories: jobs come, decisions are taken whenever the policy wants to, jobs end. ---

TrainingJobBuilder any_job(Time now, std::int32_t gpus) {
  TrainingJobBuilder job = a_training_job();
  const Curve curve = any_curve(gpus);
  const auto seconds = between<std::int64_t>(5, 400);
  const std::int64_t least = curve.useful().front().rate.value / 1'000'000;
  job.curve(curve).iterations(least * seconds);
  const std::int64_t deadline = seconds_of(now) + 1 + seconds * between(2, 20) / 10;
  const int kind = between(0, 10);
  if (kind < 8) job.deadline(deadline);
  if (kind == 8) job.soft_deadline(deadline);
  return job;
}

// Sends the job back at that moment: whether it would still meet its deadline.
bool survives_return(TrainingJob job, GpuBlock block, const RescaleCost& cost, Time now,
                     Time back) {
  if (job.block != block) {
    job.left = job.left_at(now);
    job.observed_at = now;
    job.block = block;
    job.ready_at = now + cost.full(block.size);
  }
  return surplus(job, back) >= Work{};
}

struct History {
  explicit History(int nodes, const RescaleCost& price)
      : pool{nodes, 8, price}, cost{price}, gpus{nodes * 8} {
    pool.config.has_gate = false;
    pool.config.makes_counter_offers = false;
  }

  // Checks a decision before it is made.
  void check_allocation() {
    BlockMap map = pool.pool().closed;
    const auto wanted = allocate(pool, now);
    for (const WantedBlock& block : wanted) {
      RC_ASSERT(map.is_free(block.block));
      map.take(block.block);
    }
    for (const JobId id : pool.pool().active) {
      const TrainingJob& job = pool.job(id);
      if (!job.is_promised()) continue;
      const GpuBlock base = job.timeline.block_at(now);
      const GpuBlock block = block_for(wanted, id);
      RC_ASSERT(block.size >= base.size);
      if (block.is_none() || block == job.block) continue;
      const Time ready = now + cost.full(block.size);
      for (Time back = now; back <= ready + from_seconds(2); back += from_seconds(1))
        RC_ASSERT(survives_return(job, block, cost, now, back));
      RC_ASSERT(survives_return(job, block, cost, now, ready));
      RC_ASSERT(survives_return(job, block, cost, now, job.timeline.next_change(now)));
    }
  }

  void decide() {
    check_allocation();
    pool.decide(now);
    const Audit audit = audit_promises(pool.state(), pool.pool(), now);
    RC_ASSERT(audit.violations == std::vector<std::string>{});
  }

  // When something happens by itself: a job ends, or a timeline changes.
  Time next_event() const {
    Time next = Time::max();
    for (const JobId id : pool.pool().active) {
      const TrainingJob& job = pool.job(id);
      next = std::min(next, job.timeline.next_change(now));
      if (job.block.is_none()) continue;
      const Time from = std::max({now, job.observed_at, job.ready_at});
      next = std::min(next, from + time_for(job.left_at(now), job.rate()));
    }
    return next;
  }

  void go_to(Time time) {
    now = time;
    const std::vector<JobId> active = pool.pool().active;
    for (const JobId id : active) {
      const TrainingJob& job = pool.job(id);
      if (job.left_at(now) > Work{}) continue;
      if (job.is_promised()) RC_ASSERT(now <= job.spec->deadline);
      pool.finish(id, now);
    }
  }

  PoolUnderTest pool;
  RescaleCost cost;
  std::int32_t gpus;
  Time now;
};

RC_GTEST_PROP(LeftOver, NoPromiseIsEverBrokenAndWhatIsLentCanBeTakenBackAtAnyTime, ()) {
  History history{between(1, 3), any_cost()};
  std::int64_t promised = 0;
  const int arrivals = between(3, 16);
  for (int i = 0; i < arrivals; ++i) {
    const Time arrival = history.now + from_seconds(between<std::int64_t>(0, 120));
    for (Time next = history.next_event(); next < arrival; next = history.next_event()) {
      history.go_to(next);
      history.decide();
    }
    history.go_to(arrival);
    const auto records = history.pool.submit(any_job(arrival, history.gpus), arrival);
    promised += is_promised_in(records);
    history.decide();
  }
  for (Time next = history.next_event(); next != Time::max(); next = history.next_event()) {
    history.go_to(next);
    history.decide();
  }
  RC_ASSERT(history.pool.pool().active.empty());
  RC_CLASSIFY(promised > 3);
}

}  // namespace
}  // namespace weir::schedule
