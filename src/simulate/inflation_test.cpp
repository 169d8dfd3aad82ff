// SPDX-License-Identifier: Apache-2.0
#include "simulate/inflation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "simulate/fragmentation_meter.h"
#include "simulate/synth.h"

namespace weir::simulate {
namespace {

// A small cluster and list with the statistics of the real one.
struct Small {
  SynthConfig config{
      .seed = 3, .nodes = 60, .jobs = 400, .constrained_percent = 20, .gang_percent = 5};
  Cluster cluster = synth_cluster(config);
  Workload workload = synth_workload(config, cluster);
};

Workload list_of(int jobs, int gpus_each) {
  Workload workload{"list", {}};
  for (int i = 0; i < jobs; ++i) {
    WorkloadJob job;
    job.spec.name = std::to_string(i);
    job.spec.shape.gpu_count = gpus_each;
    job.spec.shape.gpu_share = gpus_each == 0 ? MilliGpu{0} : kWholeGpu;
    workload.jobs.push_back(job);
  }
  return workload;
}

MilliGpu demand_of(const Workload& workload, const std::vector<std::uint32_t>& submissions) {
  MilliGpu demand;
  for (const std::uint32_t job : submissions) demand += workload.jobs[job].spec.gpu_total();
  return demand;
}

TEST(Inflate, AppendsDrawsAfterTheShuffledListUpTo130Percent) {
  const Workload workload = list_of(50, 1);
  const auto submissions = inflate(workload, MilliGpu{100'000}, 42);
  EXPECT_EQ(submissions.size(), 130U);
  std::set<std::uint32_t> first(submissions.begin(), submissions.begin() + 50);
  EXPECT_EQ(first.size(), 50U);  // every job of the list once, before any draw
}

TEST(Inflate, DeletesAtRandomFromAListThatAsksForMore) {
  const Workload workload = list_of(500, 1);
  const auto submissions = inflate(workload, MilliGpu{100'000}, 42);
  EXPECT_EQ(submissions.size(), 130U);
  EXPECT_EQ(std::set<std::uint32_t>(submissions.begin(), submissions.end()).size(), 130U);
}

TEST(Inflate, MayOvershootByThePublishedSevenGpus) {
  // The published check looks at one GPU of the task only: 128 + 8 > 130.
  EXPECT_EQ(demand_of(list_of(16, 8), inflate(list_of(16, 8), MilliGpu{100'000}, 42)),
            MilliGpu{128'000 + 8000});
}

TEST(Inflate, DependsOnTheSeedAndNamesNotOnTheListing) {
  Small small;
  const auto names = [&](std::uint64_t seed) {
    std::vector<std::string> list;
    for (const std::uint32_t job : inflate(small.workload, small.cluster.gpu_capacity(), seed)) {
      list.push_back(small.workload.jobs[job].spec.name);
    }
    list.resize(small.workload.jobs.size());  // draws after it are by position
    return list;
  };
  const auto before = names(42);
  EXPECT_NE(before, names(43));
  std::reverse(small.workload.jobs.begin(), small.workload.jobs.end());
  EXPECT_EQ(before, names(42));
}

TEST(Inflate, ForeseesHowManySubmissionsAListNeeds) {
  EXPECT_EQ(expected_submissions(list_of(50, 1), MilliGpu{100'000}), 130);
  EXPECT_EQ(expected_submissions(list_of(500, 1), MilliGpu{100'000}), 130);
  Workload little = list_of(1000, 0);
  little.jobs[0].spec.shape = Shape{MilliCpu{1}, Mebibytes{1}, 1, MilliGpu{1}, {}};
  EXPECT_GT(expected_submissions(little, MilliGpu{192'000}), kMostSubmissions);
}

TEST(Inflation, CountsWhatArrivedAndWhatFailed) {
  const Small small;
  const InflationOutcome outcome =
      run_inflation(small.cluster, small.workload, {.policy = "best-fit", .seed = 42});
  EXPECT_EQ(outcome.policy, "best-fit");
  EXPECT_EQ(static_cast<std::size_t>(outcome.tasks),
            inflate(small.workload, small.cluster.gpu_capacity(), 42).size());
  EXPECT_GT(outcome.failed, 0);
  EXPECT_GE(outcome.failed, outcome.failed_cpu_only);
  EXPECT_GT(*outcome.allocated_percent(100), 70.0);
  EXPECT_LE(*outcome.allocated_percent(130), 100.0);
  EXPECT_FALSE(outcome.timing.has_value());
  std::int64_t samples = 0;
  for (const ArrivalCell& cell : outcome.arrived) samples += cell.allocated_milli.count;
  EXPECT_GE(samples, outcome.tasks - 2);  // all but what arrives past 130 %
}

TEST(Inflation, AllocationIsDemandAsLongAsEverythingFits) {
  const Small small;
  const InflationOutcome outcome =
      run_inflation(small.cluster, small.workload, {.policy = "fgd", .seed = 42});
  EXPECT_NEAR(*outcome.allocated_percent(30), 30.0, 1.0);
}

TEST(Inflation, EveryPolicyRunsWithOracleAndLearnedWorkloads) {
  const Small small;
  for (const auto& row : schedule::placement_policies()) {
    for (const Expectation expectation : {Expectation::oracle, Expectation::learned}) {
      const InflationOutcome outcome =
          run_inflation(small.cluster, small.workload,
                        {.policy = std::string{row.name}, .seed = 42, .expectation = expectation});
      EXPECT_GT(*outcome.allocated_percent(100), 60.0) << row.name;
    }
  }
}

TEST(Inflation, NodeOrderIsAHiddenInputOfFgdAndNotOfFgdPlus) {
  const SynthConfig config{.nodes = 400, .jobs = 2700};
  const Cluster cluster = synth_cluster(config);
  const Workload workload = synth_workload(config, cluster);
  const auto allocated = [&](const char* policy, NodeOrder order) {
    return *run_inflation(cluster, workload, {.policy = policy, .seed = 42, .node_order = order})
                .allocated_percent(100);
  };
  EXPECT_LT(allocated("fgd", NodeOrder::cpu_per_gpu), allocated("fgd", NodeOrder::permuted) - 4.0);
  EXPECT_GT(allocated("fgd-plus", NodeOrder::cpu_per_gpu),
            allocated("fgd-plus", NodeOrder::permuted) - 1.0);
}

TEST(Outcome, PercentagesAreOfCapacity) {
  InflationOutcome outcome;
  outcome.capacity = MilliGpu{4000};
  EXPECT_EQ(outcome.allocated_percent(100), std::nullopt);
  outcome.arrived[100].allocated_milli.add(1000);
  outcome.arrived[100].allocated_milli.add(2000);
  outcome.arrived[100].fragmented_micro.add(400'000);
  EXPECT_DOUBLE_EQ(*outcome.allocated_percent(100), 37.5);
  EXPECT_DOUBLE_EQ(*outcome.fragmented_percent(100), 10.0);
  EXPECT_DOUBLE_EQ(*outcome.allocated_percent(103), 37.5);  // nothing arrived between
  EXPECT_EQ(outcome.allocated_percent(99), std::nullopt);
}

// The meter adds up changes; a sum over all nodes must agree after every step.
TEST(FragmentationMeter, EqualsASumOverAllNodesAfterEveryStep) {
  const Small small;
  const TargetWorkload target = oracle_target(small.workload);
  schedule::Core core{
      {schedule::find_placement_policy("fgd"), 42, schedule::QueueRule::drop},
      initial_state_for(small.cluster, NodeOrder::permuted, 42, Expectation::oracle, target)};
  FragmentationMeter meter{target, core.state().nodes};
  const schedule::Fragmentation measure{target};
  for (const std::uint32_t submission : inflate(small.workload, small.cluster.gpu_capacity(), 42)) {
    const JobSpec& spec = small.workload.jobs[submission].spec;
    for (const Record& record : core.handle({Time{}, JobSubmitted{spec.shape, spec.replicas}})) {
      const auto* placed = std::get_if<JobPlaced>(&record.what);
      if (placed == nullptr) continue;
      for (const Placement& placement : placed->placements.all())
        meter.update(core.state().nodes, placement.node);
    }
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < core.state().nodes.size(); ++i)
      sum += measure.weighted(core.state().nodes[i]);
    ASSERT_EQ(meter.micro_gpu(), sum * 1000 / measure.total_weight());
  }
}

}  // namespace
}  // namespace weir::simulate
