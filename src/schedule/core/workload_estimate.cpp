// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/workload_estimate.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace weir::schedule {

void WorkloadEstimate::observe(const Shape& requested, std::int32_t replicas) {
  const Shape shape = expected_shape(requested);
  const std::int64_t weight = kUnit * replicas;
  ++observed_;
  if (observed_ % kHalfLife == 0) {
    for (Entry& entry : entries_) entry.count /= 2;
    std::erase_if(entries_, [](const Entry& entry) { return entry.count == 0; });
  }
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.shape == shape; });
  if (known != entries_.end()) {
    known->count += weight;
  } else if (entries_.size() < kMaxShapes) {
    entries_.push_back(Entry{shape, weight, 0});
  } else {
    const auto rarest =
        std::min_element(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.count < b.count; });
    *rarest = Entry{shape, rarest->count + weight, 0};
  }
}

bool WorkloadEstimate::is_review_time() const {
  if (observed_ < kFirstReview) return false;
  return std::has_single_bit(static_cast<std::uint64_t>(observed_)) ||
         observed_ % kReviewInterval == 0;
}

bool WorkloadEstimate::has_drifted() const {
  if (last_published_ == 0) return true;
  __extension__ using Wide = __int128;
  Wide now = 0;
  Wide then = 0;
  for (const Entry& entry : entries_) {
    now += entry.count;
    then += entry.published;
  }
  // Half the sum of |p_now - p_then| is the share of popularity that moved.
  Wide moved = 0;
  for (const Entry& entry : entries_) {
    const Wide difference = entry.count * then - entry.published * now;
    moved += difference < 0 ? -difference : difference;
  }
  return moved * 1000 > 2 * kDriftPermille * now * then;
}

bool WorkloadEstimate::is_due() const {
  return is_review_time() && has_drifted();
}

TargetWorkload WorkloadEstimate::current() const {
  std::vector<ExpectedShape> counts;
  for (const Entry& entry : entries_) {
    // Whole submissions: large enough numbers to rank by, small enough never to overflow a score.
    counts.push_back(ExpectedShape{entry.shape, std::max<std::int64_t>(1, entry.count / kUnit)});
  }
  return make_target_workload(std::move(counts));
}

void WorkloadEstimate::mark_published() {
  for (Entry& entry : entries_) entry.published = entry.count;
  last_published_ = observed_;
}

}  // namespace weir::schedule
