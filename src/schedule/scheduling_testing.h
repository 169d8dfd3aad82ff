// SPDX-License-Identifier: Apache-2.0
//
// Builders and generators for tests of the scheduler. A test shows only what it is about.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/event.h"
#include "domain/target_workload.h"
#include "schedule/core/core.h"
#include "schedule/node_state.h"
#include "schedule/place/policies.h"

namespace weir::schedule::testing {

inline GpuModelId model(int number) {
  return GpuModelId{static_cast<std::uint8_t>(number)};
}

// a_task().cpu(4).share(500), a_task().gpus(8)
class TaskBuilder {
 public:
  TaskBuilder& cpu(std::int64_t cores) {
    shape_.cpu = MilliCpu{cores * 1000};
    return *this;
  }
  TaskBuilder& memory(std::int64_t mib) {
    shape_.memory = Mebibytes{mib};
    return *this;
  }
  TaskBuilder& share(std::int64_t milli) {
    shape_.gpu_count = 1;
    shape_.gpu_share = MilliGpu{milli};
    return *this;
  }
  TaskBuilder& gpus(std::int32_t count) {
    shape_.gpu_count = count;
    shape_.gpu_share = count == 0 ? MilliGpu{0} : kWholeGpu;
    return *this;
  }
  TaskBuilder& on(int model_number) {
    shape_.models.insert(model(model_number));
    return *this;
  }
  operator Shape() const { return shape_; }  // NOLINT: a builder stands for what it builds

