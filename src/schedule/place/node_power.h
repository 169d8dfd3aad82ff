// SPDX-License-Identifier: Apache-2.0
//
// What a node draws by what runs on it, as Lettich et al. count it (CCGrid 2025, arXiv 2412.17484):
// a GPU its full power as soon as it has a task, its idle power otherwise; of the CPU sockets as many
// at full power as the busy cores fill, the others idle. Two virtual CPUs are one core. The constants
// are theirs (docs/models/energy.md), not measured by us. Memory, disks and fans are left out.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

// Whole watts, of one GPU and of one CPU socket.
struct HardwareWatts {
  std::int32_t gpu_idle = 0;
  std::int32_t gpu_full = 0;
  std::int32_t cpu_idle = 0;
  std::int32_t cpu_full = 0;
  std::int32_t cores = 1;  // of a socket
};

// Of nodes with GPUs of that model, by how its name begins; a model that is not in the table counts
// as an A100. Nodes without GPUs have no model's name: an empty one.
const HardwareWatts& hardware_watts(std::string_view gpu_model);

class NodePower {
 public:
  // `empty`: the nodes when nothing runs, by NodeIndex. Of others only the GPUs count.
  NodePower(const GpuSupply& supply, std::span<const NodeState> empty);

  std::int32_t watts(NodeIndex index, const NodeState& node) const;
  // How much more with one task of the shape, on GPUs that add least. Requires: fits.
  std::int32_t increase(NodeIndex index, const NodeState& node, const Shape& shape) const;

 private:
  const HardwareWatts& of(const NodeState& node) const;

  std::vector<HardwareWatts> by_model_;
  std::vector<MilliCpu> cpu_;  // of each node
};

}  // namespace weir::schedule
