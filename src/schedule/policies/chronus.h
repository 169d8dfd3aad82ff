// SPDX-License-Identifier: Apache-2.0
//
// Chronus (Gao et al., SoCC 2021): jobs of the size their users asked for, time cut into leases, and
// a deadline is promised only if there is a timetable of leases that meets it beside all others.
// A lease is kept until it ends. Leases nobody needs for a promise go to promised jobs in order of
// deadlines, then to the others, the shortest first. docs/models/chronus-pollux.md.
#pragma once

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

class ChronusPolicy final : public TrainingPolicy {
 public:
  bool makes_promises() const override { return true; }
  SizeRule size_rule() const override { return SizeRule::asked; }
  Verdict judge(const PoolView& view, const TrainingJob& job) const override;
  Allocation allocate(const PoolView& view) const override;
};

}  // namespace weir::schedule
