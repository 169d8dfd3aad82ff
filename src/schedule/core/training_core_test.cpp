// SPDX-License-Identifier: Apache-2.0
//
// The core with training jobs, over random histories: submissions of every kind, ends, cancellations,
// reports that are late, twice or slow, nodes that go and come back, timers at odd moments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "schedule/admit/audit.h"
#include "schedule/core/core.h"
#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using testing::at_second;

const CurveKey kLinear{"linear", 1};
const CurveKey kKnee{"knee", 1};
const CurveKey kLarge{"large", 1};
const CurveKey kLateCurve{"late", 1};

CoreConfig config_for(const char* policy) {
  CoreConfig config;
  config.policy = placement_policies().front().policy;
  config.training_policy = find_training_policy(policy);
  return config;
}

Cluster a_cluster(int nodes, int gpus) {
  std::vector<Node> listed;
  for (int i = 0; i < nodes; ++i)
    listed.push_back(testing::listed_node(static_cast<std::uint64_t>(i + 1), 64, gpus));
  return testing::cluster_of(std::move(listed));
}

// A core and the time; every event is told at a time not before the last.
class TrainingHistory {
 public:
  TrainingHistory(const char* policy, int nodes, int gpus)
      : cluster_{a_cluster(nodes, gpus)},
        config_{config_for(policy)},
        initial_{initial_state_for_training(cluster_, config_.training_policy->size_rule())},
        core_{config_, initial_.fork()} {
    tell(CurveUpdated{PoolIndex{0}, kLinear,
                      testing::a_curve({{1, 10}, {2, 19}, {4, 36}, {8, 60}})});
    tell(CurveUpdated{PoolIndex{0}, kKnee, testing::a_curve({{1, 30}, {2, 40}, {4, 42}, {8, 41}})});
    tell(CurveUpdated{PoolIndex{0}, kLarge, testing::a_curve({{2, 12}, {4, 20}, {8, 33}})});
  }

  template <class What>
  std::vector<Record> tell(What what) {
    return tell(Event{now, Event{now, what}.what});
  }
  std::vector<Record> tell(const Event& event) {
    std::vector<Record> made = core_.handle(event);
    records.insert(records.end(), made.begin(), made.end());
    return made;
  }

  Core& core() { return core_; }
  const CoreConfig& config() const { return config_; }
  const TrainingState& state() const { return core_.state().training; }
  State& initial() { return initial_; }
  const Cluster& cluster() const { return cluster_; }

  Time now = at_second(1000);
  std::vector<Record> records;

 private:
  Cluster cluster_;
  CoreConfig config_;
  State initial_;
  Core core_;
};

