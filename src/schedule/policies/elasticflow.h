// SPDX-License-Identifier: Apache-2.0
//
// ElasticFlow (Gu et al., ASPLOS 2023) as published, under the same rules as everyone: jobs are
// planned in order of deadlines with as few GPUs as their deadlines need, a job is admitted if all
// still fit, and left-over GPUs go one step at a time to the job whose plan gets cheapest per GPU.
// Rescales are charged inside its plans as in ours; those it did not foresee are not, because it
// keeps no reserve and no timeline to return to.
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
