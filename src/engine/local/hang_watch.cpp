// SPDX-License-Identifier: Apache-2.0
#include "engine/local/hang_watch.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace weir::engine {
namespace {

std::string in_seconds(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g s", static_cast<double>(duration.count()) / 1e9);
  return text.data();
}

}  // namespace

void HangWatch::on_step(std::int64_t step, Clock::time_point now) {
  if (step_ >= 0 && step > step_) {
    steps_[seen_ % steps_.size()] = (now - last_step_at_) / (step - step_);
    ++seen_;
  }
  step_ = std::max(step_, step);
  last_ = last_step_at_ = now;
}

void HangWatch::on_save(Duration took, Clock::time_point now) {
  longest_save_ = std::max(longest_save_, took);
  last_ = now;
}

Duration HangWatch::typical_step() const {
  auto steps = steps_;
  const std::size_t count = std::min(seen_, steps.size());
  if (count == 0) return Duration{0};
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(steps.begin(), middle, steps.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

Duration HangWatch::patience() const {
  if (step_ < 0) return std::max(kLongestStart, asked_.value_or(Duration{0}));
  const Duration wanted = asked_.value_or(std::max(kLeast, kStepsOfPatience * typical_step()));
  return std::max(wanted, 2 * longest_save_);
}

std::string HangWatch::explain() const {
  const std::string time = in_seconds(patience());
  if (step_ < 0) return "no first step for " + time + ": it hangs";
  return "no step for " + time + " after step " + std::to_string(step_) + ", one takes " +
         in_seconds(typical_step()) + ": it hangs";
}

}  // namespace weir::engine
