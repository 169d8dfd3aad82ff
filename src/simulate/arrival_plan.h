// SPDX-License-Identifier: Apache-2.0
//
// When the jobs of a churn run arrive and how long they run. The order and the run times of the
// trace are kept, run times capped at their 99th percentile; the gaps between arrivals are
// compressed so that the offered load (GPU work per time over GPU capacity) is what the caller asks
// for.
//
// One pass through a trace of a few thousand jobs is short against its longest run times: the
// cluster would never fill. So the trace is played over and over until the arrivals span twice the
// longest run time. The first half fills the cluster; measurements are taken over the second.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/time.h"
#include "domain/units.h"
#include "domain/workload.h"

namespace weir::simulate {

class ArrivalPlan {
 public:
  // Beyond these a run would take hours, or its times would not fit: see is_too_long().
  static constexpr std::int64_t kMostArrivals = 20'000'000;
  static constexpr Duration kLongestSpan = from_seconds(std::int64_t{50} * 365 * 86'400);

  // Requires: workload.has_timing(), load_percent > 0, capacity > 0.
  ArrivalPlan(const Workload& workload, MilliGpu capacity, int load_percent);

  // Every job once, when it came and as long as it ran. Requires: workload.has_timing().
  static ArrivalPlan as_recorded(const Workload& workload);

  std::size_t size() const { return first_pass_.size() * static_cast<std::size_t>(passes_); }
  // Position in workload.jobs of the n-th arrival.
  std::uint32_t job(std::size_t n) const { return first_pass_[n % first_pass_.size()].job; }
  Time arrival(std::size_t n) const;
  Duration run_time(std::size_t n) const { return first_pass_[n % first_pass_.size()].run_time; }

  Time measure_from() const { return Time{pass_length_ * (passes_ / 2)}; }
  Time measure_until() const { return Time{pass_length_ * passes_}; }
  std::int64_t passes() const { return passes_; }
  // No plan could be made: the longest run is too long against the GPU work of one pass, or the load too low.
  bool is_too_long() const { return is_too_long_; }

 private:
  ArrivalPlan() = default;
  void add_jobs(const Workload& workload);

  struct Arrival {
    std::uint32_t job = 0;
    Duration at{0};
    Duration run_time{0};
  };
  std::vector<Arrival> first_pass_;  // ordered by time
  Duration pass_length_{0};
  std::int64_t passes_ = 0;
  bool is_too_long_ = false;
};

// The smallest value that at least `percent` of the values do not exceed; 0 of nothing.
Duration percentile(std::vector<Duration> values, int percent);

}  // namespace weir::simulate
