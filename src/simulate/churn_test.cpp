// SPDX-License-Identifier: Apache-2.0
#include "simulate/churn.h"

#include <gtest/gtest.h>

#include <chrono>

#include "schedule/place/policies.h"
#include "simulate/synth.h"

namespace weir::simulate {
namespace {

using namespace std::chrono_literals;

Cluster one_gpu() {
  Cluster cluster;
  cluster.nodes.push_back(Node{NodeId{1}, "n", cluster.pool_named("p"), MilliCpu{8000},
                               Mebibytes{1 << 16}, 1, *cluster.models.intern("A")});
  return cluster;
}

WorkloadJob gpu_job(Duration submitted, Duration run_time) {
  WorkloadJob job;
  job.spec.shape = Shape{MilliCpu{1000}, Mebibytes{1}, 1, kWholeGpu, {}};
  job.timing = JobTiming{submitted, run_time};
  return job;
}

TEST(Churn, AtFullLoadOnOneGpuEachJobStartsWhenTheLastOneEnds) {
  // Two jobs of 10 s per pass of 20 s, 10 s apart: the GPU is always busy and nobody waits.
  const Workload workload{"w", {gpu_job(0s, 10s), gpu_job(10s, 10s)}};
  const ChurnOutcome outcome =
      run_churn(one_gpu(), workload, {.policy = "best-fit", .load_percent = 100});
  EXPECT_DOUBLE_EQ(outcome.wait_mean_s, 0.0);
  EXPECT_DOUBLE_EQ(outcome.allocated_percent, 100.0);
  EXPECT_EQ(outcome.never_fit, 0);
}

TEST(Churn, AReplayIsTheTraceItself) {
  // The second comes while the first runs and waits 5 s; the third finds the GPU free.
  const Workload workload{"w", {gpu_job(100s, 10s), gpu_job(105s, 10s), gpu_job(200s, 100s)}};
  const ChurnOutcome outcome =
      run_churn(one_gpu(), workload, {.policy = "best-fit", .load_percent = 0});
  EXPECT_EQ(outcome.jobs, 3);
  EXPECT_DOUBLE_EQ(outcome.wait_mean_s, 5.0 / 3);
  EXPECT_DOUBLE_EQ(outcome.makespan_s, 200.0);
  EXPECT_DOUBLE_EQ(outcome.load, 120.0 / 200.0);
}

TEST(Churn, AtTwiceTheLoadWaitsGrowWithEveryJob) {
  // One job of 10 s every 5 s; 4 passes of 5 s: they wait 0, 5, 10, 15 s, the last two are
  // measured.
  const Workload workload{"w", {gpu_job(0s, 10s)}};
  const ChurnOutcome outcome =
      run_churn(one_gpu(), workload, {.policy = "best-fit", .load_percent = 200});
  EXPECT_EQ(outcome.jobs, 4);
  EXPECT_DOUBLE_EQ(outcome.wait_mean_s, 12.5);
  EXPECT_DOUBLE_EQ(outcome.wait_p99_s, 15.0);
  EXPECT_DOUBLE_EQ(outcome.allocated_percent, 100.0);
  EXPECT_DOUBLE_EQ(outcome.makespan_s, 40.0);
}

TEST(Churn, JobsThatCanNeverRunAreCountedApart) {
  Workload workload{"w", {gpu_job(0s, 10s), gpu_job(10s, 10s)}};
  workload.jobs[1].spec.shape.gpu_count = 2;
  const ChurnOutcome outcome =
      run_churn(one_gpu(), workload, {.policy = "best-fit", .load_percent = 100});
  EXPECT_EQ(outcome.never_fit, outcome.jobs / 2);
}

TEST(Churn, EveryPolicyServesAllJobsAtModerateLoadAndBackfillWaitsLess) {
  const SynthConfig config{.nodes = 40, .jobs = 300, .gang_percent = 5};
  const Cluster cluster = synth_cluster(config);
  const Workload workload = synth_workload(config, cluster);
  for (const auto& row : schedule::placement_policies()) {
    ChurnConfig churn{.policy = std::string{row.name}, .load_percent = 90};
    const ChurnOutcome fifo = run_churn(cluster, workload, churn);
    churn.queue = QueueOrder::backfill;
    const ChurnOutcome backfill = run_churn(cluster, workload, churn);
    EXPECT_LT(backfill.wait_mean_s, fifo.wait_mean_s) << row.name;
    EXPECT_GT(backfill.allocated_percent, 40.0) << row.name;
    EXPECT_LE(backfill.allocated_percent, 100.0) << row.name;
  }
}

}  // namespace
}  // namespace weir::simulate
