// SPDX-License-Identifier: Apache-2.0
#include "domain/supply_series.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

constexpr Duration kDay = std::chrono::hours{24};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

constexpr Duration kFarthest = Duration::max() / 4;
constexpr double kLargestValue = 1e12;

}  // namespace

bool is_sound_series(Time begin, Duration step, std::span<const double> per_kwh) {
  const Duration since = begin.time_since_epoch();
  if (per_kwh.empty() || step <= Duration{0} || since < -kFarthest || since > kFarthest)
    return false;
  if (static_cast<std::int64_t>(per_kwh.size()) > kFarthest / step) return false;
  return std::all_of(per_kwh.begin(), per_kwh.end(), [](double value) {
    return std::isfinite(value) && value >= 0 && value <= kLargestValue;
  });
}

SupplySeries::SupplySeries(Time begin, Duration step, std::vector<double> per_kwh)
    : begin_{begin}, step_{step}, per_kwh_{std::move(per_kwh)} {
  before_.reserve(per_kwh_.size() + 1);
  double sum = 0;
  before_.push_back(0);
  for (const double value : per_kwh_) before_.push_back(sum += value * to_seconds(step_));
}

double SupplySeries::at(Time time) const {
  const Duration known = end() - begin_;
  const Duration period = known >= kDay ? kDay : known;
  if (time < begin_) {
    time += period * -floor_divide((time - begin_).count(), period.count());
  } else if (time >= end()) {
    time -= period * (1 + (time - end()) / period);
  }
  return per_kwh_[static_cast<std::size_t>((time - begin_) / step_)];
}

double SupplySeries::until(Time time) const {
  const Duration known = end() - begin_;
  const Duration period = known >= kDay ? kDay : known;
  if (time < begin_) {  // whole periods of the first one, and a part of it
    const std::int64_t periods = -floor_divide((time - begin_).count(), period.count());
    return until(time + period * periods) - static_cast<double>(periods) * until(begin_ + period);
  }
  if (time > end()) {
    const std::int64_t periods = 1 + (time - end() - Duration{1}) / period;
    return until(time - period * periods) +
           static_cast<double>(periods) * (until(end()) - until(end() - period));
  }
  const std::int64_t steps = (time - begin_) / step_;
  const Duration rest = time - begin_ - step_ * steps;
  const auto at = static_cast<std::size_t>(steps);
  return before_[at] + (rest.count() == 0 ? 0 : per_kwh_[at] * to_seconds(rest));
}

double SupplySeries::integral(Time from, Time to) const {
  return until(to) - until(from);
}

double SupplySeries::mean(Time from, Time to) const {
  return from == to ? at(from) : integral(from, to) / to_seconds(to - from);
}

Time SupplySeries::next_step(Time time) const {
  return begin_ + step_ * (floor_divide((time - begin_).count(), step_.count()) + 1);
}

SupplySeries SupplySeries::shifted(Duration by) const {
  SupplySeries moved = *this;
  moved.begin_ += by;
  return moved;
}

}  // namespace weir
