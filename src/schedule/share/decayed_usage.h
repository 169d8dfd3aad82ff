// SPDX-License-Identifier: Apache-2.0
//
// GPU-time that counts half after a half-life, so that who had much yesterday waits today but not
// for ever. In whole numbers, because it decides: every machine must count the same. It decays in
// steps, 256 to a half-life, at fixed moments; how often it is asked does not change what it says.
#pragma once

#include <cstdint>

#include "domain/time.h"

namespace weir::schedule {

struct DecayedUsage {
  Time since;                         // when it was counted last
  std::int64_t gpu_milliseconds = 0;  // until then
  std::int32_t gpus = 0;              // in use from then on

  // Requires: not before `since`.
  std::int64_t at(Time time, Duration half_life) const;
  // So many more GPUs are in use from then on, or fewer.
  void change(Time time, Duration half_life, std::int32_t by);

  friend bool operator==(const DecayedUsage&, const DecayedUsage&) = default;
};

}  // namespace weir::schedule
