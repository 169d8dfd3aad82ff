// SPDX-License-Identifier: Apache-2.0
#include "simulate/run_setup.h"

namespace weir::simulate {
namespace {

std::vector<std::uint32_t> nodes_in(NodeOrder order, const Cluster& cluster, std::uint64_t seed) {
  switch (order) {
    case NodeOrder::as_listed:
      return schedule::listed_order(cluster);
    case NodeOrder::cpu_per_gpu:
      return schedule::cpu_per_gpu_order(cluster);
    case NodeOrder::permuted:
      break;
  }
  return schedule::permuted_order(cluster, seed);
}

}  // namespace

TargetWorkload oracle_target(const Workload& workload) {
  std::vector<ExpectedShape> counts;
  counts.reserve(workload.jobs.size());
  for (const WorkloadJob& job : workload.jobs)
    counts.push_back({job.spec.shape, job.spec.replicas});
  return make_target_workload(std::move(counts));
}

schedule::State initial_state_for(const Cluster& cluster, NodeOrder order, std::uint64_t seed,
                                  Expectation expectation, const TargetWorkload& oracle) {
  const bool learns = expectation == Expectation::learned;
  return schedule::initial_state(schedule::make_layout(cluster, nodes_in(order, cluster, seed)),
                                 learns ? TargetWorkload{} : oracle, learns);
}

}  // namespace weir::simulate
