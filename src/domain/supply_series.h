// SPDX-License-Identifier: Apache-2.0
//
// What a kilowatt-hour costs over time: grams of CO2 where it comes from the grid, or money. Constant
// from one step to the next; the grid's hours are steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "domain/time.h"

namespace weir {

// What a series may be made from: at least one value, all finite and not negative, in steps of more
// than no time; within the years that a Time can count.
bool is_sound_series(Time begin, Duration step, std::span<const double> per_kwh);

class SupplySeries {
 public:
  SupplySeries() = default;
  // Requires: is_sound_series.
  SupplySeries(Time begin, Duration step, std::vector<double> per_kwh);

  Time begin() const { return begin_; }
  Time end() const { return begin_ + step_ * static_cast<std::int64_t>(per_kwh_.size()); }
  Duration step() const { return step_; }
  const std::vector<double>& values() const { return per_kwh_; }
  bool empty() const { return per_kwh_.empty(); }

  // Outside of what is known it is as at the same time of the nearest known day; a series of less
  // than a day repeats whole.
  double at(Time time) const;
  // Exact: value times seconds, over [from, to). Requires: not from after to.
  double integral(Time from, Time to) const;
  // Of a moment, when both are the same.
  double mean(Time from, Time to) const;
  // When the value may change next; always after `time`.
  Time next_step(Time time) const;
  // The same values, so much later.
  SupplySeries shifted(Duration by) const;

  friend bool operator==(const SupplySeries& a, const SupplySeries& b) {
    return a.begin_ == b.begin_ && a.step_ == b.step_ && a.per_kwh_ == b.per_kwh_;
  }

 private:
  double until(Time time) const;  // the integral from begin_ to a time, negative before it

  Time begin_{};
  Duration step_ = std::chrono::hours{1};
  std::vector<double> per_kwh_;
  std::vector<double> before_;  // the integral up to each step
};

// Grams (or money) of a constant power between two times.
inline double emitted(const SupplySeries& supply, double watts, Time from, Time to) {
  return watts * supply.integral(from, to) / 3.6e6;
}

}  // namespace weir
