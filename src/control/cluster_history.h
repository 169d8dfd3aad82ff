// SPDX-License-Identifier: Apache-2.0
//
// The cluster's figures over time. A sample is taken every few seconds and goes into one row of each
// resolution: fine steps are kept for hours, coarse ones as long as the rest of the history. A row is
// the mean of its samples; what only ever grows has its last value. Rows begin at multiples of their
// step on the wall clock, so that a row goes on after a restart.
#pragma once

#include <array>
#include <cstdint>

#include "control/job_status.h"
#include "domain/time.h"

namespace weir::control {

// At one moment, or the mean over some time.
struct ClusterFigures {
  double gpus_up = 0;
  double gpus_in_use = 0;
  double gpus_fragmented = 0;
  double running = 0;      // jobs that have GPUs
  double waiting = 0;      // jobs that have none, and are not over
  double open = 0;         // promised, and not over
  double at_risk = 0;      // of the open ones
  PromiseCounts promises;  // since the store was made
  friend bool operator==(const ClusterFigures&, const ClusterFigures&) = default;
};

struct ClusterSample {
  Time at;  // on the wall clock
  ClusterFigures figures;
  Duration keep{0};  // how long the coarsest rows are kept
};

inline constexpr Duration kSampleEvery = std::chrono::seconds{5};

struct HistoryRow {
  std::int64_t at = 0;  // seconds since 1970: where its step begins
  std::int64_t samples = 0;
  ClusterFigures figures;
  friend bool operator==(const HistoryRow&, const HistoryRow&) = default;
};

// In seconds.
struct HistoryResolution {
  std::int64_t step = 0;
  std::int64_t kept_for = 0;
};
// From fine to coarse. No more than a year is kept, whatever is asked for.
std::array<HistoryResolution, 3> history_resolutions(Duration keep);

// The finest step that is kept for so long ago.
std::int64_t history_step_for(std::int64_t seconds);

// Where the step begins that has that time.
std::int64_t beginning_of_step(Time at, std::int64_t step);

// The sample is the latest of the row's.
void add_sample(HistoryRow& row, const ClusterFigures& sample);

}  // namespace weir::control
