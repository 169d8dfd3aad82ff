// SPDX-License-Identifier: Apache-2.0
//
// A core beside another scheduler: it counts what it is told and decides nothing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "schedule/core/core.h"
#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

ObservedNode observed(std::uint64_t id, std::int64_t cores, std::int32_t gpus, bool is_up = true) {
  return {NodeId{id},
          "n" + std::to_string(id),
          "pool",
          "",
          gpus > 0 ? "A100" : "",
          MilliCpu{cores * 1000},
          Mebibytes{1 << 16},
          gpus,
          gpus > 0 ? model(0) : kNoGpuModel,
          is_up};
}

State nothing_known() {
  return initial_state(make_layout(Cluster{}, {}), TargetWorkload{}, false);
}
Core observing_core() {
  return Core{{find_placement_policy("best-fit"), 42, QueueRule::observe}, nothing_known()};
}
std::vector<Record> tell(Core& core, decltype(Event::what) what) {
  return core.handle({Time{}, std::move(what)});
}
JobId see_task(Core& core, const Shape& shape) {
  const JobId job = core.state().next_job();
  tell(core, TaskObserved{shape});
  return job;
}

TEST(ObservingCore, NodesComeWhileItRuns) {
  Core core = observing_core();
  tell(core, NodesObserved{{observed(7, 8, 2)}});
  tell(core, NodesObserved{{observed(9, 4, 0), observed(11, 8, 4)}});
  ASSERT_EQ(core.state().nodes.size(), 3U);
  EXPECT_EQ(core.state().nodes[2].whole_free_gpus(), 4);
  EXPECT_EQ(core.state().layout->supply.total, kWholeGpu * 6);
  EXPECT_EQ(core.state().layout->index_of.at(NodeId{9}), NodeIndex{1});
}

TEST(ObservingCore, ATaskWaitsUntilItsSchedulerPlacesIt) {
  Core core = observing_core();
  tell(core, NodesObserved{{observed(1, 8, 2)}});
  const JobId job = see_task(core, a_task().cpu(1).gpus(1));
  EXPECT_EQ(core.state().job(job).phase, JobPhase::queued) << "although there is room";
  const auto records = tell(core, PlacementObserved{job, NodeId{1}, {}});
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].reason.code, ReasonCode::observed);
  EXPECT_EQ(core.state().nodes[0].whole_free_gpus(), 1);
  tell(core, JobFinished{job});
  EXPECT_EQ(core.state().nodes[0].whole_free_gpus(), 2);
}

TEST(ObservingCore, AReleaseStartsNobody) {
  Core core = observing_core();
  tell(core, NodesObserved{{observed(1, 8, 1)}});
  const JobId first = see_task(core, a_task().gpus(1));
  const JobId second = see_task(core, a_task().gpus(1));
  tell(core, PlacementObserved{first, NodeId{1}, {}});
  EXPECT_EQ(tell(core, JobFinished{first}).size(), 1U);
  EXPECT_EQ(core.state().job(second).phase, JobPhase::queued);
}

TEST(ObservingCore, GpusThatAreNamedAreTaken) {
  Core core = observing_core();
  tell(core, NodesObserved{{observed(1, 8, 4)}});
  const JobId job = see_task(core, a_task().gpus(2));
  tell(core, PlacementObserved{job, NodeId{1}, gpus({1, 3})});
  EXPECT_EQ(core.state().job(job).placements.all()[0].gpus, gpus({1, 3}));
}

TEST(ObservingCore, MoreCpuThanThereIsIsCountedAllTheSame) {
  Core core = observing_core();
  tell(core, NodesObserved{{observed(1, 2, 0)}});
  const JobId job = see_task(core, a_task().cpu(3));
  tell(core, PlacementObserved{job, NodeId{1}, {}});
  EXPECT_EQ(core.state().nodes[0].free_cpu, MilliCpu{-1000});
  tell(core, JobFailed{job});
  EXPECT_EQ(core.state().nodes[0].free_cpu, MilliCpu{2000});
}

TEST(ObservingCore, GpusThatAreNotThereCannotBeTaken) {
  Core core = observing_core();
  tell(core, NodesObserved{{observed(1, 8, 1)}});
  tell(core, PlacementObserved{see_task(core, a_task().gpus(1)), NodeId{1}, {}});
  const auto records =
      tell(core, PlacementObserved{see_task(core, a_task().share(500)), NodeId{1}, {}});
  ASSERT_EQ(records.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<EventIgnored>(records[0].what));
  EXPECT_EQ(records[0].reason.code, ReasonCode::overcommitted);
}

