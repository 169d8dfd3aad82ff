// SPDX-License-Identifier: Apache-2.0
//
// Tells a run that hangs from one that is slow. A run whose last step is much older than its steps
// usually are has failed, although its processes live: one of them waits for another that will never
// come. Before the first step there is nothing to compare with, and much more patience.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "domain/time.h"

namespace weir::engine {

class HangWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Duration kLeast = std::chrono::minutes{5};
  static constexpr Duration kLongestStart = std::chrono::minutes{30};
  static constexpr std::int64_t kStepsOfPatience = 10;

  // `asked`: how long without a step, as the user has it; none: ten times what a step takes, five
  // minutes at least. A save may always take twice as long as any before.
  HangWatch(std::optional<Duration> asked, Duration longest_save, Clock::time_point now)
      : asked_{asked}, longest_save_{longest_save}, last_{now} {}

  void on_step(std::int64_t step, Clock::time_point now);
  void on_save(Duration took, Clock::time_point now);

  Clock::time_point hangs_at() const { return last_ + patience(); }
  // "no step for 5m after step 120 (one takes 0.2s)"
  std::string explain() const;

 private:
  Duration patience() const;
  Duration typical_step() const;  // the median of the last ones

  std::optional<Duration> asked_;
  Duration longest_save_;
  Clock::time_point last_;  // sign of life
  Clock::time_point last_step_at_{};
  std::int64_t step_ = -1;  // -1: none yet
  std::array<Duration, 31> steps_{};
  std::size_t seen_ = 0;
};

}  // namespace weir::engine
