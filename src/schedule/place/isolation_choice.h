// SPDX-License-Identifier: Apache-2.0
//
// Whether a job should have links of its own. A partition is worth having where sharing would slow
// the job down, and worth waiting for where the wait costs everybody in the queue less than sharing
// would: sharing makes this run longer, and holds GPUs that the queue needs.
#pragma once

#include <cstdint>

namespace weir::schedule {

// Sharing that costs less than this part of a run is not worth a partition.
inline constexpr double kNegligibleSlowdown = 0.01;

struct SharingQuestion {
  double slowdown = 0;      // of the job, if it shares: 0.1 is a tenth longer
  double run_seconds = 0;   // without it
  double fabric_share = 0;  // of all GPUs, that the job has
  std::int64_t behind = 0;  // jobs that wait after this one
  double wait_seconds = 0;  // until a partition is expected to be free
};

inline bool is_sharing_harmless(double slowdown) {
  return slowdown <= kNegligibleSlowdown;
}

// Requires: no partition is free now.
inline bool is_worth_waiting(const SharingQuestion& question) {
  const auto behind = static_cast<double>(question.behind);
  const double loss =
      question.slowdown * question.run_seconds * (1 + behind * question.fabric_share);
  return question.wait_seconds * (1 + behind) < loss;
}

}  // namespace weir::schedule
