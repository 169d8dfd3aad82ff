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

std::vector<WantedBlock> allocate(const PoolUnderTest& pool, Time now = {},
                                  const Ablation& ablation = {}) {
  return allocate_with_left_overs(pool.state(), pool.pool(), now, ablation);
}

Ablation without_lending() {
  Ablation ablation;
  ablation.lends_left_overs = false;
  return ablation;
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

// Two jobs could grow, each has closed GPUs beside it, and there is one free pair.
TEST(LeftOver, WithTheSignTurnedTheLowerReturnIsServedFirst) {
  const auto sizes_with = [](const Ablation& ablation) {
    PoolUnderTest pool{1, 8, kFreeRescales};
    const JobId steep = pool.add_unpromised(a_training_job().curve({{1, 10}, {2, 19}}));
    const JobId flat = pool.add_unpromised(a_training_job().curve({{1, 10}, {2, 12}}));
    pool.resize(steep, {0, 1});
    pool.resize(flat, {2, 1});
    for (const GpuBlock block : {GpuBlock{1, 1}, GpuBlock{3, 1}, GpuBlock{6, 2}}) pool.close(block);
    const auto wanted = allocate(pool, {}, ablation);
    return std::pair{block_for(wanted, steep).size, block_for(wanted, flat).size};
  };
  Ablation turned;
  turned.lends_where_least = true;
  EXPECT_EQ(sizes_with({}), (std::pair{2U, 1U}));
  EXPECT_EQ(sizes_with(turned), (std::pair{1U, 2U}));
}

TEST(LeftOver, WithoutLendingAPromisedJobHasWhatItsTimelineSays) {
  PoolUnderTest pool{1, 4, kFreeRescales};
  const auto job = a_training_job().curve({{1, 10}, {2, 20}}).iterations(500).deadline(100);
  const JobId running = pool.promise(job, {{{at_second(0), {0, 1}}}, at_second(60)});
  const JobId waiting =
      pool.promise(job, {{{at_second(0), kNoGpus}, {at_second(40), {2, 1}}}, at_second(95)});
  const JobId lent = pool.promise(job, {{{at_second(0), {1, 1}}}, at_second(60)});
  pool.resize(lent, {2, 2});
  EXPECT_GT(allocate(pool).size(), 2U) << "there is something to lend";
  const auto wanted = allocate(pool, {}, without_lending());
  EXPECT_EQ(block_for(wanted, running), (GpuBlock{0, 1}));
  EXPECT_EQ(block_for(wanted, waiting), kNoGpus);
  EXPECT_EQ(block_for(wanted, lent), (GpuBlock{1, 1})) << "sent back";
}

TEST(LeftOver, WithoutLendingJobsWithoutAPromiseStillRunAndGrow) {
  PoolUnderTest pool{1, 4, kFreeRescales};
  const JobId promised =
      pool.promise(a_training_job().deadline(100), {{{at_second(0), {0, 1}}}, at_second(90)});
  const JobId best_effort = pool.add_unpromised(a_training_job().curve({{1, 10}, {2, 20}}));
  const auto wanted = allocate(pool, {}, without_lending());
  EXPECT_EQ(block_for(wanted, promised).size, 1U);
  EXPECT_EQ(block_for(wanted, best_effort).size, 2U);
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

// It was given a second GPU at 0 and works from 2 on. At 1 it is planned anew with one GPU and nothing
// to spare. If it stayed where it is and were sent back at 2, it would work from 4 on instead of 3.
TEST(LeftOver, AJobThatIsStillBeingRescaledStaysOnlyIfItCanAffordIt) {
  PoolUnderTest pool{1, 2, {from_seconds(2), from_seconds(0)}};
  const auto job = a_training_job().curve({{1, 10}, {2, 20}}).deadline(100);
  const auto block_at_1 = [&](std::int64_t iterations) {
    const JobId id = pool.promise(TrainingJobBuilder{job}.iterations(iterations),
                                  {{{at_second(1), {0, 1}}}, at_second(100)});
    pool.resize(id, {0, 2});
    const GpuBlock block = block_for(allocate(pool, at_second(1)), id);
    pool.finish(id);
    return block;
  };
  EXPECT_EQ(block_at_1(970), (GpuBlock{0, 1}));
  EXPECT_EQ(block_at_1(950), (GpuBlock{0, 2}));
}

// --- Lent GPUs move on. ---

// On eight GPUs hardly faster than on four.
TrainingJobBuilder a_flat_job() {
  return a_training_job().curve({{1, 10}, {2, 19}, {4, 36}, {8, 38}}).iterations(1'000'000);
}
TrainingJobBuilder a_steep_job() {
  return a_training_job().curve({{1, 10}, {2, 20}, {4, 40}}).iterations(1'000'000);
}

// Two nodes: the flat job has one of them, the steep one a GPU of the other, whose rest is closed.
struct TwoJobs {
  explicit TwoJobs(const TrainingJobBuilder& first = a_flat_job()) {
    flat = pool.add_unpromised(first);
    steep = pool.add_unpromised(a_steep_job());
    pool.resize(flat, {0, 8});
    pool.resize(steep, {8, 1});
    for (const GpuBlock rest : {GpuBlock{9, 1}, GpuBlock{10, 2}, GpuBlock{12, 4}}) pool.close(rest);
  }
  std::pair<std::uint32_t, std::uint32_t> sizes_at(std::int64_t second) const {
    const auto wanted = allocate(pool, at_second(second));
    return {block_for(wanted, flat).size, block_for(wanted, steep).size};
  }

  PoolUnderTest pool{2, 8, kTwoSeconds};
  JobId flat;
  JobId steep;
};

TEST(LeftOver, LentGpusMoveOnToWhoeverMakesMuchMoreOfThem) {
  EXPECT_EQ(TwoJobs{}.sizes_at(100), (std::pair{4U, 4U}));
}

TEST(LeftOver, LentGpusStayForAMinute) {
  const TwoJobs jobs;
  EXPECT_EQ(jobs.sizes_at(59), (std::pair{8U, 1U}));
  EXPECT_EQ(jobs.sizes_at(60), (std::pair{4U, 4U}));
}

TEST(LeftOver, LentGpusStayWithSomebodyWhoMakesAboutAsMuchOfThem) {
  // From four to eight: 7 for each GPU, beside 10.
  const TwoJobs jobs{
      a_training_job().curve({{1, 10}, {2, 19}, {4, 36}, {8, 64}}).iterations(1'000'000)};
  EXPECT_EQ(jobs.sizes_at(100), (std::pair{8U, 1U}));
}

TEST(LeftOver, WhatWasPromisedIsNotLent) {
  const auto flat_has = [](std::uint32_t promised) {
    PoolUnderTest pool{1, 8, kTwoSeconds};
    const JobId flat = pool.promise(a_flat_job().iterations(100).deadline(100'000),
                                    {{{at_second(0), {0, promised}}}, at_second(100'000)});
    pool.add_unpromised(a_steep_job());
    pool.resize(flat, {0, 8});
    pool.observe(flat, work_of_iterations(100'000), at_second(0));
    return block_for(allocate(pool, at_second(100)), flat).size;
  };
  EXPECT_EQ(flat_has(8), 8U);
  EXPECT_EQ(flat_has(4), 4U);
}

TEST(LeftOver, AJobWithoutAPromiseStartsOnGpusThatWereLentToOthers) {
  PoolUnderTest pool{1, 8, kTwoSeconds};
  const JobId running = pool.add_unpromised(a_steep_job().curve({{1, 10}, {8, 80}, {4, 40}}));
  pool.resize(running, {0, 8});
  const JobId newcomer = pool.add_unpromised(a_training_job().iterations(1'000'000));
  const auto wanted = allocate(pool, at_second(100));
  EXPECT_EQ(block_for(wanted, running).size, 4U);
  EXPECT_FALSE(block_for(wanted, newcomer).is_none());
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

// When it ends if it is left alone. Exact: what the job knows of itself is never nothing.
Time finish_of(const TrainingJob& job) {
  if (job.block.is_none()) return Time::max();
  return std::max(job.observed_at, job.ready_at) + time_for(job.left, job.rate());
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
  if (finish_of(job) <= back) return finish_of(job) <= job.spec->deadline;
  return surplus(job, back) >= Work{};
}

struct LendingHistory {
  explicit LendingHistory(int nodes, const RescaleCost& price)
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
      if (block.is_none() || block == base) continue;
      // Until its timeline gives it more than that: then it goes there.
      Time until = job.timeline.end;
      for (const TimelineStep& step : job.timeline.steps) {
        if (step.from > now && step.block.size > block.size) until = std::min(until, step.from);
      }
      const Time ready = now + cost.full(block.size);
      std::vector<Time> moments{ready, job.timeline.next_change(now)};
      for (Time back = now; back <= ready; back += from_seconds(1)) moments.push_back(back);
      for (const Time back : moments)
        RC_ASSERT(back > until || survives_return(job, block, cost, now, back));
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
      next = std::min({next, job.timeline.next_change(now), finish_of(job)});
    }
    return next;
  }

  void go_to(Time time) {
    RC_ASSERT(++events < 2000);  // nothing goes on for ever
    now = time;
    const std::vector<JobId> active = pool.pool().active;
    for (const JobId id : active) {
      const TrainingJob& job = pool.job(id);
      if (finish_of(job) > now) continue;
      if (job.is_promised()) RC_ASSERT(now <= job.spec->deadline);
      pool.finish(id, now);
    }
  }

  PoolUnderTest pool;
  RescaleCost cost;
  std::int32_t gpus;
  int events = 0;
  Time now;
};

// Jobs come, run and go; every decision is audited.
void play_any_history(const Ablation& ablation) {
  LendingHistory history{between(1, 3), any_cost()};
  history.pool.config.ablation = ablation;
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

RC_GTEST_PROP(LeftOver, NoPromiseIsEverBrokenAndWhatIsLentCanBeTakenBackAtAnyTime, ()) {
  play_any_history({});
}

RC_GTEST_PROP(LeftOver, NoPromiseIsBrokenWhicheverPartsAreLeftOut, ()) {
  Ablation ablation;
  ablation.lends_left_overs = between(0, 2) == 0;
  ablation.lends_where_least = between(0, 2) == 0;
  ablation.raises_late = between(0, 2) == 0;
  play_any_history(ablation);
}

}  // namespace
}  // namespace weir::schedule
