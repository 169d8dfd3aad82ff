// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/green.h"

#include <algorithm>
#include <optional>

#include "schedule/energy/energy_pool.h"
#include "schedule/energy/energy_price.h"
#include "schedule/energy/promised_growth.h"

namespace weir::schedule {

namespace {

// The part of the pool that may be promised: a power cap may leave nodes out of it.
class LitPart {
 public:
  explicit LitPart(const PoolView& view) : view_{view}, config_{view.config} {
    config_.ablation = {};  // only weir has parts to leave out
    const std::int32_t nodes = nodes_under_cap(view);
    const TrainingPool& row = *view.pool.pool;
    if (nodes >= static_cast<std::int32_t>(row.nodes.size())) return;
    pool_.emplace(view.pool);
    const std::uint32_t before = pool_->closed.free_count();
    for (auto node = static_cast<std::uint32_t>(nodes); node < row.nodes.size(); ++node)
      pool_->closed.cover(row.block_of_node(node));
    unpromised_ = view.unpromised;
    unpromised_.apply(
        {{view.now, -static_cast<std::int32_t>(before - pool_->closed.free_count())}});
  }

  PoolView view() const {
    if (!pool_) return {view_.state, view_.pool, view_.unpromised, view_.now, config_};
    return {view_.state, *pool_, unpromised_, view_.now, config_};
  }

 private:
  const PoolView& view_;
  TrainingConfig config_;
  std::optional<PoolState> pool_;
  CapacityProfile unpromised_{Time{}, 0};
};

}  // namespace

Verdict GreenPolicy::judge(const PoolView& view, const TrainingJob& job) const {
  const LitPart lit{view};
  return promises_.judge(lit.view(), job);
}

std::vector<Mended> GreenPolicy::mend(const PoolView& view, JobId job) const {
  const LitPart lit{view};
  return promises_.mend(lit.view(), job);
}

std::vector<Mended> GreenPolicy::mend_all(const PoolView& view) const {
  const LitPart lit{view};
  return promises_.mend_all(lit.view());
}

Allocation GreenPolicy::allocate(const PoolView& view) const {
  EnergyPool pool{view};
  const EnergyPrices prices = energy_prices(view, pool);
  pool.set_least_prices(prices.least_prices());
  const PriceTerms terms = pool.terms(prices.cluster.seconds_per_unit);
  PriceChoice choice = choose_by_price(pool.jobs(), terms);
  const auto& wished = view.state.energy.terms;
  if (wished != nullptr && wished->when_spent == WhenSpent::pause) {
    for (std::size_t i = 0; i < choice.options.size(); ++i) {
      if (!pool.jobs()[i].must_run && prices.is_spent_for(pool.payer_of(pool.ids()[i])))
        choice.options[i] = kNoOption;
    }
  }
  Allocation allocation = pool.allocation(choice.options, choice.order, ReasonCode::at_this_price);
  if (!prices.cluster.is_spent && !terms.cap_watts)
    grow_promised(view, pool, terms, choice.gpu_price, allocation.blocks);
  allocation.energy_prices = price_records(view, pool, prices, allocation.blocks);
  allocation.wake_up = std::min(allocation.wake_up, next_promised_change(view, allocation));
  return allocation;
}

}  // namespace weir::schedule
