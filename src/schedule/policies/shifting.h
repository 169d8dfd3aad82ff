// SPDX-License-Identifier: Apache-2.0
//
// What rivals of `green` share that let each job choose its own hours: from its submission on it has
// a window of some multiple of its time at its fastest, and plans for itself what it wants now, as if
// it were alone. Where GPUs do not suffice the shortest job is served first; who finds less than it
// wants takes the largest smaller size that is left, or waits. A job past its window, or one where
// nothing is known of energy, wants all it can use.
#pragma once

#include <span>
#include <vector>

#include "schedule/energy/carbon_plan.h"
#include "schedule/policies/capped.h"

namespace weir::schedule {

class ShiftingPolicy : public CappedPolicy {
 public:
  Allocation allocate(const PoolView& view) const final;

 private:
  // What the job wants in the first slot: the place of a size, or kPaused. Requires: neither is
  // empty.
  virtual int wanted_now(std::span<const PlannedSize> sizes, std::span<const PlannedSlot> slots,
                         double iterations) const = 0;
};

}  // namespace weir::schedule
