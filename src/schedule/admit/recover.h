// SPDX-License-Identifier: Apache-2.0
//
// When the world breaks a plan: GPUs are lost, or a job runs slower than its curve. What can be
// kept is planned anew; what cannot is said at once, with the time it can be expected now.
#pragma once

#include <optional>
#include <vector>

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

// From when on a job that runs should be done and nobody has said so: it is slower than believed, and
// stays silent. It is given a few seconds, if its deadline leaves them. Time::max() without GPUs.
// Of a job at risk: ten minutes after its new plan should have ended.
Time overdue_at(const TrainingJob& job);
// The same for a job that gets that block now.
Time overdue_at(const TrainingJob& job, GpuBlock block, Time now);

// A new timeline for a promised job that would miss its deadline, or be in others' way. Others may
// be planned anew for it.
std::vector<Mended> mend_job(const PoolView& view, JobId job);

// New timelines for all promised jobs of the pool, after its GPUs have changed.
std::vector<Mended> mend_pool(const PoolView& view);

}  // namespace weir::schedule
