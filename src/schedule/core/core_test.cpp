// SPDX-License-Identifier: Apache-2.0
//
// The scheduler as its driver sees it: events in, records out; and what must hold after any
// history.
#include "schedule/core/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

State fresh_state(const Cluster& cluster, bool learns = false) {
  return initial_state(make_layout(cluster, listed_order(cluster)),
                       target_of({{a_task().cpu(1).gpus(1), 1}}), learns);
}

Core core_on(const Cluster& cluster, QueueRule rule, const char* policy = "best-fit",
             bool learns = false) {
  return Core{{find_placement_policy(policy), 42, rule}, fresh_state(cluster, learns)};
}

std::vector<Record> submit(Core& core, const Shape& shape, std::int32_t replicas = 1) {
  return core.handle({Time{}, JobSubmitted{shape, replicas}});
}
std::vector<Record> finish(Core& core, std::uint64_t job) {
  return core.handle({Time{}, JobFinished{JobId{job}}});
}

template <class What>
const What* find_record(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (const auto* what = std::get_if<What>(&record.what)) return what;
  }
  return nullptr;
}

std::vector<std::uint64_t> started(const std::vector<Record>& records) {
  std::vector<std::uint64_t> ids;
  for (const Record& record : records) {
    if (const auto* placed = std::get_if<JobPlaced>(&record.what)) ids.push_back(placed->job.value);
  }
  return ids;
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Core, PlacesAJobAndSaysWhere) {
  Core core = core_on(cluster_of({listed_node(1, 8, 2)}), QueueRule::drop);
  const auto records = submit(core, a_task().cpu(2).share(300));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(find_record<JobAccepted>(records)->job, JobId{1});
  const auto placements = find_record<JobPlaced>(records)->placements.all();
  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0], (Placement{NodeIndex{0}, gpus({0})}));
  EXPECT_EQ(records[1].reason.code, ReasonCode::best_score);
  EXPECT_EQ(core.state().nodes[0].free_gpu[0], 700);
  EXPECT_EQ(core.state().job(JobId{1}).phase, JobPhase::running);
}

TEST(Core, WithoutAQueueAJobThatFindsNoRoomIsRejectedWithTheReason) {
  Core core = core_on(cluster_of({listed_node(1, 8, 1)}), QueueRule::drop);
  submit(core, a_task().gpus(1));
  const auto full = submit(core, a_task().gpus(1));
  EXPECT_NE(find_record<JobRejected>(full), nullptr);
  EXPECT_EQ(full.back().reason.code, ReasonCode::no_node_fits);
  EXPECT_EQ(submit(core, a_task().gpus(2)).back().reason.code, ReasonCode::never_fits);
}

TEST(Core, AJobThatCouldNeverFitIsRejectedEvenWithAQueue) {
  Core core = core_on(cluster_of({listed_node(1, 8, 1)}), QueueRule::backfill);
  EXPECT_NE(find_record<JobRejected>(submit(core, a_task().gpus(2))), nullptr);
  EXPECT_NE(find_record<JobRejected>(submit(core, a_task().gpus(1), 2)), nullptr);
  EXPECT_TRUE(core.state().queue.empty());
}

TEST(Core, AGangStartsWholeOrNotAtAll) {
  Core core =
      core_on(cluster_of({listed_node(1, 8, 2), listed_node(2, 8, 2)}), QueueRule::backfill);
  submit(core, a_task().gpus(1));
  const auto too_large = submit(core, a_task().gpus(2), 2);
  EXPECT_THAT(started(too_large), IsEmpty());
  EXPECT_EQ(core.state().nodes[1].free_gpu_total(), MilliGpu{2000});  // nothing half done
  const auto fits = submit(core, a_task().gpus(1), 3);
  ASSERT_THAT(started(fits), ElementsAre(3));
  EXPECT_EQ(find_record<JobPlaced>(fits)->placements.size(), 3U);
}

