// SPDX-License-Identifier: Apache-2.0
//
// GPUs beyond what a job was promised for now, where energy is cheap enough: on GPUs that nobody
// else is to have, at the size and clock that cost least at these prices, and never slower than the
// promise needs. Whoever has more can be sent back at any moment without breaking its promise.
#pragma once

#include "schedule/energy/energy_pool.h"

namespace weir::schedule {

// `wanted` has the blocks of all jobs; those of promised jobs are those of their plans.
void grow_promised(const PoolView& view, const EnergyPool& pool, const PriceTerms& terms,
                   double gpu_price, std::vector<WantedBlock>& wanted);

}  // namespace weir::schedule