TrainingSpec any_spec(Time now) {
  TrainingSpec spec;
  spec.name = "job";
  spec.curve =
      *rc::gen::weightedElement<CurveKey>({{6, kLinear}, {4, kKnee}, {3, kLarge}, {1, kLateCurve}});
  spec.iterations = *rc::gen::inRange<std::int64_t>(1, 60'000);
  spec.deadline_kind = *rc::gen::weightedElement<DeadlineKind>(
      {{8, DeadlineKind::hard}, {1, DeadlineKind::soft}, {2, DeadlineKind::none}});
  spec.deadline = now + from_seconds(*rc::gen::inRange<std::int64_t>(1, 4000));
  spec.asked_gpus = *rc::gen::element(1, 2, 4, 8);
  spec.is_rigid = *rc::gen::weightedElement<bool>({{6, false}, {1, true}});
  return spec;
}

// What an honest world may report next. Slow worlds also have jobs behind their curve and nodes that
// fail.
Event any_training_event(const TrainingHistory& history, Time now, bool is_slow) {
  const TrainingState& state = history.state();
  const std::vector<JobId>& active = state.pools.front().active;
  const int what = *rc::gen::weightedElement<int>({{8, 0}, {6, 1}, {3, 2}, {1, 3}, {2, 4}, {1, 5}});
  const auto some_job = [&] {
    return active.empty() || *rc::gen::weightedElement<bool>({{9, false}, {1, true}})
               ? JobId{*rc::gen::inRange<std::uint64_t>(0, state.jobs.size() + 2)}
               : *rc::gen::elementOf(active);
  };
  switch (what) {
    case 0:
      return {now, TrainingSubmitted{any_spec(now)}};
    case 1:
      return {now, TimerFired{}};
    case 2: {
      // Ready no later than the full price says; in a slow world also much too late.
      const JobId job = some_job();
      const bool is_known = state.knows(job);
      if (is_known && !is_slow && now > state.job(job).ready_at) return {now, TimerFired{}};
      const std::uint32_t generation = is_known ? state.job(job).generation : 0;
      return {now, RanksReady{job, *rc::gen::element(generation, generation, generation + 1)}};
    }
    case 3:
      return {now, JobCancelled{some_job()}};
    case 4: {
      if (!is_slow) return {now, JobFinished{some_job()}};
      const JobId job = some_job();
      if (!state.knows(job) || state.job(job).spec == nullptr)
        return {now, ProgressReported{job, Work{}}};
      const Work all = work_of_iterations(state.job(job).spec->iterations);
      const Work done = all - state.job(job).left_at(now);
      return {now, ProgressReported{job, Work{done.femto_iterations / 10 * 9}}};
    }
    default: {
      const NodeId node{*rc::gen::inRange<std::uint64_t>(0, history.cluster().nodes.size() + 2)};
      if (!is_slow) return {now, TimerFired{}};
      switch (*rc::gen::inRange(0, 7)) {
        case 5:
        case 6:
          return {now, CurveUpdated{PoolIndex{0}, *rc::gen::element(kLinear, kKnee, kLarge),
                                    testing::any_curve(8)}};
        case 0:
          return {now, NodeLost{node}};
        case 1:
          return {now, NodeDrained{node}};
        case 2:
          return {now, ForeignUseObserved{node, GpuMask{*rc::gen::inRange<std::uint16_t>(0, 16)}}};
        case 3: {
          const JobId job = some_job();
          return {now, RanksFailed{job, state.knows(job) ? state.job(job).generation : 0}};
        }
        default:
          return {now, NodeReturned{node}};
      }
    }
  }
}

// The scheduler is woken whenever it asked to be: without that no promise can hold.
template <class Visit>
void play(TrainingHistory& history, int events, bool is_slow, Visit visit) {
  // Jobs that are done say so, at once: whoever does not is taken to be slow.
  const auto end_jobs = [&] {
    for (const JobId id : std::vector<JobId>{history.state().pools.front().active}) {
      const TrainingJob& job = history.state().job(id);
      const Time from = std::max(job.observed_at, job.ready_at);
      if (!job.block.is_none() && from + time_for(job.left, job.rate()) <= history.now)
        visit(Event{history.now, JobFinished{id}});
    }
  };
  for (int i = 0; i < events; ++i) {
    const Time next = history.now + from_seconds(*rc::gen::weightedElement<std::int64_t>(
                                        {{3, 0}, {3, 1}, {3, 7}, {2, 60}, {1, 900}}));
    while (history.core().wake_up() <= next && history.core().wake_up() > history.now) {
      history.now = history.core().wake_up();
      end_jobs();
      visit(Event{history.now, TimerFired{}});
    }
    history.now = next;
    end_jobs();
    visit(any_training_event(history, history.now, is_slow));
    visit(Event{history.now, TimerFired{}});
  }
}

void expect_equal(const TrainingState& a, const TrainingState& b) {
  RC_ASSERT(a.jobs.size() == b.jobs.size());
  for (std::size_t i = 0; i < a.jobs.size(); ++i) {
    TrainingJob left = a.jobs[i];
    TrainingJob right = b.jobs[i];
    RC_ASSERT((left.sizes == nullptr) == (right.sizes == nullptr));
    if (left.sizes != nullptr) RC_ASSERT(*left.sizes == *right.sizes);
    if (left.spec != nullptr) RC_ASSERT(*left.spec == *right.spec);
    right.sizes = left.sizes;
    right.spec = left.spec;
    RC_ASSERT(left == right);
  }
  for (std::size_t i = 0; i < a.pools.size(); ++i) {
    RC_ASSERT(a.pools[i].active == b.pools[i].active);
    RC_ASSERT(a.pools[i].closed == b.pools[i].closed);
    RC_ASSERT(a.pools[i].is_up == b.pools[i].is_up);
    RC_ASSERT(a.pools[i].foreign == b.pools[i].foreign);
    RC_ASSERT(a.pools[i].arrivals == b.pools[i].arrivals);
    RC_ASSERT(a.pools[i].arrivals_seen == b.pools[i].arrivals_seen);
  }
}

TrainingHistory any_history(const char* policy = "weir") {
  const int gpus = *rc::gen::element(1, 2, 4, 6, 8);
  return TrainingHistory{policy, *rc::gen::inRange(1, 6), gpus};
}

RC_GTEST_PROP(TrainingCore, FoldingTheRecordsGivesTheState, ()) {
  TrainingHistory history = any_history();
  play(history, 25, true, [&](const Event& event) { history.tell(event); });
  State folded = history.initial().fork();
  for (const Record& record : history.records) evolve(folded, record);
  expect_equal(folded.training, history.state());
}

RC_GTEST_PROP(TrainingCore, TheIndexEqualsItsRebuildAfterEveryStep, ()) {
  TrainingHistory history = any_history();
  play(history, 25, true, [&](const Event& event) {
    history.tell(event);
    const TrainingIndex& index = history.core().training_index();
    const TrainingIndex rebuilt{history.state(), index.unpromised(0).begin_of(0)};
    RC_ASSERT(index == rebuilt);
  });
}

RC_GTEST_PROP(TrainingCore, ACoreRebuiltFromAForkDecidesTheSame, ()) {
  TrainingHistory history = any_history();
  const int check_at = *rc::gen::inRange(0, 60);
  int step = 0;
  std::optional<Core> twin;
  play(history, 25, true, [&](const Event& event) {
    if (step++ == check_at) twin.emplace(history.config(), history.core().fork_state());
    const auto records = history.tell(event);
    if (twin) RC_ASSERT(twin->handle(event) == records);
  });
}

RC_GTEST_PROP(TrainingCore, TheSameEventsGiveTheSameRecords, ()) {
  TrainingHistory history = any_history(
      *rc::gen::element("weir", "elasticflow", "edf", "edf-knee", "edf-admission", "tiresias",
                        "themis", "gandiva", "srtf", "fifo", "chronus", "pollux"));
  std::vector<Event> events;
  play(history, 20, true, [&](const Event& event) {
    events.push_back(event);
    history.tell(event);
  });
  Core again{history.config(), history.initial().fork()};
  std::vector<Record> records;
  // The curves came first.
  const std::size_t curves = 3;
  for (std::size_t i = 0; i < curves; ++i) {
    const auto& adopted = std::get<CurveAdopted>(history.records[i].what);
    again.handle({history.records[i].at, CurveUpdated{adopted.pool, adopted.key, *adopted.curve}});
  }
  for (const Event& event : events) {
    for (Record& record : again.handle(event)) records.push_back(std::move(record));
  }
  RC_ASSERT(records ==
            std::vector<Record>(history.records.begin() + curves, history.records.end()));
}

RC_GTEST_PROP(TrainingCore, EveryPromiseCanBeKeptAfterEveryDecision, ()) {
  TrainingHistory history = any_history();
  play(history, 40, false, [&](const Event& event) {
    history.tell(event);
    if (!std::holds_alternative<TimerFired>(event.what)) return;
    const Audit audit = audit_promises(history.state(), history.state().pools.front(), event.at);
    RC_ASSERT(audit.violations == std::vector<std::string>{});
    for (const JobId id : history.state().pools.front().active)
      RC_ASSERT(!history.state().job(id).is_at_risk);
  });
}

RC_GTEST_PROP(TrainingCore, WhenTheWorldBreaksAPromiseItIsSaid, ()) {
  TrainingHistory history = any_history();
  play(history, 40, true, [&](const Event& event) {
    history.tell(event);
    if (!std::holds_alternative<TimerFired>(event.what)) return;
    const Audit audit = audit_promises(history.state(), history.state().pools.front(), event.at);
    RC_ASSERT(audit.violations == std::vector<std::string>{});
  });
}

RC_GTEST_PROP(TrainingCore, ARefusalChangesNothingElse, ()) {
  TrainingHistory history = any_history();
  play(history, 25, true, [&](const Event& event) {
    std::vector<TrainingJob> before;
    for (std::size_t i = 0; i < history.state().jobs.size(); ++i)
      before.push_back(history.state().jobs[i]);
    const auto records = history.tell(event);
    const bool is_refusal = std::holds_alternative<TrainingSubmitted>(event.what) &&
                            !records.empty() &&
                            std::holds_alternative<PromiseRefused>(records.back().what);
    if (!is_refusal) return;
    RC_ASSERT(records.size() == 2U);
    for (std::size_t i = 0; i < before.size(); ++i) RC_ASSERT(history.state().jobs[i] == before[i]);
  });
}

RC_GTEST_PROP(TrainingCore, ACounterOfferIsGood, ()) {
  // Small and busy, so that the gate closes too.
  TrainingHistory history{"weir", 1, *rc::gen::element(1, 2, 4)};
  play(history, 60, false, [&](const Event& event) {
    State before = history.core().fork_state();
    const auto records = history.tell(event);
    const auto* submitted = std::get_if<TrainingSubmitted>(&event.what);
    if (submitted == nullptr || records.empty()) return;
    const auto* refused = std::get_if<PromiseRefused>(&records.back().what);
    if (refused == nullptr || !refused->earliest) return;
    RC_ASSERT(*refused->earliest > submitted->spec.deadline);
    TrainingSpec spec = submitted->spec;
    spec.deadline = *refused->earliest;
    Core what_if{history.config(), std::move(before)};
    const auto answer = what_if.handle({event.at, TrainingSubmitted{spec}});
    RC_ASSERT(std::holds_alternative<PromiseMade>(answer.back().what));
  });
}

RC_GTEST_PROP(TrainingCore, JobsWithoutAPromiseNeverChangeAnAnswer, ()) {
  TrainingHistory history = any_history();
  play(history, 25, false, [&](const Event& event) {
    const auto* submitted = std::get_if<TrainingSubmitted>(&event.what);
    if (submitted != nullptr && submitted->spec.deadline_kind == DeadlineKind::hard) {
      Core without{history.config(), history.core().fork_state()};
      for (const JobId id : std::vector<JobId>{history.state().pools.front().active}) {
        if (!history.state().job(id).is_promised()) without.handle({event.at, JobCancelled{id}});
      }
      State before = history.core().fork_state();
      Core with{history.config(), std::move(before)};
      RC_ASSERT(with.handle(event) == without.handle(event));
    }
    history.tell(event);
  });
}

RC_GTEST_PROP(TrainingCore, PoliciesNeverGiveAGpuTwice, ()) {
  const char* policy =
      *rc::gen::element("elasticflow", "edf", "edf-knee", "edf-admission", "tiresias", "themis",
                        "gandiva", "srtf", "fifo", "chronus", "pollux");
  TrainingHistory history = any_history(policy);
  play(history, 25, true, [&](const Event& event) {
    history.tell(event);
    if (!std::holds_alternative<TimerFired>(event.what)) return;
    const PoolState& pool = history.state().pools.front();
    // fifo lets jobs end on a node that is being drained.
    BlockMap map = policy == std::string_view{"fifo"} ? BlockMap{pool.pool->slots()} : pool.closed;
    for (const JobId id : pool.active) {
      const GpuBlock block = history.state().job(id).block;
      if (block.is_none()) continue;
      RC_ASSERT(map.is_free(block));
      map.take(block);
      RC_ASSERT(history.state().job(id).level() != kPaused);
    }
  });
}

TrainingSpec a_spec(const CurveKey& key, std::int64_t iterations, std::int64_t deadline) {
  TrainingSpec spec;
  spec.name = "job";
  spec.curve = key;
  spec.iterations = iterations;
  spec.deadline_kind = DeadlineKind::hard;
  spec.deadline = at_second(deadline);
  return spec;
}

TEST(TrainingCore, AJobWithoutACurveWaitsAndIsAnsweredWhenItComes) {
  TrainingHistory history{"weir", 1, 4};
  const auto waits = history.tell(TrainingSubmitted{a_spec(kLateCurve, 100, 2000)});
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].reason.code, ReasonCode::waits_for_a_curve);
  EXPECT_EQ(history.state().job(JobId{1}).phase, TrainingPhase::waits_for_curve);
  const auto answered =
      history.tell(CurveUpdated{PoolIndex{0}, kLateCurve, testing::a_curve({{1, 10}})});
  ASSERT_EQ(answered.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<PromiseMade>(answered[1].what));
  EXPECT_EQ(history.state().job(JobId{1}).phase, TrainingPhase::promised);
}

