// SPDX-License-Identifier: Apache-2.0
//
// The unit that some policies measure CPU and GPU in: the largest node, and at least the 128 cores
// and 8 GPUs that the published policies take for granted.
#pragma once

#include <algorithm>
#include <cstdint>

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

struct LargestNode {
  std::int64_t cpu = 128'000;  // milli
  std::int64_t gpu = 8'000;    // milli

  static LargestNode of(const Outlook& outlook) {
    LargestNode largest;
    for (const NodeClass& node : outlook.node_classes) {
      largest.cpu = std::max(largest.cpu, node.empty.free_cpu.value);
      largest.gpu = std::max(largest.gpu, node.empty.free_gpu_total().value);
    }
    return largest;
  }
};

}  // namespace weir::schedule
