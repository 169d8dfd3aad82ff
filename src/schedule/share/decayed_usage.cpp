// SPDX-License-Identifier: Apache-2.0
#include "schedule/share/decayed_usage.h"

#include <algorithm>

#include "domain/work.h"

namespace weir::schedule {
namespace {

constexpr std::int64_t kStepsPerHalfLife = 256;
constexpr int kFractionBits = 32;
constexpr std::uint64_t kWholeFraction = std::uint64_t{1} << kFractionBits;
constexpr std::uint64_t kFactor =
    4'283'353'945;  // of one step: 2^(-1/256), as a fraction of kWholeFraction

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<WideInteger>(a) * b >> kFractionBits);
}

// What is left of 1 after so many steps.
std::uint64_t factor_of(std::int64_t steps) {
  std::uint64_t result = kWholeFraction;
  for (std::uint64_t power = kFactor; steps > 0; steps /= 2) {
    if (steps % 2 == 1) result = times(result, power);
    power = times(power, power);
  }
  return result;
}

std::int64_t scaled(WideInteger value, std::uint64_t factor) {
  return static_cast<std::int64_t>(value * factor >> kFractionBits);
}

std::int64_t milliseconds(Duration duration) {
  return duration / std::chrono::milliseconds{1};
}

}  // namespace

std::int64_t DecayedUsage::at(Time time, Duration half_life) const {
  const Duration step = std::max(half_life / kStepsPerHalfLife, Duration{1});
  const auto step_of = [&](Time moment) {
    const std::int64_t count = moment.time_since_epoch() / step;
    return moment.time_since_epoch() < count * step ? count - 1 : count;  // rounded down
  };
  const std::int64_t first = step_of(since);
  const std::int64_t last = step_of(time);
  if (first == last) return gpu_milliseconds + gpus * milliseconds(time - since);
  const Time first_end{(first + 1) * step};
  const WideInteger before = gpu_milliseconds + gpus * milliseconds(first_end - since);
  // Whole steps in between, each decayed once for every step since: f + f^2 + ... + f^(n - 1).
  const std::uint64_t later = factor_of(last - first - 1);
  const WideInteger sum =
      static_cast<WideInteger>(kFactor) * (kWholeFraction - later) / (kWholeFraction - kFactor);
  const WideInteger between =
      static_cast<WideInteger>(gpus) * step.count() / 1'000'000 * sum >> kFractionBits;
  return scaled(before, times(later, kFactor)) + static_cast<std::int64_t>(between) +
         gpus * milliseconds(time - Time{last * step});
}

void DecayedUsage::change(Time time, Duration half_life, std::int32_t by) {
  gpu_milliseconds = at(time, half_life);
  since = time;
  gpus += by;
}

}  // namespace weir::schedule