TEST(Core, AFinishedJobMakesRoomForTheOneThatWaits) {
  Core core = core_on(cluster_of({listed_node(1, 8, 1)}), QueueRule::fifo);
  submit(core, a_task().gpus(1));
  EXPECT_NE(find_record<JobQueued>(submit(core, a_task().gpus(1))), nullptr);
  EXPECT_THAT(started(finish(core, 1)), ElementsAre(2));
}

TEST(Core, InAPlainQueueTheFirstHoldsBackTheOthers) {
  Core core = core_on(cluster_of({listed_node(1, 8, 2)}), QueueRule::fifo);
  submit(core, a_task().gpus(1));
  submit(core, a_task().gpus(2));                     // 2 waits
  const auto small = submit(core, a_task().gpus(1));  // 3 would fit
  EXPECT_THAT(started(small), IsEmpty());
  EXPECT_EQ(small.back().reason, (Reason{ReasonCode::waits_for_earlier, 2}));
  EXPECT_THAT(started(finish(core, 1)), ElementsAre(2));
  EXPECT_THAT(started(finish(core, 2)), ElementsAre(3));
}

TEST(Core, WithBackfillASmallerJobOvertakes) {
  Core core = core_on(cluster_of({listed_node(1, 8, 2)}), QueueRule::backfill);
  submit(core, a_task().gpus(1));
  submit(core, a_task().gpus(2));
  EXPECT_THAT(started(submit(core, a_task().gpus(1))), ElementsAre(3));
}

TEST(Core, OneEndingCanStartSeveralJobsEarliestFirst) {
  Core core = core_on(cluster_of({listed_node(1, 8, 2)}), QueueRule::backfill);
  submit(core, a_task().gpus(2));
  submit(core, a_task().share(600));
  submit(core, a_task().share(700));
  submit(core, a_task().share(500));
  submit(core, a_task().share(300));
  EXPECT_THAT(started(finish(core, 1)),
              ElementsAre(2, 3, 5));  // 600, 700, then 300 beside one of them
}

TEST(Core, ALostNodeInterruptsItsJobsAndTheyWaitAtTheirOldPlace) {
  Core core = core_on(cluster_of({listed_node(1, 8, 1), listed_node(2, 8, 1)}), QueueRule::fifo);
  submit(core, a_task().gpus(1), 2);
  submit(core, a_task().gpus(1));
  const auto records = core.handle({Time{}, NodeLost{NodeId{1}}});
  EXPECT_EQ(find_record<JobInterrupted>(records)->job, JobId{1});
  EXPECT_THAT(started(records), IsEmpty());  // the gang is first in the queue and needs both nodes
  EXPECT_EQ(core.state().nodes[1].free_gpu_total(), MilliGpu{1000});
  EXPECT_EQ(core.state().queue.head(), JobId{1});
  EXPECT_THAT(started(core.handle({Time{}, NodeReturned{NodeId{1}}})), ElementsAre(1));
}

TEST(Core, WithBackfillTheFreedNodeOfAnInterruptedGangIsUsedAtOnce) {
  Core core =
      core_on(cluster_of({listed_node(1, 8, 1), listed_node(2, 8, 1)}), QueueRule::backfill);
  submit(core, a_task().gpus(1), 2);
  submit(core, a_task().gpus(1));
  EXPECT_THAT(started(core.handle({Time{}, NodeLost{NodeId{1}}})), ElementsAre(2));
}

