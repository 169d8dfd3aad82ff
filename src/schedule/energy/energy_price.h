// SPDX-License-Identifier: Apache-2.0
//
// The price of energy at which a budget lasts: what was used, and what the work at hand and the work
// still to come will use at that price, are the budget. Found anew at every decision; it moves
// slowly, unless the budget would be overspent.
#pragma once

#include <optional>

#include "schedule/energy/energy_pool.h"

namespace weir::schedule {

struct EnergyPrice {
  double seconds_per_unit = 0;
  bool is_spent = false;  // the budget, before its time is over
};

// Nothing where there is neither a price nor a budget.
EnergyPrice energy_price(const PoolView& view, const EnergyPool& pool);

// For the log, and for the next price. Nothing without a budget. `wanted`: by ascending id.
std::optional<EnergyPriceSet> price_record(const PoolView& view, const EnergyPool& pool,
                                           const EnergyPrice& price,
                                           const std::vector<WantedBlock>& wanted);

// The same for policies with caps: where on their path the budget lasts. In the log the place stands
// for a price, in billionths of a step.
struct CapPace {
  EnergyCaps caps;
  std::optional<double> place;  // on the path; none without a budget
};
CapPace cap_pace(const PoolView& view, const EnergyPool& pool);
std::optional<EnergyPriceSet> cap_record(const EnergyPool& pool, const CapPace& pace,
                                         const std::vector<int>& options);

}  // namespace weir::schedule
