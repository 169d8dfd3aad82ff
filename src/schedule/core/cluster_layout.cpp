// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/cluster_layout.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "domain/seeded_rng.h"

namespace weir::schedule {
namespace {

std::int64_t tasks_on_empty_node(const NodeState& empty, const Shape& shape, std::int64_t limit) {
  if (!fits(empty, shape)) return 0;
  std::int64_t tasks = limit;
  if (shape.cpu.value > 0) tasks = std::min(tasks, empty.free_cpu.value / shape.cpu.value);
  if (shape.memory.value > 0) tasks = std::min(tasks, empty.free_memory.value / shape.memory.value);
  if (shape.is_cpu_only()) return tasks;
  const std::int64_t per_gpu = shape.shares_gpu() ? kWholeGpu.value / shape.gpu_share.value : 1;
  return std::min(tasks, empty.gpu_count * per_gpu / shape.gpu_count);
}

using ClassNumbers = std::map<NodeState, std::size_t, StateOrder>;

// Adds a node to the classes and the supply.
void count_node(ClusterLayout& layout, ClassNumbers& class_of, const NodeState& empty) {
  const auto [at, is_new] = class_of.emplace(empty, layout.classes.size());
  if (is_new) layout.classes.push_back(NodeClass{empty, 0});
  ++layout.classes[at->second].count;
  if (empty.gpu_count == 0) return;
  auto& by_model = layout.supply.by_model;
  if (by_model.size() <= empty.model.value) by_model.resize(empty.model.value + std::size_t{1});
  by_model[empty.model.value] += kWholeGpu * empty.gpu_count;
  layout.supply.total += kWholeGpu * empty.gpu_count;
}

}  // namespace

std::int64_t ClusterLayout::room_when_empty(const Shape& shape, std::int64_t limit) const {
  std::int64_t room = 0;
  for (const NodeClass& one : classes) {
    if (room >= limit) break;
    room += one.count * tasks_on_empty_node(one.empty, shape, limit);
  }
  return std::min(room, limit);
}

std::vector<std::uint32_t> listed_order(const Cluster& cluster) {
  std::vector<std::uint32_t> order(cluster.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

std::vector<std::uint32_t> permuted_order(const Cluster& cluster, std::uint64_t seed) {
  std::vector<std::uint32_t> order = listed_order(cluster);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(cluster.nodes[a].name, a) < std::tie(cluster.nodes[b].name, b);
  });
  SeededRng{seed}.fork("node-order").shuffle(order);
  return order;
}

std::vector<std::uint32_t> cpu_per_gpu_order(const Cluster& cluster) {
  std::vector<std::uint32_t> order = listed_order(cluster);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Node& left = cluster.nodes[a];
    const Node& right = cluster.nodes[b];
    if (left.gpu_count == 0 || right.gpu_count == 0) return left.gpu_count > right.gpu_count;
    return left.cpu.value * right.gpu_count < right.cpu.value * left.gpu_count;
  });
  return order;
}

ClusterLayout make_layout(const Cluster& cluster, std::vector<std::uint32_t> order) {
  ClusterLayout layout;
  layout.supply.by_model.resize(cluster.models.size());
  layout.supply.names = cluster.models.names();
  ClassNumbers class_of;
  for (std::uint32_t index = 0; index < order.size(); ++index) {
    const Node& node = cluster.nodes[order[index]];
    const NodeState empty = empty_state(node);
    layout.ids.push_back(node.id);
    layout.empty.push_back(empty);
    layout.index_of.emplace(node.id, NodeIndex{index});
    count_node(layout, class_of, empty);
  }
  layout.listed = std::move(order);
  return layout;
}

ClusterLayout with_nodes(const ClusterLayout& layout, const std::vector<ObservedNode>& nodes) {
  ClusterLayout changed = layout;
  for (const ObservedNode& node : nodes) {
    const NodeIndex next{static_cast<std::uint32_t>(changed.ids.size())};
    const auto [at, is_new] = changed.index_of.emplace(node.id, next);
    if (is_new) {
      changed.ids.push_back(node.id);
      changed.listed.push_back(next.value);
      changed.empty.emplace_back();
    }
    changed.empty[at->second.value] = empty_state(
        Node{node.id, node.name, {}, node.cpu, node.memory, node.gpu_count, node.model_id});
  }
  changed.classes.clear();
  changed.supply = {{}, MilliGpu{0}, layout.supply.names};
  for (const ObservedNode& node : nodes) {
    if (node.gpu_count == 0) continue;
    auto& names = changed.supply.names;
    if (names.size() <= node.model_id.value) names.resize(node.model_id.value + std::size_t{1});
    names[node.model_id.value] = node.model;
  }
  ClassNumbers class_of;
  for (const NodeState& empty : changed.empty) count_node(changed, class_of, empty);
  return changed;
}

}  // namespace weir::schedule
