// SPDX-License-Identifier: Apache-2.0
//
// When a job without a promise can be expected to start and to finish, as things stand: after all
// promises, and after the jobs without one that come before it.
#pragma once

#include <optional>

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

struct Estimate {
  std::optional<Time> start;
  std::optional<Time> finish;
};

// Requires: the job is not part of the state and has sizes.
Estimate estimate(const PoolView& view, const TrainingJob& newcomer);

}  // namespace weir::schedule
