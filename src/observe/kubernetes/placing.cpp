// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/placing.h"

#include <optional>

namespace weir::observe {
namespace {

// Nodes that passed for the last shape; later pods of that shape need to look at these only.
struct Candidates {
  PodPointer shape;
  std::vector<NodeIndex> nodes;
  std::optional<PodFilters> filters;
};

void look_at_all(const ClusterModel& model, const PodPointer& pod, Candidates& candidates) {
  candidates.shape = pod;
  candidates.filters.emplace(model, *pod);
  candidates.nodes.clear();
  for (NodeIndex i = 0; i < model.node_count(); ++i) {
    if (candidates.filters->passes(i)) candidates.nodes.push_back(i);
  }
}

// Free cpu and memory in thousandths, as the default score counts them.
std::int64_t freedom(const ModelNode& node) {
  std::int64_t sum = 0;
  for (const auto id : {kCpu, kMemory}) {
    const auto offered = node.offered_of(id);
    if (offered > 0)
      sum += static_cast<std::int64_t>(static_cast<__int128>(node.free_of(id)) * 1000 / offered);
  }
  return sum;
}

std::optional<NodeIndex> freest(const ClusterModel& model, Candidates& candidates) {
  std::optional<NodeIndex> best;
  std::size_t kept = 0;
  for (const auto index : candidates.nodes) {
    if (!candidates.filters->passes(index)) continue;
    candidates.nodes[kept++] = index;
    if (!best || freedom(model.node(index)) > freedom(model.node(*best))) best = index;
  }
  candidates.nodes.resize(kept);
  return best;
}

}  // namespace

bool has_same_shape(const Pod& one, const Pod& other) {
  return one.requests == other.requests && one.meta.ns == other.meta.ns && one.node == other.node &&
         one.node_selector == other.node_selector && one.node_affinity == other.node_affinity &&
         one.tolerations == other.tolerations && one.host_ports == other.host_ports &&
         one.claims == other.claims && one.spread == other.spread &&
         one.pod_affinity == other.pod_affinity &&
         one.pod_anti_affinity == other.pod_anti_affinity &&
         (one.meta.labels == other.meta.labels ||
          (one.spread.empty() && one.pod_affinity.empty() && one.pod_anti_affinity.empty()));
}

std::size_t place_in_order(const ClusterModel& model, Trial& trial,
                           std::span<const PodPointer> pods) {
  Candidates candidates;
  std::size_t placed = 0;
  for (const auto& pod : pods) {
    const bool can_reuse = candidates.shape && !candidates.filters->depends_on_pods() &&
                           model.pods_with_anti_affinity().empty() &&
                           has_same_shape(*candidates.shape, *pod);
    if (!can_reuse) look_at_all(model, pod, candidates);
    const auto node = freest(model, candidates);
    if (!node) break;
    trial.place(pod, *node);
    ++placed;
  }
  return placed;
}

std::size_t count_that_fit(ClusterModel& model, std::span<const PodPointer> pods) {
  Trial trial{model};
  return place_in_order(model, trial, pods);
}

}  // namespace weir::observe
