// SPDX-License-Identifier: Apache-2.0
//
// Learns the target workload from the submissions themselves: a count per shape that is halved
// every kHalfLife submissions, so old habits fade, over at most kMaxShapes shapes (a new shape
// replaces the rarest and inherits its count, so a heavy newcomer cannot be kept out).
//
// A new target costs the policies their prepared tables, so one is published only when the mix has
// drifted: is_due() is asked after every submission and looks at growing intervals.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/target_workload.h"

namespace weir::schedule {

class WorkloadEstimate {
 public:
  static constexpr std::size_t kMaxShapes = 512;
  static constexpr std::int64_t kHalfLife = 16'384;   // submissions
  static constexpr std::int64_t kDriftPermille = 40;  // of popularity that moved, before publishing
  static constexpr std::int64_t kFirstReview = 64;    // submissions; then at each doubling
  static constexpr std::int64_t kReviewInterval = 1'024;  // and at least this often

  // A job of `replicas` tasks of that shape came.
  void observe(const Shape& requested, std::int32_t replicas = 1);

  std::int64_t observed() const { return observed_; }

  // True when it is time to look and the mix has drifted from what was published last.
  bool is_due() const;
  TargetWorkload current() const;
  // Remembers the current mix as the published one.
  void mark_published();

  friend bool operator==(const WorkloadEstimate&, const WorkloadEstimate&) = default;

 private:
  struct Entry {
    Shape shape;
    std::int64_t count = 0;      // in units of 1/kUnit submissions
    std::int64_t published = 0;  // count when last published
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  static constexpr std::int64_t kUnit = 1 << 16;

  bool is_review_time() const;
  bool has_drifted() const;

  std::vector<Entry> entries_;  // in order of first appearance
  std::int64_t observed_ = 0;
  std::int64_t last_published_ = 0;  // observed_ then; 0 = never
};

}  // namespace weir::schedule
