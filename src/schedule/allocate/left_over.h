// SPDX-License-Identifier: Apache-2.0
//
// Who has which GPUs right now: first what the timelines say, then the GPUs nobody was promised,
// where they save most. Whoever gets more than it was promised can be sent back at any moment
// without breaking its promise: the way there and back is paid from its own surplus. Lent GPUs move
// on when somebody else makes much more of them.
//
// The ablation can leave the lending out: promised jobs then have what their timelines say, while
// jobs without a promise, and those whose promise cannot be kept, still run on what is left.
#pragma once

#include <vector>

#include "schedule/core/training_state.h"
#include "schedule/policies/training_policy.h"

namespace weir::schedule {

std::vector<WantedBlock> allocate_with_left_overs(const TrainingState& state, const PoolState& pool,
                                                  Time now, const Ablation& ablation = {});

}  // namespace weir::schedule
