// SPDX-License-Identifier: Apache-2.0
//
// What the cluster draws, as decided: its jobs by size and clock, GPUs without a job on nodes that
// are awake, and the nodes themselves. A node without jobs is asleep.
#pragma once

#include <span>
#include <vector>

#include "schedule/core/training_state.h"

namespace weir::schedule {

// Of a job's GPUs at that size and clock, or as the nearest that its table knows draws for each GPU;
// nothing is known of a job without a table.
double job_watts(const PoolState& pool, const CurveKey& kind, std::uint32_t gpus,
                 std::int32_t clock_permille);

// With the site's overhead. Nothing where the terms do not speak of the pool.
double pool_watts(const TrainingState& state, const PoolState& pool);
// The same if these were its jobs.
struct PlacedJob {
  const TrainingJob* job = nullptr;
  GpuBlock block;
  std::int32_t clock_permille = kFullClock;
};
double pool_watts(const TrainingState& state, const PoolState& pool,
                  std::span<const PlacedJob> placed);

// What each job that has GPUs draws now, with its share, by its GPUs, of what the pool draws beside
// them; with the site's overhead. Together they are pool_watts, but for a pool without jobs.
struct JobDraw {
  JobId job;
  double watts = 0;
};
std::vector<JobDraw> job_draws(const TrainingState& state, const PoolState& pool);

// Adds what was used since the account was last brought up to date.
void count_energy(TrainingState& state, Time at);

// What the terms say of the pool; null if nothing.
const PoolPower* terms_of(const EnergyAccount& account, PoolIndex pool);

}  // namespace weir::schedule