// Whatever was told, and in whatever order: no speed is counted twice.
RC_GTEST_PROP(TrainingCore, AJobRunsAtItsSpeedTimesTheNewestCurve, ()) {
  TrainingHistory history{"weir", 1, 8};
  TrainingSpec spec = a_spec(kLinear, 1'000'000, 0);
  spec.deadline_kind = DeadlineKind::none;
  history.tell(TrainingSubmitted{spec});
  history.tell(TimerFired{});
  Curve newest = *history.state().pools.front().curves.at(kLinear);
  std::int64_t done = 0;
  for (int i = 0; i < 12; ++i) {
    history.now += from_seconds(testing::between<std::int64_t>(1, 60));
    if (*rc::gen::arbitrary<bool>()) {
      newest = testing::any_curve(8);
      history.tell(CurveUpdated{PoolIndex{0}, kLinear, newest});
      RC_ASSERT(history.state().job(JobId{1}).speed_permille == 1000);
    } else {
      done += testing::between<std::int64_t>(0, 2000);
      history.tell(ProgressReported{JobId{1}, work_of_iterations(done)});
    }
    const TrainingJob& job = history.state().job(JobId{1});
    if (!job.block.is_none()) {
      const std::int64_t full = newest.rate_at(static_cast<std::int32_t>(job.block.size)).value;
      RC_ASSERT(job.rate().value == std::max<std::int64_t>(1, full * job.speed_permille / 1000));
    }
    history.tell(TimerFired{});
    RC_ASSERT(history.state().job(JobId{1}).level() != kPaused);
  }
}

