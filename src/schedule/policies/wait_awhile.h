// SPDX-License-Identifier: Apache-2.0
//
// Let's Wait Awhile (Wiesner et al., Middleware 2021), jobs that may be interrupted: each runs at its
// fastest in the cleanest hours of its window, as many as it still needs, and waits in the others.
// Ours is what happens where the jobs of one hour do not fit beside each other (shifting.h).
#pragma once

#include "schedule/policies/shifting.h"

namespace weir::schedule {

class WaitAwhilePolicy final : public ShiftingPolicy {
  int wanted_now(std::span<const PlannedSize> sizes, std::span<const PlannedSlot> slots,
                 double iterations) const override;
};

}  // namespace weir::schedule
