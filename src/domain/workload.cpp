// SPDX-License-Identifier: Apache-2.0
#include "domain/workload.h"

#include <algorithm>

namespace weir {

MilliGpu Workload::gpu_demand() const {
  MilliGpu demand;
  for (const WorkloadJob& job : jobs) demand += job.spec.gpu_total();
  return demand;
}

bool Workload::has_timing() const {
  return std::all_of(jobs.begin(), jobs.end(),
                     [](const WorkloadJob& job) { return job.timing.has_value(); });
}

}  // namespace weir
