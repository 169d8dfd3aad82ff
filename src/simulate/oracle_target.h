// SPDX-License-Identifier: Apache-2.0
//
// The target workload counted over the very list that is simulated: what the published experiments
// give their policy, and what reports measure fragmentation against.
#pragma once

#include "domain/target_workload.h"
#include "domain/workload.h"

namespace weir::simulate {

inline TargetWorkload oracle_target(const Workload& workload) {
  std::vector<ExpectedShape> counts;
  counts.reserve(workload.jobs.size());
  for (const WorkloadJob& job : workload.jobs) counts.push_back({job.spec.shape, job.spec.replicas});
  return make_target_workload(std::move(counts));
}

}  // namespace weir::simulate
