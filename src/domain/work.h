// SPDX-License-Identifier: Apache-2.0
//
// How much training there is to do, and how fast it goes. Rates are whole micro-iterations per
// second and times whole nanoseconds, so their product counts in units of 1e-15 iterations and is
// exact in 128 bits: progress never drifts and nothing is rounded until a finish time is wanted,
// which is rounded up, against the promise.
#pragma once

#include <compare>
#include <cstdint>

#include "domain/quantity.h"
#include "domain/time.h"

namespace weir {

__extension__ using WideInteger = __int128;

using IterationRate =
    Quantity<struct IterationRateTag, std::int64_t>;  // micro-iterations per second

struct Work {
  WideInteger femto_iterations = 0;

  friend constexpr auto operator<=>(const Work&, const Work&) = default;
  friend constexpr Work operator+(Work a, Work b) {
    return Work{a.femto_iterations + b.femto_iterations};
  }
  friend constexpr Work operator-(Work a, Work b) {
    return Work{a.femto_iterations - b.femto_iterations};
  }
  constexpr Work& operator+=(Work other) {
    femto_iterations += other.femto_iterations;
    return *this;
  }
  constexpr Work& operator-=(Work other) {
    femto_iterations -= other.femto_iterations;
    return *this;
  }
};

inline constexpr WideInteger kFemtoPerIteration = 1'000'000'000'000'000;

constexpr Work work_of_iterations(std::int64_t iterations) {
  return Work{kFemtoPerIteration * iterations};
}

constexpr Work operator*(IterationRate rate, Duration time) {
  return Work{static_cast<WideInteger>(rate.value) * time.count()};
}

// The least time in which `rate` does the work. Requires: rate > 0 and work >= 0. Saturates at the
// longest Duration.
constexpr Duration time_for(Work work, IterationRate rate) {
  const WideInteger time = (work.femto_iterations + rate.value - 1) / rate.value;
  constexpr auto kMost = Duration::max().count();
  return Duration{time > kMost ? kMost : static_cast<std::int64_t>(time)};
}

// For reports only: a double must not decide.
constexpr double to_iterations(Work work) {
  return static_cast<double>(work.femto_iterations) / 1e15;
}

}  // namespace weir
