// SPDX-License-Identifier: Apache-2.0
//
// For sweeps: one pool of equal nodes.
#pragma once

#include <cstdint>
#include <string>

#include "domain/cluster.h"

namespace weir::tests {

inline Cluster made_up_cluster(int nodes, int gpus) {
  Cluster cluster;
  const GpuModelId model = *cluster.models.intern("any");
  const PoolIndex pool = cluster.pool_named("any");
  for (int i = 0; i < nodes; ++i) {
    cluster.nodes.push_back(Node{NodeId{static_cast<std::uint64_t>(i) + 1}, "n" + std::to_string(i),
                                 pool, MilliCpu{1000}, Mebibytes{1}, gpus, model});
  }
  return cluster;
}

}  // namespace weir::tests
