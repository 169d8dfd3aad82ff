// SPDX-License-Identifier: Apache-2.0
//
// What the cluster draws, as decided: its jobs by size and clock, GPUs without a job on nodes that
// are awake, and the nodes themselves. A node without jobs is asleep.
#pragma once

#include "schedule/core/training_state.h"

namespace weir::schedule {

// Of the job's GPUs at that size and clock; nothing is known of a job without a table.
// Requires: the job is active.
double job_watts(const PoolState& pool, const TrainingJob& job);

// With the site's overhead. Nothing where the terms do not speak of the pool.
double pool_watts(const TrainingState& state, const PoolState& pool);

// Adds what was used since the account was last brought up to date.
void count_energy(TrainingState& state, Time at);

// What the terms say of the pool; null if nothing.
const PoolPower* terms_of(const EnergyAccount& account, PoolIndex pool);

}  // namespace weir::schedule
