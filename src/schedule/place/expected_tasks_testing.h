// SPDX-License-Identifier: Apache-2.0
//
// Small clusters and expected tasks for the tests of the expected-value policy and its parts.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "domain/seeded_rng.h"
#include "domain/target_workload.h"
#include "schedule/place/placement_policy.h"

namespace weir::schedule {

inline GpuModelSet models(std::initializer_list<std::uint8_t> ids) {
  GpuModelSet set;
  for (const std::uint8_t id : ids) set.insert(GpuModelId{id});
  return set;
}

inline Shape cpu_task(std::int64_t milli_cpu) {
  return {MilliCpu{milli_cpu}, {}, 0, {}, {}};
}
inline Shape share_task(std::int64_t milli_cpu, std::int64_t milli_gpu, GpuModelSet accepted = {}) {
  return {MilliCpu{milli_cpu}, {}, 1, MilliGpu{milli_gpu}, accepted};
}
inline Shape gpu_task(std::int64_t milli_cpu, std::int32_t gpus, GpuModelSet accepted = {}) {
  return {MilliCpu{milli_cpu}, {}, gpus, kWholeGpu, accepted};
}

// A node with nothing on it.
inline NodeState gpu_node(std::int64_t milli_cpu, std::int32_t gpus, std::uint8_t model = 0) {
  Node node;
  node.cpu = MilliCpu{milli_cpu};
  node.memory = Mebibytes{1 << 20};
  node.gpu_count = gpus;
  node.model = gpus > 0 ? GpuModelId{model} : kNoGpuModel;
  return empty_state(node);
}

// An outlook that owns what it looks at.
struct Prospect {
  TargetWorkload target;
  GpuSupply supply;
  std::vector<NodeClass> node_classes;

  Prospect(TargetWorkload expected, std::vector<NodeClass> nodes)
      : target{std::move(expected)}, node_classes{std::move(nodes)} {
    for (const NodeClass& node_class : node_classes) {
      const MilliGpu gpus = node_class.empty.free_gpu_total() * node_class.count;
      supply.total += gpus;
      if (node_class.empty.gpu_count == 0) continue;
      const std::size_t model = node_class.empty.model.value;
      if (model >= supply.by_model.size()) supply.by_model.resize(model + 1);
      supply.by_model[model] += gpus;
    }
  }
  Outlook outlook() const { return {target, supply, node_classes}; }
};

inline Shape random_gpu_shape(SeededRng& rng) {
  constexpr std::array<std::int64_t, 8> kShares{230, 333, 400, 470, 500, 650, 810, 1000};
  const auto cpu = static_cast<std::int64_t>(rng.below(9)) * 370;
  GpuModelSet accepted;
  if (rng.below(3) == 0) accepted.insert(GpuModelId{static_cast<std::uint8_t>(rng.below(2))});
  if (rng.below(4) == 0) return gpu_task(cpu, 2, accepted);
  return share_task(cpu, kShares[rng.below(kShares.size())], accepted);
}

// A node in the middle of its life: some GPUs whole, some in part.
inline NodeState random_state(SeededRng& rng, std::uint64_t most_gpus, std::uint64_t most_cpu) {
  NodeState node = gpu_node(static_cast<std::int64_t>(rng.below(most_cpu + 1)),
                            static_cast<std::int32_t>(1 + rng.below(most_gpus)),
                            static_cast<std::uint8_t>(rng.below(2)));
  for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
    if (rng.below(2) == 0) node.free_gpu[gpu] = static_cast<std::int16_t>(rng.below(1001));
  }
  return node;
}

}  // namespace weir::schedule
