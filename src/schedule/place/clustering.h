// SPDX-License-Identifier: Apache-2.0
//
// Keeps tasks of one kind (a share, 1, 2, 4, 8 GPUs) together, fullest node first. Score: 25 for
// the share of GPU in use, + 75 if the node has this kind only, + 50 if this kind among others, +
// 25 if it has no GPU task. CPU-only tasks go to the first node that fits. As in FGD's public
// simulator.
#pragma once

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class ClusteringPolicy final : public PlacementPolicy {
 public:
  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
};

}  // namespace weir::schedule
