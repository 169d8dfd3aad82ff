// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/green.h"

#include <algorithm>

#include "schedule/energy/energy_pool.h"
#include "schedule/energy/energy_price.h"

namespace weir::schedule {

Verdict GreenPolicy::judge(const PoolView& view, const TrainingJob& job) const {
  const std::int32_t dark = gpus_over_cap(view);
  if (dark == 0) return promises_.judge(view, job);
  TrainingConfig config = view.config;
  config.reserve.gpus += dark;
  return promises_.judge({view.state, view.pool, view.unpromised, view.now, config}, job);
}

Allocation GreenPolicy::allocate(const PoolView& view) const {
  EnergyPool pool{view};
  const EnergyPrice price = energy_price(view, pool);
  PriceChoice choice = choose_by_price(pool.jobs(), pool.terms(price.seconds_per_unit));
  if (price.is_spent && view.state.energy.terms->when_spent == WhenSpent::pause) {
    for (std::size_t i = 0; i < choice.options.size(); ++i) {
      if (!pool.jobs()[i].must_run) choice.options[i] = kNoOption;
    }
  }
  Allocation allocation = pool.allocation(choice.options, choice.order, ReasonCode::at_this_price);
  allocation.energy_price = price_record(view, pool, price, choice.options);
  allocation.wake_up = std::min(allocation.wake_up, next_promised_change(view, allocation));
  return allocation;
}

}  // namespace weir::schedule
