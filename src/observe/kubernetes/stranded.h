// SPDX-License-Identifier: Apache-2.0
//
// Free GPUs that nobody can use as things are, by cause, and how fragmented the rest is.
#pragma once

#include <string>
#include <vector>

#include "observe/kubernetes/explanation.h"
#include "observe/kubernetes/objects.h"

namespace weir::observe {

struct StrandedGpus {
  std::string cause;  // cordoned, not_ready, tainted, cpu, memory, pod_count, shares
  double gpus = 0;
  std::size_t nodes = 0;
  friend bool operator==(const StrandedGpus&, const StrandedGpus&) = default;
};

// What moving pods together would give.
struct Defragmentation {
  std::size_t moves = 0;
  double gpus_freed = 0;                 // in nodes that become wholly free
  std::vector<std::string> would_start;  // pending workloads, "namespace/name"
  friend bool operator==(const Defragmentation&, const Defragmentation&) = default;
};

struct ClusterSummary {
  std::size_t nodes = 0;
  double gpus = 0;
  double gpus_used = 0;
  double gpus_free = 0;
  double gpus_fragmented = 0;  // of the free ones, what the expected pods could not use (FGD)
  std::vector<StrandedGpus> stranded;
  Defragmentation defragmentation;
};

ClusterSummary summarize(const ClusterObjects& objects,
                         const std::vector<PendingWorkload>& pending);

}  // namespace weir::observe
