// SPDX-License-Identifier: Apache-2.0
//
// The node with the least left after placing:
//   floor(100 (1 - c / 2 - g / 2))
// c, g: free CPU and GPU after placing, in units of the largest node (of 128 cores and 8 GPUs at
// least).
#pragma once

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class BestFitPolicy final : public PlacementPolicy {
 public:
  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
};

}  // namespace weir::schedule
