// SPDX-License-Identifier: Apache-2.0
//
// How long a search may go on: so many stages looked at (the same answer every time), until a moment (whatever the
// machine manages), or until somebody interrupts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace weir::plan {

class SearchBudget {
 public:
  using Clock = std::chrono::steady_clock;

  std::uint64_t evaluations = std::numeric_limits<std::uint64_t>::max();
  Clock::time_point deadline = Clock::time_point::max();
  const std::atomic<bool>* interrupted = nullptr;

  // One more stage is looked at. False once the search has to stop; it stays false.
  bool spend() {
    if (is_spent_) return false;
    ++used_;
    if (used_ >= evaluations || (used_ % kLookAtClock == 0 && is_late())) is_spent_ = true;
    return !is_spent_;
  }
  bool is_spent() const { return is_spent_; }
  std::uint64_t used() const { return used_; }

 private:
  static constexpr std::uint64_t kLookAtClock = 4096;
  bool is_late() const {
    return Clock::now() >= deadline ||
           (interrupted != nullptr && interrupted->load(std::memory_order_relaxed));
  }
  std::uint64_t used_ = 0;
  bool is_spent_ = false;
};

}  // namespace weir::plan
