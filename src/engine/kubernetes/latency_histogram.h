// SPDX-License-Identifier: Apache-2.0
//
// Counts of durations in buckets that grow by an eighth of their power of two: from a microsecond to an hour, each
// exact to 12.5 %; the last holds all that is longer. A plain value; who shares it locks it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "domain/time.h"

namespace weir::engine::kubernetes {

class LatencyHistogram {
 public:
  void add(Duration took) {
    ++counts_[bucket_of(took)];
    ++count_;
    sum_ += took;
    most_ = std::max(most_, took);
  }
  std::uint64_t count() const { return count_; }
  Duration sum() const { return sum_; }
  Duration most() const { return most_; }

  // The upper bound of the bucket in which that part of all durations ends; never more than the longest.
  // Requires: 0 < part <= 1.
  Duration quantile(double part) const {
    if (count_ == 0) return Duration{};
    const auto wanted =
        static_cast<std::uint64_t>(std::max(1.0, part * static_cast<double>(count_) + 0.999999));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i + 1 < kBuckets; ++i) {
      seen += counts_[i];
      if (seen >= wanted) return std::min(upper_bound(i), most_);
    }
    return most_;
  }
  // How many are certainly not longer than that: those in buckets that end there or before.
  std::uint64_t count_within(Duration limit) const {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i + 1 < kBuckets && upper_bound(i) <= limit; ++i) seen += counts_[i];
    return seen;
  }

 private:
  static constexpr int kSteps = 8;     // per power of two
  static constexpr int kOctaves = 33;  // of microseconds
  static constexpr std::size_t kBuckets = kSteps * kOctaves;

  // Values below 8 have a bucket each; above, three bits after the first choose the step.
  static std::size_t bucket_of(Duration took) {
    const std::int64_t nanoseconds = std::max<std::int64_t>(took.count(), 0);
    const auto value =
        static_cast<std::uint64_t>(nanoseconds) * kSteps / 1000;  // eighths of a microsecond
    if (value < kSteps) return static_cast<std::size_t>(value);
    const auto octave = static_cast<int>(std::bit_width(value)) - 4;  // value >> octave is in 8..15
    const std::size_t bucket = static_cast<std::size_t>(octave + 1) * kSteps +
                               static_cast<std::size_t>((value >> octave) - kSteps);
    return std::min(bucket, kBuckets - 1);
  }
  static Duration upper_bound(std::size_t bucket) {
    const std::uint64_t step = bucket % kSteps;
    const std::uint64_t octave = bucket / kSteps;
    const std::uint64_t eighths = octave == 0 ? step + 1 : (step + kSteps + 1) << (octave - 1);
    return Duration{static_cast<std::int64_t>(eighths * 1000 / kSteps)};
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  Duration sum_{};
  Duration most_{};
};

}  // namespace weir::engine::kubernetes
