// SPDX-License-Identifier: Apache-2.0
//
// PWR (Lettich et al., CCGrid 2025): place each task where the node's power rises least, in whole
// watts (node_power.h). Their score is minus the increase, rescaled to 0..100 over the nodes that
// fit, which matters in blends (blend.h); by itself the least increase wins.
#pragma once

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class PwrPolicy final : public PlacementPolicy {
 public:
  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
};

}  // namespace weir::schedule
