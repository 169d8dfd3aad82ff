// SPDX-License-Identifier: Apache-2.0
//
// Gandiva (Xiao et al., OSDI 2018): jobs that do not fit at once take turns. At the end of a slice
// those who wait go first, whoever has waited longest in front; of those who run, the ones that have
// run longest give way. So every job has the same part of the time, and jobs of each size together
// have GPUs in proportion to what they ask for. Who starts takes the GPUs of one of its own size
// where it can, so that jobs of one size share the same GPUs. Without anybody waiting there are no
// slices.
//
// Every switch costs a rescale here, so a slice is half an hour and not about a minute as in the
// paper: on four traces slices of 1, 5, 10, 20, 30 and 60 minutes met 1521, 1541, 1537, 1538, 1544
// and 1544 deadlines (docs/models/rivals.md).
//
// Not modelled: two jobs on one GPU at a time (there are no measured speeds for that), and growing
// or moving a job to see whether it gets faster (the curves say it beforehand).
#pragma once

#include "schedule/policies/fixed_sizes.h"

namespace weir::schedule {

class GandivaPolicy final : public FixedSizePolicy {
 public:
  Allocation allocate(const PoolView& view) const override;
};

}  // namespace weir::schedule
