// SPDX-License-Identifier: Apache-2.0
//
// What the best power limit saves: the energy of an epoch under the limit that takes least, against
// the largest limit, and how much longer the epoch takes.
#pragma once

#include <cstddef>
#include <optional>

#include "domain/power_sweep.h"

namespace weir::predict {

struct LimitSaving {
  double best_limit_watts = 0;
  double energy_saved = 0;  // share of the energy at the largest limit
  double slowdown = 0;      // share of the time at the largest limit
};

// Two limits are no sweep: which is best would say nothing about those between.
inline constexpr std::size_t kFewestSweepPoints = 3;

// Nothing for fewer than kFewestSweepPoints. Of equal energies the larger limit is the best.
std::optional<LimitSaving> limit_saving(const PowerSweep& sweep);

}  // namespace weir::predict
