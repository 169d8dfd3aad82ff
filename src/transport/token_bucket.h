// SPDX-License-Identifier: Apache-2.0
//
// A rate with a burst: tokens come in evenly up to a most, every request takes one.
#pragma once

#include <algorithm>
#include <chrono>

namespace weir::transport {

// So many per second in the long run, so many at once. per_second 0: no limit.
struct RateLimit {
  double per_second = 0;
  double at_once = 0;  // taken as 1 when it is less
};

class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  TokenBucket(RateLimit limit, Clock::time_point now)
      : limit_{limit.per_second, std::max(limit.at_once, 1.0)},
        tokens_{limit_.at_once},
        then_{now} {}

  bool is_limited() const { return limit_.per_second > 0; }

  bool take(Clock::time_point now) {
    if (!is_limited()) return true;
    const double passed = std::chrono::duration<double>(now - then_).count();
    tokens_ = std::min(limit_.at_once, tokens_ + std::max(passed, 0.0) * limit_.per_second);
    then_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  // Until there is a token again, in whole seconds, at least one.
  long wait_seconds() const {
    constexpr double kLongest = 3600;
    const double wait = is_limited() ? (1 - tokens_) / limit_.per_second : 0;
    return static_cast<long>(std::clamp(wait, 0.0, kLongest)) + 1;
  }

 private:
  RateLimit limit_;
  double tokens_;
  Clock::time_point then_;
};

}  // namespace weir::transport