TEST(ObservingCore, ANodeThatChangesKeepsWhatRunsThere) {
  Core core = observing_core();
  tell(core, NodesObserved{{observed(1, 8, 4)}});
  const JobId job = see_task(core, a_task().cpu(2).gpus(1));
  tell(core, PlacementObserved{job, NodeId{1}, gpus({2})});
  tell(core, NodesObserved{{observed(1, 16, 1, false)}});
  const NodeState& node = core.state().nodes[0];
  EXPECT_FALSE(node.is_up);
  EXPECT_EQ(node.free_cpu, MilliCpu{14'000});
  EXPECT_EQ(node.gpu_count, 3) << "GPU 2 is still held";
  EXPECT_EQ(node.free_gpu[2], 0);
  tell(core, JobFinished{job});
  tell(core, NodesObserved{{observed(1, 16, 1)}});
  EXPECT_EQ(core.state().nodes[0].gpu_count, 1);
}

TEST(ObservingCore, ALostNodeTakesNothingMoreAndItsTasksAreWaitedFor) {
  Core core = observing_core();
  tell(core, NodesObserved{{observed(1, 8, 1)}});
  const JobId job = see_task(core, a_task().gpus(1));
  tell(core, PlacementObserved{job, NodeId{1}, {}});
  EXPECT_EQ(tell(core, NodeLost{NodeId{1}}).size(), 1U);
  EXPECT_EQ(core.state().job(job).phase, JobPhase::running);
  tell(core, JobCancelled{job});
  EXPECT_EQ(core.state().job(job).phase, JobPhase::finished);
}

TEST(ObservingCore, ATaskThatIsTakenBackWaitsNoMore) {
  Core core = observing_core();
  const JobId job = see_task(core, a_task().gpus(1));
  tell(core, JobCancelled{job});
  EXPECT_EQ(core.state().job(job).phase, JobPhase::rejected);
  EXPECT_FALSE(core.state().queue.head());
}

TEST(ObservingCore, WhatBreaksTheRulesChangesNothing) {
  Core core = observing_core();
  ObservedNode without_model = observed(1, 8, 2);
  without_model.model_id = kNoGpuModel;
  for (const auto& bad : {without_model, observed(1, 8, 17), observed(1, 8, -1)}) {
    const auto records = tell(core, NodesObserved{{bad}});
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].reason.code, ReasonCode::malformed);
  }
  Shape bad_shape = a_task().gpus(2);
  bad_shape.gpu_share = MilliGpu{10};
  EXPECT_EQ(tell(core, TaskObserved{bad_shape})[0].reason.code, ReasonCode::malformed);
  EXPECT_EQ(tell(core, PlacementObserved{JobId{5}, NodeId{1}, {}})[0].reason.code,
            ReasonCode::unknown_job);
  EXPECT_EQ(core.state().nodes.size(), 0U);
}

// Any history, by any scheduler: what is free is what the nodes have less what runs there, the state is
// the fold of the records, and nothing runs that was not seen to.
RC_GTEST_PROP(ObservingCoreHistory, CountsWhatItIsToldAndNothingElse, ()) {
  Core core = observing_core();
  State folded = nothing_known();
  std::map<std::uint64_t, ObservedNode> nodes;
  std::map<std::uint64_t, std::uint64_t> where;  // task -> node
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const auto job = *rc::gen::inRange<std::uint64_t>(1, core.state().jobs.size() + 2);
    const auto node = *rc::gen::inRange<std::uint64_t>(1, 5);
    std::vector<Record> records;
    switch (*rc::gen::inRange(0, 5)) {
      case 0: {
        const ObservedNode seen = observed(node, *rc::gen::inRange(1, 9), *rc::gen::inRange(0, 5),
                                           *rc::gen::arbitrary<bool>());
        records = tell(core, NodesObserved{{seen}});
        nodes[node] = std::get<NodesKnown>(records.front().what).nodes->front();
        break;
      }
      case 1: {
        Shape shape = a_task().cpu(2).share(400);
        if (*rc::gen::arbitrary<bool>()) shape = a_task().cpu(1).gpus(*rc::gen::inRange(0, 3));
        records = tell(core, TaskObserved{shape});
      } break;
      case 2: {
        records = tell(core, PlacementObserved{JobId{job}, NodeId{node},
                                               GpuMask{*rc::gen::arbitrary<std::uint16_t>()}});
        if (std::holds_alternative<JobPlaced>(records.front().what)) where[job] = node;
        break;
      }
      case 3:
        records = tell(core, JobFinished{JobId{job}});
        where.erase(job);
        break;
      default:
        records = tell(core, JobCancelled{JobId{job}});
        where.erase(job);
    }
    for (const Record& record : records) evolve(folded, record);
    std::map<std::uint64_t, std::int64_t> cpu;
    std::map<std::uint64_t, std::int64_t> gpu;
    for (const auto& [task, at] : where) {
      const Shape& shape = core.state().shapes[core.state().job(JobId{task}).shape.value];
      cpu[at] += shape.cpu.value;
      gpu[at] += shape.gpu_total().value;
    }
    for (const auto& [id, seen] : nodes) {
      const NodeState& state =
          core.state().nodes[core.state().layout->index_of.at(NodeId{id}).value];
      RC_ASSERT(state.free_cpu.value == seen.cpu.value - cpu[id]);
      RC_ASSERT(state.free_gpu_total().value == seen.gpu_count * kWholeGpu.value - gpu[id]);
      RC_ASSERT(state.is_up == seen.is_up);
      RC_ASSERT(state == folded.nodes[folded.layout->index_of.at(NodeId{id}).value]);
    }
  }
}

}  // namespace
}  // namespace weir::schedule
