// SPDX-License-Identifier: Apache-2.0
//
// weir's own policy: deadlines that hold (docs/models/promises.md).
#pragma once

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

class WeirPolicy final : public TrainingPolicy {
 public:
  bool makes_promises() const override { return true; }
  Verdict judge(const TrainingState& state, const PoolState& pool, const TrainingJob& job, Time now,
                const TrainingConfig& config) const override;
  Allocation allocate(const TrainingState& state, const PoolState& pool, Time now,
                      const TrainingConfig& config) const override;
};

}  // namespace weir::schedule
