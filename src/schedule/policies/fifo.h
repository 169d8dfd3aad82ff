// SPDX-License-Identifier: Apache-2.0
//
// First come, first served, on exactly the GPUs the user asked for. Nobody is moved or interrupted,
// not even from a node that is being drained; the first that does not fit holds back all behind it.
#pragma once

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

class FifoPolicy final : public TrainingPolicy {
 public:
  bool makes_promises() const override { return false; }
  SizeRule size_rule() const override { return SizeRule::asked; }
  Verdict judge(const PoolView& view, const TrainingJob& job) const override;
  Allocation allocate(const PoolView& view) const override;
};

}  // namespace weir::schedule
