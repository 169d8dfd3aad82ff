// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/node_power.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace weir::schedule {
namespace {

struct HardwareRow {
  std::string_view model;  // as its name begins
  HardwareWatts watts;
};

constexpr HardwareWatts kLikeA100{50, 400, 20, 270, 32};  // Xeon 8369B
constexpr HardwareWatts kWithoutGpus{0, 0, 20, 205, 26};  // Xeon 8269CY

// The first that matches. The CPUs of nodes with an A10 are an assumption of ours.
constexpr std::array kHardware{
    HardwareRow{"A100", kLikeA100},
    HardwareRow{"G3", kLikeA100},
    HardwareRow{"A10", {30, 150, 20, 270, 32}},
    HardwareRow{"G2", {30, 150, 20, 270, 32}},
    HardwareRow{"V100", {30, 300, 20, 185, 16}},  // Xeon 6326
    HardwareRow{"P100", {25, 250, 15, 120, 16}},  // Xeon E5-2682 v4
    HardwareRow{"T4", {10, 70, 20, 165, 24}},     // Xeon 8163
};

constexpr std::int64_t kMilliCpuPerCore = 2000;

std::int32_t sockets_for(MilliCpu cpu, std::int32_t cores) {
  const std::int64_t socket = kMilliCpuPerCore * cores;
  return static_cast<std::int32_t>((std::max<std::int64_t>(cpu.value, 0) + socket - 1) / socket);
}

}  // namespace

const HardwareWatts& hardware_watts(std::string_view gpu_model) {
  if (gpu_model.empty()) return kWithoutGpus;
  const auto row = std::find_if(
      kHardware.begin(), kHardware.end(),
      [&](const HardwareRow& candidate) { return gpu_model.starts_with(candidate.model); });
  return row == kHardware.end() ? kLikeA100 : row->watts;
}

NodePower::NodePower(const GpuSupply& supply, std::span<const NodeState> empty) {
  for (const std::string& name : supply.names) by_model_.push_back(hardware_watts(name));
  for (const NodeState& node : empty) cpu_.push_back(node.free_cpu);
}

const HardwareWatts& NodePower::of(const NodeState& node) const {
  if (node.gpu_count == 0) return kWithoutGpus;
  return node.model.value < by_model_.size() ? by_model_[node.model.value] : kLikeA100;
}

std::int32_t NodePower::watts(NodeIndex index, const NodeState& node) const {
  const HardwareWatts& hardware = of(node);
  const int idle = node.whole_free_gpus();
  const MilliCpu cpu = index.value < cpu_.size() ? cpu_[index.value] : MilliCpu{0};
  const std::int32_t sockets = sockets_for(cpu, hardware.cores);
  const std::int32_t busy = std::min(sockets, sockets_for(cpu - node.free_cpu, hardware.cores));
  return idle * hardware.gpu_idle + (node.gpu_count - idle) * hardware.gpu_full +
         (sockets - busy) * hardware.cpu_idle + busy * hardware.cpu_full;
}

std::int32_t NodePower::increase(NodeIndex index, const NodeState& node, const Shape& shape) const {
  assert(fits(node, shape));
  NodeState after = node;
  take(after, shape, tightest_gpus(node, shape));
  return watts(index, after) - watts(index, node);
}

}  // namespace weir::schedule
