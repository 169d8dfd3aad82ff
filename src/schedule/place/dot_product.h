// SPDX-License-Identifier: Apache-2.0
//
// The node whose free resources align least with the request:
//   floor(100 (1 - (c c' + g g') / 2))
// c, g: free CPU and GPU of the node, c', g': what the task asks, in units of the largest node (of
// 128 cores and 8 GPUs at least). As in FGD's public simulator; Tetris prefers the largest product
// instead.
#pragma once

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class DotProductPolicy final : public PlacementPolicy {
 public:
  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
};

}  // namespace weir::schedule
