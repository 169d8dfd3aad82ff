// SPDX-License-Identifier: Apache-2.0
//
// Whether the quotas of its namespace refuse the pods a job still wants.
#pragma once

#include <string>
#include <vector>

#include "observe/kubernetes/explanation.h"

namespace weir::observe {

struct ExceededQuota {
  ObjectName quota;
  std::string resource;  // as the quota names it: "requests.nvidia.com/gpu"
  Quantity hard;
  Quantity used;
  Quantity needed;  // the least limit that lets all missing pods be made
};

// Nothing for a workload whose pods are all made.
std::vector<ExceededQuota> exceeded_quotas(const PendingWorkload& workload,
                                           const ClusterObjects& objects);

}  // namespace weir::observe
