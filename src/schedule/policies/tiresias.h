// SPDX-License-Identifier: Apache-2.0
//
// Tiresias (Gu et al., NSDI 2019), in its form without knowledge of how long jobs take: what counts
// is the GPU-time a job has had (its GPUs x how long it had them). Three queues: a job begins in the
// first and is demoted when its GPU-time passes the queue's limit; it never comes back up. Earlier
// queues go first and interrupt later ones. Inside a queue nobody is interrupted, and those who wait
// go by arrival. A job that does not fit is passed over.
//
// The limits are those of the public simulator, 3250 and 7200 GPU-seconds. Starving jobs are not
// promoted, as by default there.
#pragma once

#include "schedule/policies/fixed_sizes.h"

namespace weir::schedule {

class TiresiasPolicy final : public FixedSizePolicy {
 public:
  Allocation allocate(const PoolView& view) const override;
};

}  // namespace weir::schedule
