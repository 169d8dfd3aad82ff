// SPDX-License-Identifier: Apache-2.0
//
// What a careful operator does against a carbon budget without a carbon price: no job gets more than
// so many GPUs, and no GPU runs faster than so much of its clock. Rivals of `green`.
#pragma once

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

class CappedPolicy : public TrainingPolicy {
 public:
  bool makes_promises() const final { return false; }
  Verdict judge(const PoolView&, const TrainingJob& job) const final {
    if (job.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
    return NoPromise{};
  }
};

// One size each, the shortest job first; then more where a GPU speeds a job up most.
class CappedElasticPolicy final : public CappedPolicy {
 public:
  Allocation allocate(const PoolView& view) const override;
};

// Each job on as many GPUs as make it faster, the shortest first.
class CappedSrtfPolicy final : public CappedPolicy {
 public:
  Allocation allocate(const PoolView& view) const override;
};

}  // namespace weir::schedule
