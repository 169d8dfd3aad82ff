// SPDX-License-Identifier: Apache-2.0
//
// Whether all promises of a pool can be kept as things stand: the invariant behind every answer.
// For tests and for operators who want to know; no decision depends on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/core/training_state.h"

namespace weir::schedule {

struct Audit {
  std::vector<std::string> violations;  // empty when all is well
  std::int64_t promises = 0;            // looked at
};

// What is true after every decision:
//   - GPUs in use belong to one job each, are not closed, and are of a size the job may have;
//   - no two timelines want the same GPU at the same time;
//   - every promised job that is not known to be at risk meets its deadline by its timeline.
// Requires: called between decisions, at the time of the last.
Audit audit_promises(const TrainingState& state, const PoolState& pool, Time now);

}  // namespace weir::schedule
