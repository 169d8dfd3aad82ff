// SPDX-License-Identifier: Apache-2.0
#include "domain/timeline.h"

#include <algorithm>

namespace weir {

GpuBlock Timeline::block_at(Time time) const {
  if (time >= end) return kNoGpus;
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](Time t, const TimelineStep& step) { return t < step.from; });
  return after == steps.begin() ? kNoGpus : std::prev(after)->block;
}

Time Timeline::next_change(Time after) const {
  for (const TimelineStep& step : steps) {
    if (step.from > after) return std::min(step.from, end > after ? end : step.from);
  }
  return end > after ? end : Time::max();
}

}  // namespace weir
