// SPDX-License-Identifier: Apache-2.0
//
// Several placement policies at once, by weights: the sum of their scores on 0..100, as Kubernetes
// adds up those of its plugins. Scores that are 0..100 by themselves count as they are (FGD's), those
// that are relative are rescaled over the nodes that fit (PWR's). GPUs on the chosen node are taken as
// the policy with the largest weight would, the first of them where weights are equal: that is ours.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class BlendPolicy final : public PlacementPolicy {
 public:
  struct Part {
    const PlacementPolicy* policy = nullptr;
    std::int64_t weight = 1;
  };
  // Requires: not empty, weights above 0, policies that outlive it.
  explicit BlendPolicy(std::vector<Part> parts) : parts_{std::move(parts)} {}

  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
  bool uses_target() const override;

 private:
  std::vector<Part> parts_;
};

}  // namespace weir::schedule
