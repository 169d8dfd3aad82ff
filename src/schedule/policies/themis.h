// SPDX-License-Identifier: Apache-2.0
//
// Themis (Mahajan et al., NSDI 2020): finish-time fairness. A job's rho is the time it takes in the
// shared cluster over the time it would take on an equal share, 1/N of the GPUs for each of N jobs;
// a job that asks for more than that share would run that much slower on it. At the end of each
// round fair_shares() says what part of the time everybody should run so that the largest rho is
// least. Whoever has never run goes first, the larger share in front; then those whose share is
// largest in proportion to the part of their life they have run.
//
// Published is an auction of leases among users; this is the program behind it, solved for all
// jobs, and rounds by priority in the place of bids, as in the simulators that compare with it.
#pragma once

#include "schedule/policies/fixed_sizes.h"

namespace weir::schedule {

class ThemisPolicy final : public FixedSizePolicy {
 public:
  Allocation allocate(const PoolView& view) const override;
};

// What the job would take from its arrival to its finish on an equal share.
Duration time_on_equal_share(const PoolView& view, const TrainingJob& job);

}  // namespace weir::schedule
