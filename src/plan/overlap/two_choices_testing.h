// SPDX-License-Identifier: Apache-2.0
//
// Small steps for tests of what is advised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "predict/overlap/overlap_step.h"

namespace weir::plan {

// 20 ms of computing and two choices, 2 and 8 CTAs: few are slower by `slower`, many let computing go on at
// `rate_many` beside them.
inline predict::OverlapStep two_choices(std::vector<predict::GradientGroup> groups, double slower,
                                        double rate_many) {
  return {predict::OverlapTimeline{{10, 10}, {{{1, 1}, {1, 1}}, {{rate_many, rate_many}, {1, 1}}}},
          std::move(groups),
          {2, 8},
          [slower](std::int64_t bytes, std::size_t choice) {
            return static_cast<double>(bytes) * (choice == 0 ? slower : 1);
          }};
}

}  // namespace weir::plan