TEST(TrainingCore, WhatAJobDidBeforeANewCurveItDidAtTheOldRate) {
  TrainingHistory history{"weir", 1, 1};
  TrainingSpec spec = a_spec(kLinear, 100'000, 0);
  spec.deadline_kind = DeadlineKind::none;
  history.tell(TrainingSubmitted{spec});
  history.tell(TimerFired{});
  history.tell(RanksReady{JobId{1}, 1});
  history.now += from_seconds(100);
  history.tell(CurveUpdated{PoolIndex{0}, kLinear, testing::a_curve({{1, 40}})});
  const TrainingJob& job = history.state().job(JobId{1});
  EXPECT_EQ(job.left, work_of_iterations(99'000));
  EXPECT_EQ(job.left_at(history.now + from_seconds(10)), work_of_iterations(98'600));
}

TEST(TrainingCore, APromiseThatANewCurveBreaksIsMendedOrAnnounced) {
  for (const std::int64_t rate : {7, 2}) {
    TrainingHistory history{"weir", 1, 4};
    // 1000 seconds for what takes 500 on one GPU.
    history.tell(TrainingSubmitted{a_spec(kLinear, 5'000, 2000)});
    history.tell(TimerFired{});
    history.now += from_seconds(10);
    const auto records = history.tell(
        CurveUpdated{PoolIndex{0}, kLinear, testing::a_curve({{1, rate / 2}, {2, rate}})});
    EXPECT_EQ(history.state().job(JobId{1}).is_at_risk, rate == 2);
    EXPECT_EQ(testing::all_of<PromiseAtRisk>(records).size(), rate == 2 ? 1U : 0U);
    EXPECT_EQ(testing::all_of<TimelineRevised>(records).size(), 1U);
  }
}

TEST(TrainingCore, APromiseAtRiskIsBackOnPlanWhenANewCurveIsFaster) {
  TrainingHistory history{"weir", 1, 4};
  history.tell(TrainingSubmitted{a_spec(kLinear, 5'000, 2000)});
  history.tell(TimerFired{});
  history.tell(CurveUpdated{PoolIndex{0}, kLinear, testing::a_curve({{1, 1}})});
  ASSERT_TRUE(history.state().job(JobId{1}).is_at_risk);
  history.tell(CurveUpdated{PoolIndex{0}, kLinear, testing::a_curve({{1, 20}})});
  EXPECT_FALSE(history.state().job(JobId{1}).is_at_risk);
}

TEST(TrainingCore, ASizeThatANewCurveDoesNotHaveIsLeftAndPlannedNoMore) {
  TrainingHistory history{"weir", 1, 4};
  history.tell(TrainingSubmitted{a_spec(kLinear, 20'000, 2000)});
  history.tell(TimerFired{});
  ASSERT_GT(history.state().job(JobId{1}).block.size, 1U);
  history.now += from_seconds(10);
  history.tell(CurveUpdated{PoolIndex{0}, kLinear, testing::a_curve({{1, 50}, {2, 20}})});
  history.tell(TimerFired{});
  const TrainingJob& job = history.state().job(JobId{1});
  EXPECT_EQ(job.block.size, 1U);
  EXPECT_FALSE(job.is_at_risk);
  for (const TimelineStep& step : job.timeline.steps) EXPECT_LE(step.block.size, 1U);
}

// It saves, says goodbye, and may lose its GPUs over that: it must get some again, or it never ends.
TEST(TrainingCore, AJobThatHasDoneAllItsStepsKeepsItsTurnUntilItEnds) {
  for (const TrainingPolicyRow& policy : training_policies()) {
    for (const DeadlineKind kind : {DeadlineKind::none, DeadlineKind::hard}) {
      SCOPED_TRACE(policy.name);
      TrainingHistory history{policy.name.data(), 1, 4};
      TrainingSpec spec = a_spec(kLinear, 1000, 4000);
      spec.deadline_kind = kind;
      history.tell(TrainingSubmitted{spec});
      const auto has_gpus = [&] { return !history.state().job(JobId{1}).block.is_none(); };
      const auto wait_for_gpus = [&] {
        history.tell(TimerFired{});
        for (int i = 0; i < 60 && !has_gpus(); ++i) {
          history.now += from_seconds(20);
          history.tell(TimerFired{});
        }
      };
      wait_for_gpus();
      ASSERT_TRUE(has_gpus());
      history.now += from_seconds(40);
      history.tell(ProgressReported{JobId{1}, work_of_iterations(1000)});
      history.tell(TimerFired{});
      EXPECT_TRUE(has_gpus());
      const NodeId node = history.cluster().nodes.front().id;
      history.tell(NodeLost{node});
      history.tell(TimerFired{});
      ASSERT_FALSE(has_gpus());
      history.now += from_seconds(20);
      history.tell(NodeReturned{node});
      wait_for_gpus();
      EXPECT_TRUE(has_gpus());
    }
  }
}

// A program that takes longer than it said gives its GPUs to whom they were promised, and gets others later.
TEST(TrainingCore, AProgramThatOutlivesItsPlanIsNotForgotten) {
  TrainingHistory history{"weir", 1, 1};
  TrainingSpec spec = a_spec(kLinear, 1000, 1400);  // 100 s
  spec.is_rigid = true;
  spec.asked_gpus = 1;
  spec.in_one_piece = true;
  history.tell(TrainingSubmitted{spec});
  history.tell(TrainingSubmitted{spec});
  history.tell(TimerFired{});
  const auto has_gpus = [&](std::uint64_t job) {
    return !history.state().job(JobId{job}).block.is_none();
  };
  ASSERT_TRUE(has_gpus(1));
  ASSERT_TRUE(history.state().job(JobId{2}).is_promised());
  history.now = std::max(history.state().job(JobId{1}).timeline.end,
                         history.state().job(JobId{2}).timeline.steps.front().from);
  history.tell(TimerFired{});
  ASSERT_TRUE(has_gpus(2)) << "as promised";
  ASSERT_FALSE(has_gpus(1));
  history.now += from_seconds(50);
  history.tell(JobFinished{JobId{2}});
  history.now += from_seconds(1);
  history.tell(TimerFired{});
  EXPECT_TRUE(has_gpus(1));
}

TEST(TrainingCore, AJobThatWaitsForACurveCanFail) {
  TrainingHistory history{"weir", 1, 4};
  history.tell(TrainingSubmitted{a_spec(kLateCurve, 100, 2000)});
  const auto records = history.tell(JobFailed{JobId{1}});
  EXPECT_EQ(testing::all_of<JobReleased>(records).size(), 1U);
  EXPECT_EQ(history.state().job(JobId{1}).phase, TrainingPhase::failed);
}

TEST(TrainingCore, AWaitingJobWhoseDeadlineHasPassedIsRefused) {
  TrainingHistory history{"weir", 1, 4};
  history.tell(TrainingSubmitted{a_spec(kLateCurve, 100, 2000)});
  history.now = at_second(3000);
  const auto answered =
      history.tell(CurveUpdated{PoolIndex{0}, kLateCurve, testing::a_curve({{1, 10}})});
  EXPECT_TRUE(std::holds_alternative<PromiseRefused>(answered.back().what));
}

TEST(TrainingCore, AJobThatNeedsTwoGpusIsNeverGivenOne) {
  TrainingHistory history{"weir", 1, 1};
  const auto records = history.tell(TrainingSubmitted{a_spec(kLarge, 100, 2000)});
  EXPECT_EQ(records.back().reason.code, ReasonCode::never_fits);
}

TEST(TrainingCore, AReportToldTwiceCountsOnce) {
  TrainingHistory history{"weir", 1, 4};
  history.tell(TrainingSubmitted{a_spec(kLinear, 10'000, 5000)});
  history.tell(TimerFired{});
  const std::uint32_t generation = history.state().job(JobId{1}).generation;
  history.now += from_seconds(3);
  EXPECT_TRUE(std::holds_alternative<JobObserved>(
      history.tell(RanksReady{JobId{1}, generation}).front().what));
  history.now += from_seconds(50);
  EXPECT_TRUE(std::holds_alternative<EventIgnored>(
      history.tell(RanksReady{JobId{1}, generation}).front().what));
  EXPECT_TRUE(std::holds_alternative<EventIgnored>(
      history.tell(RanksReady{JobId{1}, generation + 1}).front().what));
}

TEST(TrainingCore, AMalformedJobIsIgnored) {
  TrainingHistory history{"weir", 1, 4};
  for (const TrainingSpec& spec : {a_spec(kLinear, 0, 2000), a_spec(kLinear, 10, 1000)}) {
    const auto records = history.tell(TrainingSubmitted{spec});
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].reason.code, ReasonCode::malformed);
  }
}

TEST(TrainingCore, ALostNodeMovesItsJobsAndKeepsWhatCanBeKept) {
  TrainingHistory history{"weir", 2, 4};
  history.tell(TrainingSubmitted{a_spec(kLinear, 10'000, 3000)});
  history.tell(TimerFired{});
  const GpuBlock before = history.state().job(JobId{1}).block;
  ASSERT_FALSE(before.is_none());
  history.now += from_seconds(100);
  const NodeId lost{before.first / 4 + 1};
  history.tell(NodeLost{lost});
  EXPECT_TRUE(history.state().job(JobId{1}).block.is_none());
  history.tell(TimerFired{});
  const GpuBlock after = history.state().job(JobId{1}).block;
  ASSERT_FALSE(after.is_none());
  EXPECT_FALSE(after.overlaps({(lost.value == 1 ? 0U : 4U), 4}));
  EXPECT_FALSE(history.state().job(JobId{1}).is_at_risk);
}

TEST(TrainingCore, APromiseThatCannotBeKeptIsAnnouncedAtOnce) {
  TrainingHistory history{"weir", 1, 4};
  // Needs most of the node until its deadline.
  history.tell(TrainingSubmitted{a_spec(kLinear, 30'000, 2000)});
  history.tell(TimerFired{});
  history.now += from_seconds(10);
  const auto records = history.tell(NodeLost{NodeId{1}});
  const auto at_risk = std::find_if(records.begin(), records.end(), [](const Record& record) {
    return std::holds_alternative<PromiseAtRisk>(record.what);
  });
  ASSERT_NE(at_risk, records.end());
  history.now += from_seconds(10);
  history.tell(NodeReturned{NodeId{1}});
  history.tell(TimerFired{});
  EXPECT_FALSE(history.state().job(JobId{1}).block.is_none()) << "it goes on, late";
}

// Its plan was used up, by another's need at the same moment or by its own slowness.
TEST(TrainingCore, APromisedJobWithoutAPlanIsPlannedAnewOrAnnounced) {
  for (const std::int64_t deadline : {1000, 105}) {
    testing::PoolUnderTest pool{1, 4, testing::kFreeRescales};
    const JobId job = pool.promise(
        testing::a_training_job().curve({{1, 10}}).iterations(1000).deadline(deadline), {});
    const auto records = pool.report(job, work_of_iterations(100), at_second(100));
    const bool can_make_it = deadline == 1000;
    EXPECT_EQ(testing::all_of<TimelineRevised>(records).size(), 1U) << deadline;
    EXPECT_EQ(testing::all_of<PromiseAtRisk>(records).size(), can_make_it ? 0U : 1U) << deadline;
  }
}

TEST(TrainingCore, ADrainedNodeIsLeftAtTheNextDecisionAndThePromiseKept) {
  TrainingHistory history{"weir", 2, 4};
  history.tell(TrainingSubmitted{a_spec(kLinear, 10'000, 3000)});
  history.tell(TimerFired{});
  const GpuBlock before = history.state().job(JobId{1}).block;
  history.now += from_seconds(100);
  const NodeId drained{before.first / 4 + 1};
  history.tell(NodeDrained{drained});
  EXPECT_EQ(history.state().job(JobId{1}).block, before) << "it is not killed";
  history.tell(TimerFired{});
  const GpuBlock node{(static_cast<std::uint32_t>(drained.value) - 1) * 4, 4};
  EXPECT_FALSE(history.state().job(JobId{1}).block.overlaps(node));
  EXPECT_FALSE(history.state().job(JobId{1}).block.is_none());
  EXPECT_FALSE(history.state().job(JobId{1}).is_at_risk);
}

TEST(TrainingCore, GpusSomebodyElseUsesAreGivenUpAndComeBack) {
  TrainingHistory history{"weir", 1, 4};
  history.tell(TrainingSubmitted{a_spec(kLinear, 10'000, 3000)});
  history.tell(TimerFired{});
  history.tell(ForeignUseObserved{NodeId{1}, GpuMask{0b0111}});
  history.tell(TimerFired{});
  EXPECT_EQ(history.state().job(JobId{1}).block, (GpuBlock{3, 1}));
  EXPECT_EQ(history.state().pools.front().gpus_up(), 1);
  history.tell(ForeignUseObserved{NodeId{1}, GpuMask{}});
  EXPECT_EQ(history.state().pools.front().gpus_up(), 4);
}

TEST(TrainingCore, FailedRanksAreStartedAgainInANewGeneration) {
  TrainingHistory history{"weir", 1, 4};
  history.tell(TrainingSubmitted{a_spec(kLinear, 10'000, 3000)});
  history.tell(TimerFired{});
  const TrainingJob before = history.state().job(JobId{1});
  history.now += from_seconds(20);
  history.tell(RanksFailed{JobId{1}, before.generation});
  const TrainingJob& after = history.state().job(JobId{1});
  EXPECT_EQ(after.generation, before.generation + 1);
  EXPECT_EQ(after.block, before.block);
  EXPECT_GT(after.ready_at, history.now);
  const auto late = history.tell(RanksFailed{JobId{1}, before.generation});
  EXPECT_EQ(late.front().reason.code, ReasonCode::already_so);
}

TEST(TrainingCore, ASoftDeadlineThatCannotBeMetIsRunLate) {
  TrainingHistory history{"weir", 1, 1};
  TrainingSpec spec = a_spec(kLinear, 100'000, 2000);
  spec.deadline_kind = DeadlineKind::soft;
  const auto records = history.tell(TrainingSubmitted{spec});
  const auto* unpromised = std::get_if<JobUnpromised>(&records.back().what);
  ASSERT_NE(unpromised, nullptr);
  EXPECT_EQ(unpromised->expected_start, history.now);
  history.tell(TimerFired{});
  EXPECT_EQ(history.state().job(JobId{1}).block.size, 1U);
}

TEST(TrainingCore, BestEffortGivesWayToAPromise) {
  TrainingHistory history{"weir", 1, 1};
  TrainingSpec patient = a_spec(kLinear, 100'000, 2000);
  patient.deadline_kind = DeadlineKind::none;
  history.tell(TrainingSubmitted{patient});
  history.tell(TimerFired{});
  EXPECT_EQ(history.state().job(JobId{1}).block.size, 1U);
  history.tell(TrainingSubmitted{a_spec(kLinear, 9'000, 1950)});
  history.tell(TimerFired{});
  history.now = history.core().wake_up();  // when the promise needs it
  history.tell(TimerFired{});
  EXPECT_TRUE(history.state().job(JobId{1}).block.is_none());
  EXPECT_EQ(history.state().job(JobId{2}).block.size, 1U);
}

TEST(TrainingCore, WithoutATrainingPolicyTrainingEventsAreIgnored) {
  CoreConfig config = config_for("weir");
  config.training_policy = nullptr;
  Core core{config, initial_state_for_training(a_cluster(1, 4))};
  const auto records = core.handle({at_second(0), TrainingSubmitted{a_spec(kLinear, 1, 10)}});
  EXPECT_TRUE(std::holds_alternative<EventIgnored>(records.front().what));
}

}  // namespace
}  // namespace weir::schedule
