// SPDX-License-Identifier: Apache-2.0
//
// GPUs over time as steps: from that moment on, so many. Free ones of the cluster, or those of a
// job.
#pragma once

#include <map>

#include "simulate/published/published_job.h"

namespace weir::simulate::published {

using Steps = std::map<Seconds, std::int32_t>;

// Leaves out steps that change nothing.
inline Steps merged(const Steps& steps) {
  Steps kept;
  std::int32_t last = -1;
  for (const auto& [time, gpus] : steps) {
    if (gpus == last) continue;
    kept.emplace_hint(kept.end(), time, gpus);
    last = gpus;
  }
  return kept;
}

}  // namespace weir::simulate::published
