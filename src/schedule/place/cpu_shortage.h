// SPDX-License-Identifier: Apache-2.0
//
// Free GPU on a node that lacks the CPU to serve it. With rho the expected CPU per GPU (demand of
// all expected tasks, CPU-only ones included) and T the free GPU share of a node:
//
//   shortage = max(0, T - free CPU / rho)          in milli-GPU
//
// Placing a task changes it: one that takes much CPU strands GPU, one that takes much GPU relieves.
#pragma once

#include <algorithm>
#include <cstdint>

#include "domain/target_workload.h"
#include "schedule/node_state.h"

namespace weir::schedule {

__extension__ using WideProduct = __int128;

class CpuShortage {
 public:
  static constexpr std::int64_t kUnitsPerMilli = 16;  // results are in 1/16 milli-GPU

  explicit CpuShortage(const TargetWorkload& target) {
    if (target.cpu_demand.value <= 0) return;
    expects_cpu_ = true;
    const WideProduct served =
        (static_cast<WideProduct>(target.gpu_demand.value) << kFractionBits) * kUnitsPerMilli /
        target.cpu_demand.value;
    served_per_cpu_ = static_cast<std::int64_t>(std::min<WideProduct>(served, kMaxServed));
  }

  // Shortage after placing one task minus shortage before.
  std::int64_t increase(const NodeState& node, const Shape& shape) const {
    if (!expects_cpu_) return 0;
    const std::int64_t free = node.free_gpu_total().value;
    return shortage(free - shape.gpu_total().value, node.free_cpu.value - shape.cpu.value) -
           shortage(free, node.free_cpu.value);
  }

 private:
  static constexpr int kFractionBits = 20;
  static constexpr std::int64_t kMaxServed = std::int64_t{1} << 40;

  std::int64_t shortage(std::int64_t free_gpu, std::int64_t free_cpu) const {
    // CPU beyond kMaxCpu counts as kMaxCpu: the product stays below 2^63.
    const std::int64_t served = (std::min(free_cpu, kMaxCpu) * served_per_cpu_) >> kFractionBits;
    return std::max<std::int64_t>(0, free_gpu * kUnitsPerMilli - served);
  }
  static constexpr std::int64_t kMaxCpu = std::int64_t{1} << 22;  // four thousand cores

  bool expects_cpu_ = false;         // otherwise none is ever short
  std::int64_t served_per_cpu_ = 0;  // 1/16 milli-GPU per milli-CPU, fixed point
};

}  // namespace weir::schedule
