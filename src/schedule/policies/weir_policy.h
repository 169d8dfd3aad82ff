// SPDX-License-Identifier: Apache-2.0
//
// weir's own policy: deadlines that hold (docs/models/promises.md).
#pragma once

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

// When a promised job's plan changes next, or it should be looked at.
Time next_promised_change(const PoolView& view, const Allocation& allocation);

class WeirPolicy final : public TrainingPolicy {
 public:
  bool makes_promises() const override { return true; }
  bool can_leave_parts_out() const override { return true; }
  Verdict judge(const PoolView& view, const TrainingJob& job) const override;
  Allocation allocate(const PoolView& view) const override;
  std::vector<Mended> mend(const PoolView& view, JobId job) const override;
  std::vector<Mended> mend_all(const PoolView& view) const override;
  std::vector<JobId> to_confirm(const PoolView& view) const override;
};

}  // namespace weir::schedule
