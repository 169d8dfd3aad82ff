// SPDX-License-Identifier: Apache-2.0
//
// The sizes a job may have in a pool, what it does at each, and what it costs to get there.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "domain/curve.h"
#include "domain/time.h"

namespace weir::schedule {

// What a change of GPUs costs a job: it makes no progress for that long. A rank set that was used
// before is cheaper to form again, but nobody may count on it: plans use full().
struct RescaleCost {
  Duration base = from_seconds(2);
  Duration per_doubling = from_seconds(2);

  Duration known(std::uint32_t) const { return base; }
  Duration full(std::uint32_t gpus) const {
    return base + per_doubling * (std::bit_width(gpus));  // log2 + 1
  }
  friend bool operator==(const RescaleCost&, const RescaleCost&) = default;
};

// The base cost is larger in large clusters.
constexpr RescaleCost rescale_cost_for(std::int64_t gpus_in_cluster) {
  return {from_seconds(gpus_in_cluster >= 256 ? 7 : 2), from_seconds(2)};
}

struct SizeOption {
  std::int32_t gpus = 0;
  IterationRate rate;
  Duration price;  // to get to this size, from any other or from nothing
  friend bool operator==(const SizeOption&, const SizeOption&) = default;
};

// Ascending in size and rate.
using SizeTable = std::vector<SizeOption>;

inline constexpr int kPaused = -1;  // the level of a job without GPUs

// The level of that many GPUs; kPaused for 0. Requires: otherwise the table has it.
inline int level_of(const SizeTable& sizes, std::uint32_t gpus) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].gpus == static_cast<std::int32_t>(gpus)) return static_cast<int>(i);
  }
  return kPaused;
}

}  // namespace weir::schedule
