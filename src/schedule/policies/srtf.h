// SPDX-License-Identifier: Apache-2.0
//
// Shortest remaining time first, on the GPUs asked for: whoever would finish soonest goes first, and
// interrupts those that would take longer. A start costs its price, so a job that runs gives way
// only to one that is shorter by more than that; otherwise equals would push each other out for
// ever. A job that does not fit is passed over.
//
// It knows how long every job takes, which tiresias and gandiva do not.
#pragma once

#include "schedule/policies/fixed_sizes.h"

namespace weir::schedule {

class SrtfPolicy final : public FixedSizePolicy {
 public:
  Allocation allocate(const PoolView& view) const override;
};

}  // namespace weir::schedule