 private:
  Shape shape_;
};
inline TaskBuilder a_task() {
  return {};
}

// a_node().cpu(10).free({400, 1000})
class NodeBuilder {
 public:
  NodeBuilder() {
    state_.free_cpu = MilliCpu{64'000};
    state_.free_memory = Mebibytes{1 << 18};
  }
  NodeBuilder& cpu(std::int64_t cores) {
    state_.free_cpu = MilliCpu{cores * 1000};
    return *this;
  }
  NodeBuilder& memory(std::int64_t mib) {
    state_.free_memory = Mebibytes{mib};
    return *this;
  }
  NodeBuilder& model(int number) {
    model_ = number;
    return *this;
  }
  NodeBuilder& free(const std::vector<int>& shares) {
    state_.gpu_count = static_cast<std::uint8_t>(shares.size());
    for (std::size_t gpu = 0; gpu < shares.size(); ++gpu) {
      state_.free_gpu[gpu] = static_cast<std::int16_t>(shares[gpu]);
    }
    return *this;
  }
  operator NodeState() const {  // NOLINT: a builder stands for what it builds
    NodeState state = state_;
    state.model = state.gpu_count == 0 ? kNoGpuModel : testing::model(model_);
    return state;
  }

 private:
  NodeState state_;
  int model_ = 0;
};
inline NodeBuilder a_node() {
  return {};
}

inline GpuMask gpus(const std::vector<int>& numbers) {
  GpuMask mask;
  for (const int gpu : numbers) mask.insert(gpu);
  return mask;
}

inline TargetWorkload target_of(std::vector<ExpectedShape> shapes) {
  return make_target_workload(std::move(shapes), 100);
}

inline Node listed_node(std::uint64_t id, int cores, int gpu_count, int model_number = 0) {
  return Node{NodeId{id},
              "node-" + std::to_string(id),
              PoolIndex{0},
              MilliCpu{cores * 1000},
              Mebibytes{1 << 18},
              gpu_count,
              gpu_count == 0 ? kNoGpuModel : model(model_number)};
}

inline Cluster cluster_of(std::vector<Node> nodes) {
  Cluster cluster;
  for (const char* name : {"A", "B", "C"}) cluster.models.intern(name);
  cluster.pools.push_back(Pool{"all"});
  cluster.nodes = std::move(nodes);
  return cluster;
}

inline Cluster cluster_of_distinct_nodes(int count) {
  std::vector<Node> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back(listed_node(static_cast<std::uint64_t>(i + 1), i + 1, 1));
  return cluster_of(std::move(nodes));
}

// --- generators; call them inside a property ---

inline std::int64_t any_of(const std::vector<std::int64_t>& values) {
  return *rc::gen::elementOf(values);
}

inline GpuModelSet any_models() {
  GpuModelSet models;
  const int bits = *rc::gen::weightedElement<int>({{6, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 6}});
  for (int number = 0; number < 3; ++number) {
    if ((bits >> number & 1) != 0) models.insert(model(number));
  }
  return models;
}

// Shapes from a small menu, so that several meet the same thresholds.
inline Shape any_shape() {
  Shape shape;
  shape.cpu = MilliCpu{any_of({0, 500, 2000, 4000, 9999, 16'000, 64'000})};
  shape.memory = Mebibytes{any_of({0, 1024, 65'536})};
  shape.gpu_count = static_cast<std::int32_t>(any_of({0, 1, 1, 1, 1, 2, 4, 8}));
  if (shape.gpu_count == 1)
    shape.gpu_share = MilliGpu{any_of({1, 100, 333, 500, 810, 999, 1000, 1000})};
  if (shape.gpu_count > 1) shape.gpu_share = kWholeGpu;
  if (shape.gpu_count > 0) shape.models = any_models();
  return shape;
}

inline NodeState any_node() {
  NodeState node;
  node.free_cpu = MilliCpu{*rc::gen::inRange<std::int64_t>(0, 80'000)};
  node.free_memory = Mebibytes{*rc::gen::inRange<std::int64_t>(0, 1 << 18)};
  node.gpu_count = static_cast<std::uint8_t>(any_of({0, 1, 2, 4, 8, 16}));
  node.model = node.gpu_count == 0 ? kNoGpuModel : model(*rc::gen::inRange(0, 3));
  for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
    node.free_gpu[gpu] = static_cast<std::int16_t>(any_of(
        {0, 0, 1000, 1000, 1000, 100, 190, 333, 500, *rc::gen::inRange<std::int64_t>(0, 1001)}));
  }
  return node;
}

// A node of the cluster, partly taken.
inline NodeState any_node_of(const Cluster& cluster) {
  NodeState node = empty_state(*rc::gen::elementOf(cluster.nodes));
  node.free_cpu = MilliCpu{*rc::gen::inRange<std::int64_t>(0, node.free_cpu.value + 1)};
  for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
    node.free_gpu[gpu] = static_cast<std::int16_t>(any_of({0, 1000, 1000, 100, 190, 333, 500}));
  }
  return node;
}

inline TargetWorkload any_target() {
  std::vector<ExpectedShape> shapes;
  const int count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i)
    shapes.push_back({any_shape(), *rc::gen::inRange<std::int64_t>(1, 500)});
  return target_of(std::move(shapes));
}

inline Cluster any_cluster(int max_nodes = 12) {
  std::vector<Node> nodes;
  const int count = *rc::gen::inRange(1, max_nodes + 1);
  for (int i = 0; i < count; ++i) {
    nodes.push_back(
        listed_node(static_cast<std::uint64_t>(i + 1), static_cast<int>(any_of({4, 16, 16, 96})),
                    static_cast<int>(any_of({0, 1, 2, 2, 4, 8})), *rc::gen::inRange(0, 3)));
  }
  return cluster_of(std::move(nodes));
}

inline const PolicyRow& any_policy() {
  std::vector<const PolicyRow*> rows;
  for (const PolicyRow& row : placement_policies()) rows.push_back(&row);
  return **rc::gen::elementOf(rows);
}

// A history for the cluster: submissions, endings (also of jobs that do not run), nodes lost and
// returned.
// Shapes come from a menu: the same one must be asked for again and again.
inline Event any_event(const Cluster& cluster, const std::vector<Shape>& menu,
                       std::uint64_t jobs_so_far, std::int64_t at_second) {
  const Time at{from_seconds(at_second)};
  const int what = *rc::gen::weightedElement<int>({{12, 0}, {6, 1}, {1, 2}, {1, 3}});
  const NodeId node{*rc::gen::inRange<std::uint64_t>(0, cluster.nodes.size() + 2)};
  switch (what) {
    case 1:
      return {at, JobFinished{JobId{*rc::gen::inRange<std::uint64_t>(0, jobs_so_far + 2)}}};
    case 2:
      return {at, NodeLost{node}};
    case 3:
      return {at, NodeReturned{node}};
    default:
      return {at, JobSubmitted{*rc::gen::elementOf(menu),
                               static_cast<std::int32_t>(any_of({1, 1, 1, 2, 5}))}};
  }
}

}  // namespace weir::schedule::testing
