// SPDX-License-Identifier: Apache-2.0
//
// What is left on one node: the view that feasibility, scores and fragmentation are computed from.
// One cache line, plain values, integers only.
#pragma once

#include <array>
#include <cstdint>

#include "domain/cluster.h"
#include "domain/gpu_model.h"
#include "domain/placement.h"
#include "domain/shape.h"
#include "domain/units.h"

namespace weir::schedule {

// Tasks of like GPU appetite: a share, 1, 2, 4 or 8 whole GPUs, or any other number of them.
enum class TaskKind : std::uint8_t { share, one, two, four, eight, other };
inline constexpr int kTaskKinds = 6;

// Requires: !shape.is_cpu_only().
TaskKind kind_of(const Shape& shape);

struct NodeState {
  MilliCpu free_cpu;
  Mebibytes free_memory;
  std::array<std::int16_t, kMaxGpusPerNode> free_gpu{};  // milli per GPU; 0 past gpu_count
  std::array<std::uint16_t, kTaskKinds> gpu_tasks{};     // running tasks per kind
  std::uint8_t gpu_count = 0;
  GpuModelId model = kNoGpuModel;
  bool is_up = true;

  int whole_free_gpus() const;
  MilliGpu free_gpu_total() const;

  friend bool operator==(const NodeState&, const NodeState&) = default;
};
static_assert(sizeof(NodeState) <= 64, "a node's state should stay within one cache line");

// A total order over states, to find equal ones. It has no other meaning.
struct StateOrder {
  bool operator()(const NodeState& a, const NodeState& b) const;
};

// The node with nothing on it.
NodeState empty_state(const Node& node);

// True when one task of that shape can start on the node now.
bool fits(const NodeState& node, const Shape& shape);

// Takes a task's resources. Requires: fits, and the mask names gpu_count GPUs with enough free.
// Requires: is_valid_choice.
void take(NodeState& node, const Shape& shape, GpuMask gpus);
// The same for what runs there whether it fits or not. Requires: the GPUs have that much free.
void occupy(NodeState& node, const Shape& shape, GpuMask gpus);
// Gives them back. Requires: taken before, with the same arguments.
void give_back(NodeState& node, const Shape& shape, GpuMask gpus);

// True when taking exactly these GPUs is allowed: the gate every proposal passes.
// These GPUs, as many as the shape asks for, have so much free; CPU and memory are not looked at.
bool have_room(const NodeState& node, const Shape& shape, GpuMask gpus);
bool is_valid_choice(const NodeState& node, const Shape& shape, GpuMask gpus);

// Common GPU choices. Requires: fits.
// The lowest-numbered GPUs that are entirely free.
GpuMask first_whole_gpus(const NodeState& node, int count);
// The GPU with the least free share that still fits, lowest number on ties; for whole-GPU tasks the
// first whole GPUs, for CPU-only tasks none.
GpuMask tightest_gpus(const NodeState& node, const Shape& shape);

}  // namespace weir::schedule
