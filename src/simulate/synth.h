// SPDX-License-Identifier: Apache-2.0
//
// Synthetic clusters and traces, so that a bare clone has real work to do. They follow the
// published statistics of the openb trace (Alibaba, 2023; Weng et al., USENIX ATC 2023): the mix of
// nodes, of task kinds and of popular shapes, and the spread of run times. What is not fitted:
// arrivals are Poisson (the real ones come in bursts), and run times are independent of the shape.
#pragma once

#include <cstdint>

#include "domain/cluster.h"
#include "domain/workload.h"

namespace weir::simulate {

struct SynthConfig {
  std::uint64_t seed = 1;
  std::int32_t nodes = 1213;
  std::int32_t jobs = 8152;
  int constrained_percent = 0;  // GPU jobs that name the models they accept
  int gang_percent = 0;         // whole-GPU jobs that come as 2, 4 or 8 replicas
};

Cluster synth_cluster(const SynthConfig& config);

// Requires: the cluster has GPUs if constrained_percent > 0.
Workload synth_workload(const SynthConfig& config, const Cluster& cluster);

}  // namespace weir::simulate
