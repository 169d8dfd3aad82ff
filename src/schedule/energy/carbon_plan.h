// SPDX-License-Identifier: Apache-2.0
//
// When one job runs and on how many GPUs, so that its work is done within some hours for as little
// carbon (or money) as possible, whatever others do: CarbonScaler (Hanafy et al., SIGMETRICS 2024).
// Each step to the next size in each slot does so much more work for so many more units; steps are
// taken in the order of work per unit, each only after the smaller one in its slot, until the work
// is done. That is optimal where each size gains less per watt than the one before it, up to the
// last step, which may do more than was needed.
#pragma once

#include <span>
#include <vector>

#include "domain/supply_series.h"

namespace weir::schedule {

struct PlannedSize {
  double rate = 0;  // iterations per second
  double watts = 0;
};

struct PlannedSlot {
  double seconds = 0;
  double per_kwh = 0;
};

// Hours as the supply counts them; the first and the last may be cut short. Requires: not from after
// to.
std::vector<PlannedSlot> hourly_slots(const SupplySeries& supply, Time from, Time to);

// Of each slot: the place of its size, or kPaused. All slots at the last size where that is not
// enough. Requires: rates rise.
std::vector<int> carbon_plan(std::span<const PlannedSize> sizes, std::span<const PlannedSlot> slots,
                             double iterations);

}  // namespace weir::schedule
