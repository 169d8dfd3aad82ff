// SPDX-License-Identifier: Apache-2.0
//
// FGD's score of a gain d (in milli-GPU of fragment removed): floor(100 sigmoid(d / 1000)), 0..99.
// The coarse steps are part of the published policy: near 0 one point is 40 milli-GPU, and finer
// scores place worse (docs/models/fragmentation.md). Gains come as integers D = W d and are
// compared with integer thresholds, so no floating point decides.
#pragma once

#include <array>
#include <cstdint>

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class SigmoidScale {
 public:
  explicit SigmoidScale(std::int64_t total_weight);

  // floor(100 / (1 + exp(-weighted_gain / (1000 total_weight)))). A total weight of 0 scores 50.
  Score score(std::int64_t weighted_gain) const {
    const auto& steps = thresholds_;
    int level = weighted_gain >= 0 ? kMiddle : 0;
    for (int stride = 32; stride > 0; stride /= 2) {
      const int next = level + stride;
      if (next < kLevels && steps[static_cast<std::size_t>(next)] <= weighted_gain) level = next;
    }
    return static_cast<Score>(level);
  }

 private:
  static constexpr int kLevels = 100;
  static constexpr int kMiddle = 50;
  // thresholds_[s]: the least weighted gain that scores s.
  std::array<std::int64_t, kLevels> thresholds_{};
};

}  // namespace weir::schedule
