// SPDX-License-Identifier: Apache-2.0
#include "schedule/node_state.h"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace weir::schedule {
namespace {

constexpr auto kWhole = static_cast<std::int16_t>(kWholeGpu.value);

int count_gpus_with(const NodeState& node, std::int64_t share) {
  int count = 0;
  for (const std::int16_t free : node.free_gpu) count += free >= share ? 1 : 0;
  return count;
}

}  // namespace

TaskKind kind_of(const Shape& shape) {
  if (shape.shares_gpu()) return TaskKind::share;
  switch (shape.gpu_count) {
    case 1:
      return TaskKind::one;
    case 2:
      return TaskKind::two;
    case 4:
      return TaskKind::four;
    case 8:
      return TaskKind::eight;
    default:
      return TaskKind::other;
  }
}

int NodeState::whole_free_gpus() const {
  return count_gpus_with(*this, kWhole);
}

MilliGpu NodeState::free_gpu_total() const {
  std::int64_t total = 0;
  for (const std::int16_t free : free_gpu) total += free;
  return MilliGpu{total};
}

bool StateOrder::operator()(const NodeState& a, const NodeState& b) const {
  const auto key = [](const NodeState& node) {
    return std::tie(node.free_cpu, node.free_memory, node.free_gpu, node.gpu_tasks, node.gpu_count,
                    node.model, node.is_up);
  };
  return key(a) < key(b);
}

NodeState empty_state(const Node& node) {
  NodeState state;
  state.free_cpu = node.cpu;
  state.free_memory = node.memory;
  state.gpu_count = static_cast<std::uint8_t>(node.gpu_count);
  state.model = node.model;
  std::fill_n(state.free_gpu.begin(), node.gpu_count, kWhole);
  return state;
}

bool fits(const NodeState& node, const Shape& shape) {
  if (node.free_cpu < shape.cpu || node.free_memory < shape.memory || !node.is_up) return false;
  if (!shape.models.accepts(node.model)) return false;
  // A share of 0 would be found on GPUs the node does not have.
  return shape.is_cpu_only() || count_gpus_with(node, shape.gpu_share.value) >= shape.gpu_count;
}

bool have_room(const NodeState& node, const Shape& shape, GpuMask gpus) {
  if (gpus.count() != shape.gpu_count) return false;
  for (int gpu = 0; gpu < kMaxGpusPerNode; ++gpu) {
    if (gpus.contains(gpu) && node.free_gpu[static_cast<std::size_t>(gpu)] < shape.gpu_share.value)
      return false;
  }
  return true;
}

bool is_valid_choice(const NodeState& node, const Shape& shape, GpuMask gpus) {
  return fits(node, shape) && have_room(node, shape, gpus);
}

void take(NodeState& node, const Shape& shape, GpuMask gpus) {
  assert(is_valid_choice(node, shape, gpus) && "a placement must fit the node it is made on");
  occupy(node, shape, gpus);
}

void occupy(NodeState& node, const Shape& shape, GpuMask gpus) {
  node.free_cpu -= shape.cpu;
  node.free_memory -= shape.memory;
  if (shape.is_cpu_only()) return;
  for (unsigned bits = gpus.bits; bits != 0; bits &= bits - 1) {
    std::int16_t& free = node.free_gpu[static_cast<std::size_t>(std::countr_zero(bits))];
    free = static_cast<std::int16_t>(free - shape.gpu_share.value);
  }
  ++node.gpu_tasks[static_cast<std::size_t>(kind_of(shape))];
}

void give_back(NodeState& node, const Shape& shape, GpuMask gpus) {
  node.free_cpu += shape.cpu;
  node.free_memory += shape.memory;
  if (shape.is_cpu_only()) return;
  for (unsigned bits = gpus.bits; bits != 0; bits &= bits - 1) {
    std::int16_t& free = node.free_gpu[static_cast<std::size_t>(std::countr_zero(bits))];
    free = static_cast<std::int16_t>(free + shape.gpu_share.value);
    assert(free <= kWhole && "more was given back than taken");
  }
  --node.gpu_tasks[static_cast<std::size_t>(kind_of(shape))];
}

GpuMask first_whole_gpus(const NodeState& node, int count) {
  GpuMask mask;
  for (int gpu = 0; gpu < node.gpu_count && mask.count() < count; ++gpu) {
    if (node.free_gpu[static_cast<std::size_t>(gpu)] == kWhole) mask.insert(gpu);
  }
  return mask;
}

GpuMask tightest_gpus(const NodeState& node, const Shape& shape) {
  if (!shape.shares_gpu()) return first_whole_gpus(node, shape.gpu_count);
  int best = -1;
  for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
    const std::int16_t free = node.free_gpu[static_cast<std::size_t>(gpu)];
    if (free < shape.gpu_share.value) continue;
    if (best < 0 || free < node.free_gpu[static_cast<std::size_t>(best)]) best = gpu;
  }
  assert(best >= 0 && "the task must fit");
  GpuMask mask;
  mask.insert(best);
  return mask;
}

}  // namespace weir::schedule
