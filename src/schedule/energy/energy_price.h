// SPDX-License-Identifier: Apache-2.0
//
// The price of energy at which each budget lasts: what was used, and what the work at hand and the work
// still to come will use at that price, are the budget. Found anew at every decision; it moves
// slowly, unless the budget would be overspent.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "schedule/energy/energy_pool.h"

namespace weir::schedule {

struct EnergyPrice {
  double seconds_per_unit = 0;
  bool is_spent = false;  // the budget, before its time is over
};

// A tenant with a budget of its own finds its own price, at which that lasts. Its jobs pay that or
// the cluster's, whichever is more: so both budgets last, and nobody else pays for the tenant's.
struct EnergyPrices {
  EnergyPrice cluster;                       // nothing where it has neither a price nor a budget
  std::vector<EnergyPrice> tenants;          // of EnergyTerms::tenants
  std::vector<double> least_prices() const;  // of the tenants

  bool is_spent_for(std::optional<std::size_t> payer) const {
    return cluster.is_spent || (payer && tenants[*payer].is_spent);
  }
};
EnergyPrices energy_prices(const PoolView& view, const EnergyPool& pool);

// For the log, and for the next prices: one for each budget. `wanted`: by ascending id.
std::vector<EnergyPriceSet> price_records(const PoolView& view, const EnergyPool& pool,
                                          const EnergyPrices& prices,
                                          const std::vector<WantedBlock>& wanted);

// The same for policies with caps: where on their path the budget lasts. In the log the place stands
// for a price, in billionths of a step.
struct CapPace {
  EnergyCaps caps;
  std::optional<double> place;  // on the path; none without a budget
};
CapPace cap_pace(const PoolView& view, const EnergyPool& pool);
std::vector<EnergyPriceSet> cap_records(const EnergyPool& pool, const CapPace& pace,
                                        const std::vector<int>& options);

}  // namespace weir::schedule
