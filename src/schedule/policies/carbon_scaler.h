// SPDX-License-Identifier: Apache-2.0
//
// CarbonScaler (Hanafy et al., SIGMETRICS 2024) for many jobs: each has in each hour as many GPUs as
// its own plan for its own window says (energy/carbon_plan.h), made anew at every decision from the
// work that is left. Ours is what happens where plans do not fit beside each other (shifting.h): the
// paper is about one job with as many GPUs as it likes.
#pragma once

#include "schedule/policies/shifting.h"

namespace weir::schedule {

class CarbonScalerPolicy final : public ShiftingPolicy {
  int wanted_now(std::span<const PlannedSize> sizes, std::span<const PlannedSlot> slots,
                 double iterations) const override;
};

}  // namespace weir::schedule
