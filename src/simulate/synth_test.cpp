// SPDX-License-Identifier: Apache-2.0
//
// The synthetic trace is only worth something if it is like the real one: figures from the openb
// README.
#include "simulate/synth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "simulate/arrival_plan.h"

namespace weir::simulate {
namespace {

double percent_of(std::int64_t part, std::int64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

TEST(Synth, ClusterHasOpenbsMixOfNodes) {
  const Cluster cluster = synth_cluster({});
  EXPECT_EQ(cluster.nodes.size(), 1213U);
  EXPECT_NEAR(static_cast<double>(cluster.gpu_count()), 6212.0, 20.0);
  std::int64_t g2 = 0;
  for (const Node& node : cluster.nodes)
    g2 += cluster.models.name(node.model) == "G2" ? node.gpu_count : 0;
  EXPECT_EQ(g2, 4392);
  std::set<std::string> names;
  for (const Node& node : cluster.nodes) names.insert(node.name);
  EXPECT_EQ(names.size(), cluster.nodes.size());
}

TEST(Synth, SmallClustersKeepTheMix) {
  const Cluster cluster = synth_cluster({.nodes = 12});
  EXPECT_EQ(cluster.nodes.size(), 12U);
  EXPECT_GT(cluster.models.size(), 2U);
  EXPECT_EQ(synth_cluster({.nodes = 1}).nodes.size(), 1U);
}

TEST(Synth, WorkloadHasOpenbsMixOfTasks) {
  const SynthConfig config{.jobs = 50'000};
  const Workload workload = synth_workload(config, synth_cluster(config));
  std::int64_t cpu_only = 0;
  std::int64_t shares = 0;
  std::int64_t share_milli = 0;
  std::int64_t multi_milli = 0;
  std::vector<Duration> runs;
  for (const WorkloadJob& job : workload.jobs) {
    const Shape& shape = job.spec.shape;
    ASSERT_TRUE(is_well_formed(shape));
    cpu_only += shape.is_cpu_only() ? 1 : 0;
    shares += shape.shares_gpu() ? 1 : 0;
    share_milli += shape.shares_gpu() ? shape.gpu_total().value : 0;
    multi_milli += shape.gpu_count > 1 ? shape.gpu_total().value : 0;
    runs.push_back(job.timing->run_time);
  }
  EXPECT_NEAR(percent_of(cpu_only, 50'000), 13.3, 1.0);
  EXPECT_NEAR(percent_of(shares, 50'000), 37.8, 1.0);
  EXPECT_NEAR(percent_of(share_milli, workload.gpu_demand().value), 28.5, 2.0);
  EXPECT_NEAR(percent_of(multi_milli, workload.gpu_demand().value), 7.3, 2.0);
  EXPECT_NEAR(to_seconds(percentile(runs, 50)), 540.0, 40.0);
  EXPECT_NEAR(to_seconds(percentile(runs, 90)), 7000.0, 1500.0);
  EXPECT_TRUE(std::is_sorted(
      workload.jobs.begin(), workload.jobs.end(),
      [](const auto& a, const auto& b) { return a.timing->submitted < b.timing->submitted; }));
}

TEST(Synth, TheSameSeedGivesTheSameTraceAndAnotherAnother) {
  const Cluster cluster = synth_cluster({});
  EXPECT_EQ(synth_workload({.seed = 5}, cluster).jobs, synth_workload({.seed = 5}, cluster).jobs);
  EXPECT_NE(synth_workload({.seed = 5}, cluster).jobs, synth_workload({.seed = 6}, cluster).jobs);
}

TEST(Synth, ConstraintsAndGangsComeWhenAskedFor) {
  const SynthConfig config{.constrained_percent = 30, .gang_percent = 10};
  const Workload workload = synth_workload(config, synth_cluster(config));
  std::int64_t gpu_jobs = 0;
  std::int64_t constrained = 0;
  std::int64_t gangs = 0;
  for (const WorkloadJob& job : workload.jobs) {
    gpu_jobs += job.spec.shape.is_cpu_only() ? 0 : 1;
    constrained += job.spec.shape.models.accepts_any() ? 0 : 1;
    gangs += job.spec.is_gang() ? 1 : 0;
  }
  EXPECT_NEAR(percent_of(constrained, gpu_jobs), 30.0, 3.0);
  EXPECT_GT(gangs, 200);
  for (const WorkloadJob& job : synth_workload({}, synth_cluster({})).jobs) {
    EXPECT_FALSE(job.spec.is_gang());
    EXPECT_TRUE(job.spec.shape.models.accepts_any());
  }
}

}  // namespace
}  // namespace weir::simulate
