// SPDX-License-Identifier: Apache-2.0
//
// How long a search may go on: so many stages looked at (the same answer every time), until a moment (whatever the
// machine manages), or until somebody interrupts. A search gives each of its phases a share of what is left.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace weir::plan {

// A search that has found a plan goes on for strictly better ones: times this, in doubles.
inline constexpr double kJustBelow = 1 - 1e-12;

class SearchBudget {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t evaluations = kUnlimited;
  Clock::time_point deadline = Clock::time_point::max();
  const std::atomic<bool>* interrupted = nullptr;

  // From now on a phase may use `share` of what is left.
  void begin_phase(double share) {
    is_phase_spent_ = is_over_;
    phase_evaluations_ = evaluations;
    phase_deadline_ = deadline;
    if (evaluations != kUnlimited) {
      const auto left = static_cast<double>(evaluations - std::min(evaluations, used_));
      phase_evaluations_ = used_ + static_cast<std::uint64_t>(left * share);
    }
    if (deadline != Clock::time_point::max()) {
      const auto now = Clock::now();
      const auto left = std::max(deadline - now, Clock::duration{0});
      phase_deadline_ = now + std::chrono::duration_cast<Clock::duration>(left * share);
    }
  }

  // One more stage is looked at. False once the phase has to stop.
  bool spend() {
    if (is_phase_spent_) return false;
    ++used_;
    if (used_ >= evaluations) is_over_ = true;
    if (used_ >= phase_evaluations_) is_phase_spent_ = true;
    if (used_ % kLookAtClock == 0) look_at_clock();
    is_phase_spent_ = is_phase_spent_ || is_over_;
    return !is_phase_spent_;
  }
  bool is_spent() const { return is_phase_spent_; }
  bool is_over() const { return is_over_; }
  std::uint64_t used() const { return used_; }

 private:
  static constexpr std::uint64_t kLookAtClock = 1024;

  void look_at_clock() {
    if (interrupted != nullptr && interrupted->load(std::memory_order_relaxed)) is_over_ = true;
    if (deadline == Clock::time_point::max()) return;
    const auto now = Clock::now();
    if (now >= deadline) is_over_ = true;
    if (now >= phase_deadline_) is_phase_spent_ = true;
  }

  std::uint64_t used_ = 0;
  std::uint64_t phase_evaluations_ = kUnlimited;
  Clock::time_point phase_deadline_ = Clock::time_point::max();
  bool is_phase_spent_ = false;
  bool is_over_ = false;
};

}  // namespace weir::plan
