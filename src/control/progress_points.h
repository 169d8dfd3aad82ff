// SPDX-License-Identifier: Apache-2.0
//
// How a job went on, as points in time: when it told something new, and when its GPUs changed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/ids.h"
#include "domain/time.h"

namespace weir::control {

struct ProgressPoint {
  JobId job;
  Time at;                // the scheduler's time where it is written, the wall clock's where read
  std::int64_t gpus = 0;  // from then on
  std::int64_t done = 0;  // iterations
  std::optional<double> rate;  // iterations per second; none when its GPUs have just changed
  std::optional<double> loss;
  friend bool operator==(const ProgressPoint&, const ProgressPoint&) = default;
};

// A job that has more is thinned out to about half as many.
inline constexpr std::size_t kMostProgressPoints = 600;

// The times of the points that go, so that the others lie about evenly over the job's whole time.
// The first, the last, and changes of GPUs stay; if there are too many changes, they are thinned out
// like the rest.
// Requires: points of one job in the order of their times.
std::vector<Time> points_to_drop(const std::vector<ProgressPoint>& points);

}  // namespace weir::control
