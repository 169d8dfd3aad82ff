// SPDX-License-Identifier: Apache-2.0
//
// Fills GPUs that are in use first, then free GPUs of nodes in use, then idle nodes. CPU-only tasks
// go to the first node that fits. As in FGD's public simulator.
#pragma once

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class PackingPolicy final : public PlacementPolicy {
 public:
  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
};

}  // namespace weir::schedule
