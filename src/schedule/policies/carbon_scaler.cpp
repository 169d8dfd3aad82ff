// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/carbon_scaler.h"

namespace weir::schedule {

int CarbonScalerPolicy::wanted_now(std::span<const PlannedSize> sizes,
                                   std::span<const PlannedSlot> slots, double iterations) const {
  return carbon_plan(sizes, slots, iterations).front();
}

}  // namespace weir::schedule
