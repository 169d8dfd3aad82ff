// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/limit_saving.h"

namespace weir::predict {

std::optional<LimitSaving> limit_saving(const PowerSweep& sweep) {
  if (sweep.points.size() < kFewestSweepPoints) return std::nullopt;
  const SweepPoint& largest = sweep.points.back();
  const SweepPoint* best = &largest;
  for (auto at = sweep.points.rbegin(); at != sweep.points.rend(); ++at)
    if (at->joules() < best->joules()) best = &*at;
  return LimitSaving{best->limit_watts, 1 - best->joules() / largest.joules(),
                     best->seconds / largest.seconds - 1};
}

}  // namespace weir::predict
