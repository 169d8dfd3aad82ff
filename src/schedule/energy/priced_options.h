// SPDX-License-Identifier: Apache-2.0
//
// What a job may have when energy has a price: sizes and clocks of which none is worse than another
// in every respect.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/core/training_state.h"

namespace weir::schedule {

struct PricedOption {
  std::int32_t gpus = 0;
  std::int32_t clock_permille = kFullClock;
  std::int64_t clocked_millionths = kAllMillionths;  // of the rate at this size
  double rate = 0;                                   // iterations per second
  double watts = 0;                                  // of its GPUs, with the site's overhead
};
using PricedOptions = std::vector<PricedOption>;

// Those that no other matches with as few GPUs, as few watts and as high a rate.
PowerTable undominated(const PowerTable& table);

// By size, then by clock. A job of which no table is known has its sizes at the full clock, at no
// watts. Empty only where the job has no sizes.
PricedOptions priced_options(const PoolState& pool, const TrainingJob& job, const PoolPower* power);

}  // namespace weir::schedule