TEST(Core, EventsThatMakeNoSenseAreIgnoredWithAReason) {
  Core core = core_on(cluster_of({listed_node(1, 8, 1)}), QueueRule::drop);
  const auto reason_of = [&](const Event& event) {
    const auto records = core.handle(event);
    EXPECT_EQ(records.size(), 1U);
    EXPECT_TRUE(std::holds_alternative<EventIgnored>(records[0].what));
    return records[0].reason.code;
  };
  EXPECT_EQ(reason_of({Time{}, JobFinished{JobId{9}}}), ReasonCode::unknown_job);
  EXPECT_EQ(reason_of({Time{}, NodeLost{NodeId{9}}}), ReasonCode::unknown_node);
  EXPECT_EQ(reason_of({Time{}, NodeReturned{NodeId{1}}}), ReasonCode::already_so);
  EXPECT_EQ(reason_of({Time{}, JobSubmitted{a_task().gpus(1), 0}}), ReasonCode::malformed);
  Shape two_halves = a_task().gpus(2);
  two_halves.gpu_share = MilliGpu{500};
  EXPECT_EQ(reason_of({Time{}, JobSubmitted{two_halves, 1}}), ReasonCode::malformed);
  submit(core, a_task().gpus(1));
  finish(core, 1);
  EXPECT_EQ(reason_of({Time{}, JobFinished{JobId{1}}}),
            ReasonCode::not_running);  // a second ending
}

TEST(Core, LearnsTheTargetWorkloadFromSubmissions) {
  Core core = core_on(cluster_of({listed_node(1, 96, 8)}), QueueRule::drop, "fgd", true);
  std::uint32_t revisions = 0;
  for (int i = 0; i < 200; ++i) {
    const auto records = submit(core, a_task().cpu(1).share(100));
    if (find_record<TargetWorkloadRevised>(records) != nullptr) ++revisions;
  }
  EXPECT_EQ(revisions, 1U);
  EXPECT_EQ(core.state().target_version, 1U);
  ASSERT_EQ(core.state().target->shapes.size(), 1U);
  EXPECT_EQ(core.state().target->shapes[0].shape, Shape(a_task().cpu(1).share(100)));
}

// --- properties over random histories ---

struct TaskHistory {
  Cluster cluster = any_cluster();
  std::vector<Shape> menu = {any_shape(), any_shape(), any_shape(), any_shape()};
  QueueRule rule = *rc::gen::element(QueueRule::drop, QueueRule::fifo, QueueRule::backfill);
  const PolicyRow& policy = any_policy();
  bool learns = *rc::gen::arbitrary<bool>();
  int length = *rc::gen::inRange(1, 120);

  Core core() const { return Core{{policy.policy, 42, rule}, fresh_state(cluster, learns)}; }
  Event next(const Core& core, int step) const {
    return any_event(cluster, menu, core.state().jobs.size(), step);
  }
};

bool same(const State& a, const State& b) {
  if (a.nodes.size() != b.nodes.size() || a.jobs.size() != b.jobs.size()) return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    if (!(a.nodes[i] == b.nodes[i])) return false;
  }
  for (std::size_t i = 0; i < a.jobs.size(); ++i) {
    if (!(a.jobs[i] == b.jobs[i])) return false;
  }
  return a.queue == b.queue && a.target_version == b.target_version && a.estimate == b.estimate;
}

RC_GTEST_PROP(CoreHistory, NoNodeIsEverOverfullAndWhatIsTakenIsWhatRunningJobsHold, ()) {
  const TaskHistory history;
  Core core = history.core();
  for (int step = 0; step < history.length; ++step) {
    core.handle(history.next(core, step));
    std::vector<NodeState> expected = core.state().layout->empty;
    for (std::size_t i = 0; i < core.state().jobs.size(); ++i) {
      const JobState& job = core.state().jobs[i];
      const bool is_running = job.phase == JobPhase::running;
      RC_ASSERT(job.placements.size() ==
                (is_running ? static_cast<std::size_t>(job.replicas) : 0U));
      for (const Placement& placement : job.placements.all()) {
        const Shape& shape = core.state().shapes[job.shape.value];
        RC_ASSERT(is_valid_choice(expected[placement.node.value], shape, placement.gpus));
        take(expected[placement.node.value], shape, placement.gpus);
      }
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // Checked by hand: the gate itself is under test.
      RC_ASSERT(expected[i].free_cpu >= MilliCpu{0});
      RC_ASSERT(expected[i].free_memory >= Mebibytes{0});
      for (const std::int16_t free : expected[i].free_gpu) RC_ASSERT(free >= 0 && free <= 1000);
      expected[i].is_up = core.state().nodes[i].is_up;
      RC_ASSERT(core.state().nodes[i] == expected[i]);
    }
  }
}

