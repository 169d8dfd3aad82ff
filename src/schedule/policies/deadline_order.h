// SPDX-License-Identifier: Apache-2.0
//
// What policies that plan in order of deadlines share.
#pragma once

#include <vector>

#include "schedule/admit/fill.h"
#include "schedule/core/training_state.h"
#include "schedule/policies/training_policy.h"

namespace weir::schedule {

// The active jobs of the pool, the earliest deadline first; jobs without one last, by age.
std::vector<JobId> by_deadline(const TrainingState& state, const PoolState& pool);

Time deadline_of(const TrainingJob& job);

JobToFill to_fill(const TrainingJob& job, Time now);

// GPUs for each job's size, all being movable. `order` and `gpus` go together.
std::vector<WantedBlock> place_in_order(const TrainingState& state, const PoolState& pool,
                                        const std::vector<JobId>& order,
                                        const std::vector<std::uint32_t>& gpus);

}  // namespace weir::schedule
