// SPDX-License-Identifier: Apache-2.0
//
// Earliest deadline first: in order of deadlines, each job takes as many GPUs as it can use.
//
//   edf            any measured size, also where more GPUs are slower; promises nothing (as
//                  published with ElasticFlow, apart from its free rescales)
//   edf-knee       only sizes that help, and no change that does not pay; promises nothing
//   edf-admission  the same, and a job is admitted only if this order meets every deadline
#pragma once

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

class EdfPolicy final : public TrainingPolicy {
 public:
  bool makes_promises() const override { return false; }
  SizeRule size_rule() const override { return SizeRule::measured; }
  Verdict judge(const PoolView& view, const TrainingJob& job) const override;
  Allocation allocate(const PoolView& view) const override;
};

class EdfKneePolicy final : public TrainingPolicy {
 public:
  explicit EdfKneePolicy(bool admits) : admits_{admits} {}
  bool makes_promises() const override { return admits_; }
  Verdict judge(const PoolView& view, const TrainingJob& job) const override;
  Allocation allocate(const PoolView& view) const override;

 private:
  bool admits_;
};

}  // namespace weir::schedule
