// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/green.h"

#include <algorithm>

#include "schedule/energy/energy_pool.h"
#include "schedule/energy/energy_price.h"

namespace weir::schedule {

Allocation GreenPolicy::allocate(const PoolView& view) const {
  EnergyPool pool{view};
  const EnergyPrice price = energy_price(view, pool);
  const PriceChoice choice = choose_by_price(pool.jobs(), pool.terms(price.seconds_per_unit));
  Allocation allocation = pool.allocation(choice.options, choice.order, ReasonCode::at_this_price);
  allocation.energy_price = price_record(view, pool, price, choice.options);
  allocation.wake_up = std::min(allocation.wake_up, next_promised_change(view, allocation));
  return allocation;
}

}  // namespace weir::schedule
