// SPDX-License-Identifier: Apache-2.0
//
// What hardly ever changes about the cluster while a core runs: the fixed node order, each node when
// empty, and sums over them. Shared by a state and all its forks.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "domain/cluster.h"
#include "domain/observed.h"
#include "schedule/place/placement_policy.h"

namespace weir::schedule {

struct ClusterLayout {
  std::vector<std::uint32_t> listed;  // by NodeIndex: the position in Cluster::nodes
  std::vector<NodeId> ids;            // by NodeIndex
  std::vector<NodeState> empty;       // by NodeIndex
  std::vector<NodeClass> classes;     // ordered by first appearance
  GpuSupply supply;
  std::unordered_map<NodeId, NodeIndex> index_of;

  // How many tasks of that shape the cluster holds when nothing else runs, counted up to `limit`.
  std::int64_t room_when_empty(const Shape& shape, std::int64_t limit) const;
};

// Node orders: positions in cluster.nodes, first to last.
// By name, then permuted by the seed. The only order that is good for every policy and cluster.
std::vector<std::uint32_t> permuted_order(const Cluster& cluster, std::uint64_t seed);
std::vector<std::uint32_t> listed_order(const Cluster& cluster);
// Fewest CPUs per GPU first; nodes without GPUs last.
std::vector<std::uint32_t> cpu_per_gpu_order(const Cluster& cluster);

// Requires: order is a permutation of the positions.
ClusterLayout make_layout(const Cluster& cluster, std::vector<std::uint32_t> order);

// Known nodes are replaced, new ones come last.
ClusterLayout with_nodes(const ClusterLayout& layout, const std::vector<ObservedNode>& nodes);

}  // namespace weir::schedule
