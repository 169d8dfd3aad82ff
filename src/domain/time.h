// SPDX-License-Identifier: Apache-2.0
//
// Time is integer nanoseconds, UTC, in simulation as in reality: exact, totally ordered, without
// drift from adding floats. Code that decides is given the time and never asks a clock.
#pragma once

#include <chrono>

namespace weir {

using Duration = std::chrono::duration<std::int64_t, std::nano>;
using Time = std::chrono::time_point<std::chrono::system_clock, Duration>;

constexpr Duration from_seconds(std::int64_t seconds) {
  return std::chrono::seconds{seconds};
}

// For reports only: a double must not decide.
constexpr double to_seconds(Duration d) {
  return std::chrono::duration<double>{d}.count();
}

}  // namespace weir