RC_GTEST_PROP(CoreHistory, FoldingTheRecordsGivesTheSameState, ()) {
  const TaskHistory history;
  Core core = history.core();
  State replayed = fresh_state(history.cluster, history.learns);
  for (int step = 0; step < history.length; ++step) {
    for (const Record& record : core.handle(history.next(core, step))) evolve(replayed, record);
    RC_ASSERT(same(core.state(), replayed));
  }
}

RC_GTEST_PROP(CoreHistory, ACoreRebuiltFromTheStateDecidesTheSame, ()) {
  const TaskHistory history;
  Core core = history.core();
  for (int step = 0; step < history.length; ++step) {
    const Event event = history.next(core, step);
    Core rebuilt{{history.policy.policy, 42, history.rule}, core.fork_state()};
    RC_ASSERT(rebuilt.handle(event) == core.handle(event));
  }
}

RC_GTEST_PROP(CoreHistory, DecidingLeavesTheStateAsItWas, ()) {
  const TaskHistory history;
  Core core = history.core();
  for (int step = 0; step < history.length; ++step) {
    const Event event = history.next(core, step);
    State state = core.fork_state();
    const State before = state.fork();
    Placer placer{*history.policy.policy, 42, state};
    const auto once = decide(state, placer, history.rule, event);
    const auto again = decide(state, placer, history.rule, event);
    RC_ASSERT(same(state, before));
    RC_ASSERT(once == again);
    core.handle(event);
  }
}

// The lanes and the list of roomier nodes only save work: a scan of the whole queue starts the same
// jobs.
std::vector<JobId> starts_by_scan(const State& state, const TaskHistory& history) {
  State trial = const_cast<State&>(state).fork();
  std::vector<JobId> starts;
  for (std::uint64_t id = 1; id <= trial.jobs.size(); ++id) {
    const JobState job = trial.job(JobId{id});
    if (job.phase != JobPhase::queued) continue;
    Placer placer{*history.policy.policy, 42, trial};
    auto proposal =
        placer.propose(trial, JobId{id}, job.shape, trial.shapes[job.shape.value], job.replicas);
    if (proposal) {
      evolve(trial, Record{Time{}, {}, JobPlaced{JobId{id}, std::move(proposal->placements)}});
      starts.push_back(JobId{id});
    } else if (history.rule == QueueRule::fifo) {
      break;
    }
  }
  return starts;
}

RC_GTEST_PROP(CoreHistory, NoQueuedJobIsLeftThatCouldStart, ()) {
  const TaskHistory history;
  RC_PRE(history.rule != QueueRule::drop);
  Core core = history.core();
  for (int step = 0; step < history.length; ++step) {
    core.handle(history.next(core, step));
    RC_ASSERT(starts_by_scan(core.state(), history).empty());
  }
}

TEST(Core, AForkedStateIsUsedOnAnotherThread) {
  Core core = core_on(cluster_of_distinct_nodes(600), QueueRule::backfill, "fgd");
  for (int i = 0; i < 300; ++i) submit(core, a_task().cpu(1).share(400));
  std::jthread what_if{[state = core.fork_state()]() mutable {
    Core fork{{find_placement_policy("fgd"), 42, QueueRule::backfill}, std::move(state)};
    for (int i = 0; i < 300; ++i) submit(fork, a_task().cpu(1).gpus(1));
  }};
  for (int i = 1; i <= 300; ++i) finish(core, static_cast<std::uint64_t>(i));
  what_if.join();
  EXPECT_EQ(core.state().jobs.size(), 300U);
}

}  // namespace
}  // namespace weir::schedule
