// SPDX-License-Identifier: Apache-2.0
#include "simulate/relaxation_bound.h"

#include <gtest/gtest.h>

#include <string>

#include "schedule/place/policies.h"
#include "simulate/inflation.h"

namespace weir::simulate {
namespace {

Cluster a_cluster(int nodes, std::int32_t gpus, std::int64_t milli_cpu) {
  Cluster cluster;
  const PoolIndex pool = cluster.pool_named("pool");
  for (const char* model : {"A", "B"}) cluster.models.intern(model);
  for (int i = 0; i < nodes; ++i) {
    Node node;
    node.id = NodeId{static_cast<std::uint64_t>(i) + 1};
    node.name = "node-" + std::to_string(i);
    node.pool = pool;
    node.cpu = MilliCpu{milli_cpu};
    node.memory = Mebibytes{1 << 20};
    node.gpu_count = gpus;
    node.model = gpus > 0 ? GpuModelId{static_cast<std::uint8_t>(i % 2)} : kNoGpuModel;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

void add_jobs(Workload& workload, int count, const Shape& shape) {
  for (int i = 0; i < count; ++i) {
    workload.jobs.push_back({{"job-" + std::to_string(workload.jobs.size()), 1, shape}, {}});
  }
}

Shape share(std::int64_t milli_cpu, std::int64_t milli_gpu) {
  return {MilliCpu{milli_cpu}, {}, 1, MilliGpu{milli_gpu}, {}};
}

TEST(RelaxationBound, CountsWhatSharesLeaveOver) {
  // 600 milli fit once per GPU: 100 % of the capacity is asked for, 60 % can be had.
  Workload workload;
  add_jobs(workload, 10, share(1000, 600));
  EXPECT_NEAR(relaxation_bound_percent(a_cluster(4, 2, 8000), workload), 60, 1e-3);
}

TEST(RelaxationBound, CountsCpuAndIgnoresCpuOnlyTasks) {
  // Two cores per GPU where a task wants four: half the GPUs can be used.
  Workload workload;
  add_jobs(workload, 10, {MilliCpu{4000}, {}, 1, kWholeGpu, {}});
  add_jobs(workload, 10, {MilliCpu{8000}, {}, 0, {}, {}});
  EXPECT_NEAR(relaxation_bound_percent(a_cluster(4, 4, 8000), workload), 50, 1e-3);
}

TEST(RelaxationBound, KeepsModelSets) {
  // All tasks want model A, which is on half of the nodes.
  Shape picky = share(1000, 500);
  picky.models.insert(GpuModelId{0});
  Workload workload;
  add_jobs(workload, 10, picky);
  EXPECT_NEAR(relaxation_bound_percent(a_cluster(4, 2, 8000), workload), 50, 1e-3);
}

TEST(RelaxationBound, IsAHundredWhenEverythingFitsAndZeroWithoutGpusOrDemand) {
  Workload workload;
  add_jobs(workload, 10, share(1000, 500));
  EXPECT_NEAR(relaxation_bound_percent(a_cluster(4, 2, 8000), workload), 100, 1e-3);
  EXPECT_EQ(relaxation_bound_percent(a_cluster(4, 0, 8000), workload), 0);
  EXPECT_EQ(relaxation_bound_percent(a_cluster(4, 2, 8000), Workload{}), 0);
}

TEST(RelaxationBound, IsTrivialForTooManyShapes) {
  Workload workload;
  for (std::int64_t i = 0; i <= static_cast<std::int64_t>(kMostBoundedShapes); ++i) {
    add_jobs(workload, 1, share(i, 600));
  }
  EXPECT_EQ(relaxation_bound_percent(a_cluster(4, 2, 8000), workload), 100);
}

TEST(RelaxationBound, NoPolicyPassesIt) {
  // One shape, so that what arrives has the mix the bound was computed for.
  Workload workload;
  add_jobs(workload, 50, share(3000, 350));
  const Cluster cluster = a_cluster(6, 4, 20'000);
  const double bound = relaxation_bound_percent(cluster, workload);
  for (const schedule::PolicyRow& row : schedule::placement_policies()) {
    InflationConfig config;
    config.policy = std::string{row.name};
    const InflationOutcome outcome = run_inflation(cluster, workload, config);
    for (int percent = 0; percent <= InflationOutcome::kLastPercent; ++percent) {
      const auto allocated = outcome.allocated_percent(percent);
      if (allocated) {
        EXPECT_LE(*allocated, bound + 1e-6) << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace weir::simulate
