// SPDX-License-Identifier: Apache-2.0
//
// What a job may have when no job gets more than so many GPUs and no GPU runs faster than so much of
// its clock.
#pragma once

#include <vector>

#include "schedule/energy/priced_options.h"
#include "schedule/policies/training_policy.h"

namespace weir::schedule {

// Of each size up to the cap the fastest clock that is allowed, as places in `options`, by ascending
// size. The least size is always allowed, and at each size the slowest clock.
std::vector<int> capped_options(const PricedOptions& options, const EnergyCaps& caps);

}  // namespace weir::schedule
