// SPDX-License-Identifier: Apache-2.0
//
// Any node that fits and any GPU that fits, uniformly. The draw comes from the seed and the job's
// id, so the same job draws the same in every replay.
#pragma once

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class RandomPolicy final : public PlacementPolicy {
 public:
  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
  TieBreak tie_break() const override { return TieBreak::uniform; }
};

}  // namespace weir::schedule
