// SPDX-License-Identifier: Apache-2.0
#include "simulate/relaxation_bound.h"

#include <algorithm>
#include <vector>

#include "domain/target_workload.h"
#include "schedule/core/cluster_layout.h"
#include "schedule/place/configuration_lp.h"

namespace weir::simulate {

double relaxation_bound_percent(const Cluster& cluster, const Workload& workload) {
  const MilliGpu capacity = cluster.gpu_capacity();
  if (capacity == MilliGpu{0} || workload.gpu_demand() == MilliGpu{0}) return 0;

  std::vector<ExpectedShape> counts;
  for (const WorkloadJob& job : workload.jobs)
    counts.push_back({job.spec.shape, job.spec.replicas});
  const auto demand = schedule::scaled_demand(counts, capacity, schedule::ModelSets::kept);
  if (demand.size() > kMostBoundedShapes) return 100;

  const auto layout = schedule::make_layout(cluster, schedule::listed_order(cluster));
  const auto lp = schedule::solve_configuration_lp(
      schedule::packing_classes(layout.classes), demand,
      {.rounding = schedule::ConfigurationLpOptions::Rounding::optimistic});
  return 100.0 * lp.bound_milli / static_cast<double>(capacity.value);
}

}  // namespace weir::simulate
