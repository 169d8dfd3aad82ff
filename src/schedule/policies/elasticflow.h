// SPDX-License-Identifier: Apache-2.0
//
// ElasticFlow (Gu et al., ASPLOS 2023) as published, under the same rules as everyone: jobs are
// planned in order of deadlines with as few GPUs as their deadlines need, a job is admitted if all
// still fit, and left-over GPUs go one step at a time to the job whose plan gets cheapest per GPU.
// Its plans know nothing of what a rescale costs.
#pragma once

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

class ElasticFlowPolicy final : public TrainingPolicy {
 public:
  bool makes_promises() const override { return true; }
  Verdict judge(const PoolView& view, const TrainingJob& job) const override;
  Allocation allocate(const PoolView& view) const override;
};

}  // namespace weir::schedule
