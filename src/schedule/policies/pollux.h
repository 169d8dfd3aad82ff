// SPDX-License-Identifier: Apache-2.0
//
// Pollux (Qiao et al., OSDI 2021): every round, GPUs are shared anew among all jobs so that the power
// mean (p = -1) of their speed-ups over a fair share is largest, by a genetic search. A job whose
// size would change counts for less, by what changes have cost it in its life so far. The batch is
// the user's, so goodput is throughput. Knows no deadlines. docs/models/chronus-pollux.md.
#pragma once

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

class PolluxPolicy final : public TrainingPolicy {
 public:
  bool makes_promises() const override { return false; }
  Verdict judge(const PoolView& view, const TrainingJob& job) const override;
  Allocation allocate(const PoolView& view) const override;
};

}  // namespace weir::schedule
