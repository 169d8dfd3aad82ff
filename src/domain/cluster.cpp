// SPDX-License-Identifier: Apache-2.0
#include "domain/cluster.h"

#include <algorithm>

namespace weir {

PoolIndex Cluster::pool_named(const std::string& pool) {
  const auto at = std::find(pools.begin(), pools.end(), Pool{pool});
  const auto index = static_cast<std::uint32_t>(at - pools.begin());
  if (at == pools.end()) pools.push_back(Pool{pool});
  return PoolIndex{index};
}

std::int64_t Cluster::gpu_count() const {
  std::int64_t count = 0;
  for (const Node& node : nodes) count += node.gpu_count;
  return count;
}

MilliGpu Cluster::gpu_capacity() const {
  return kWholeGpu * gpu_count();
}

}  // namespace weir
