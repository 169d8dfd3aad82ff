// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/energy_pool.h"

#include <algorithm>
#include <cmath>

#include "schedule/admit/slots.h"
#include "schedule/energy/power_use.h"

namespace weir::schedule {
namespace {

// The most that a node of the pool draws, in watts of the site.
double most_watts_per_node(const PoolView& view, const PoolPower& power) {
  double most = static_cast<double>(power.idle_milliwatts) / 1000;
  for (const auto& [key, table] : view.pool.power) {
    for (const PowerPoint& point : *table)
      most = std::max(most, static_cast<double>(point.milliwatts) / 1000 / point.gpus);
  }
  const auto& gpus = view.pool.pool->gpus;
  const std::int32_t per_node = *std::max_element(gpus.begin(), gpus.end());
  return (most * per_node + static_cast<double>(power.node_milliwatts) / 1000) *
         power.overhead_permille / 1000;
}

}  // namespace

std::int32_t nodes_under_cap(const PoolView& view) {
  const auto all = static_cast<std::int32_t>(view.pool.pool->nodes.size());
  const PoolPower* power = terms_of(view.state.energy, view.pool.pool->id);
  if (power == nullptr || !view.state.energy.terms->cap_milliwatts) return all;
  const double asleep =
      static_cast<double>(power->asleep_milliwatts) / 1000 * power->overhead_permille / 1000;
  const double each = most_watts_per_node(view, *power) - asleep;
  if (each <= 0) return all;
  const double cap = static_cast<double>(*view.state.energy.terms->cap_milliwatts) / 1000;
  const double nodes = std::max(0.0, std::floor((cap - all * asleep) / each));
  return static_cast<std::int32_t>(std::min<double>(all, nodes));
}

EnergyPool::EnergyPool(const PoolView& view)
    : view_{view},
      power_{terms_of(view.state.energy, view.pool.pool->id)},
      closed_{view.pool.closed} {
  const Duration longest =
      view.state.energy.terms ? view.state.energy.terms->longest_pause : Duration::max();
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    const GpuBlock promised = job.is_promised() ? job.timeline.block_at(view.now) : kNoGpus;
    const bool is_held = job.spec->in_one_piece && !job.block.is_none();
    if (!promised.is_none() || is_held) {
      const GpuBlock block = promised.is_none() ? job.block : promised;
      fixed_.push_back({id, block, {ReasonCode::as_promised, 0}});
      closed_.take(block);
      continue;
    }
    // In a pause of its plan a promised job may run as others do: what it does now it need not do
    // later. One that would begin anew waits for its turn.
    if (job.is_promised() && job.spec->in_one_piece && !job.is_at_risk) continue;
    if (job.sizes->empty()) continue;
    ids_.push_back(id);
  }
  held_options_.reserve(fixed_.size());
  for (const WantedBlock& fixed : fixed_) hold(fixed);
  options_.reserve(ids_.size());
  for (const JobId id : ids_) {
    const TrainingJob& job = view.state.job(id);
    options_.push_back(priced_options(view.pool, job, power_));
    const bool has_waited = job.block.is_none() && view.now - job.served.since >= longest;
    jobs_.push_back({&options_.back(), to_iterations(job.left_at(view.now)), has_waited,
                     static_cast<std::int32_t>(job.block.size)});
  }
}

void EnergyPool::hold(const WantedBlock& fixed) {
  const TrainingJob& job = view_.state.job(fixed.job);
  const int level = level_of(*job.sizes, fixed.block.size);
  if (level == kPaused) return;
  const double rate =
      static_cast<double>((*job.sizes)[static_cast<std::size_t>(level)].rate.value) / 1e6;
  PricedOptions options;
  for (const PricedOption& option : priced_options(view_.pool, job, power_)) {
    const bool is_it = option.gpus == static_cast<std::int32_t>(fixed.block.size) &&
                       option.clock_permille == kFullClock;
    const bool is_faster = option.gpus > static_cast<std::int32_t>(fixed.block.size) &&
                           option.rate >= rate && !job.spec->in_one_piece;
    if (is_it || is_faster) options.push_back(option);
  }
  if (options.empty()) return;
  held_ids_.push_back(fixed.job);
  held_options_.push_back(std::move(options));
  held_.push_back({&held_options_.back(), to_iterations(job.left_at(view_.now)), true,
                   static_cast<std::int32_t>(job.block.size)});
}

std::optional<std::size_t> EnergyPool::payer_of(JobId job) const {
  const auto& terms = view_.state.energy.terms;
  return terms == nullptr ? std::nullopt : terms->payer_of(view_.state.job(job).spec->tenant);
}

void EnergyPool::set_least_prices(std::span<const double> by_payer) {
  const auto set = [&](const std::vector<JobId>& ids, std::vector<PricedJob>& jobs) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto payer = payer_of(ids[i]);
      jobs[i].least_price = payer ? by_payer[*payer] : 0;
    }
  };
  if (by_payer.empty()) return;
  set(ids_, jobs_);
  set(held_ids_, held_);
}

PriceTerms EnergyPool::terms(double price) const {
  PriceTerms terms;
  terms.price = price;
  terms.gpus = static_cast<std::int32_t>(closed_.free_count());
  terms.now = view_.now;
  const auto& gpus = view_.pool.pool->gpus;
  terms.gpus_per_node = std::max(1, *std::max_element(gpus.begin(), gpus.end()));
  if (power_ == nullptr) return terms;
  const double overhead = power_->overhead_permille / 1e6;
  terms.node_watts = static_cast<double>(power_->node_milliwatts) * overhead;
  terms.idle_watts = static_cast<double>(power_->idle_milliwatts) * overhead;
  if (view_.state.energy.terms->cap_milliwatts) {
    const double cap = static_cast<double>(*view_.state.energy.terms->cap_milliwatts) / 1000;
    terms.cap_watts = std::max(0.0, cap - site_watts(fixed_));
  }
  terms.supply = view_.state.energy.supply.get();
  return terms;
}

double EnergyPool::site_watts(const std::vector<WantedBlock>& wanted) const {
  double watts = 0;
  for (const PoolState& pool : view_.state.pools) {
    if (&pool != &view_.pool) {
      watts += pool_watts(view_.state, pool);
      continue;
    }
    std::vector<PlacedJob> placed;
    for (const WantedBlock& want : wanted)
      placed.push_back({&view_.state.job(want.job), want.block, want.clock_permille});
    watts += pool_watts(view_.state, pool, placed);
  }
  return watts;
}

NodeRow EnergyPool::nodes() const {
  const TrainingPool& pool = *view_.pool.pool;
  NodeRow row{power_ == nullptr ? 1 : pool.stride, std::vector<bool>(pool.nodes.size())};
  for (const WantedBlock& fixed : fixed_) {
    for (std::uint32_t slot = fixed.block.first; slot < fixed.block.end(); ++slot)
      row.is_awake[pool.node_of(slot)] = true;
  }
  return row;
}

Allocation EnergyPool::allocation(const std::vector<int>& options,
                                  const std::vector<std::size_t>& order, ReasonCode reason) const {
  std::vector<PackedWish> wishes;
  wishes.reserve(order.size());
  for (const std::size_t i : order) {
    const TrainingJob& job = view_.state.job(ids_[i]);
    if (options[i] == kNoOption) {
      wishes.push_back({job.block, 0, true});
      continue;
    }
    const PricedOption& option = options_[i][static_cast<std::size_t>(options[i])];
    const bool is_long = jobs_[i].left / option.rate >= to_seconds(kEnergyEpoch);
    wishes.push_back({job.block, static_cast<std::uint32_t>(option.gpus), is_long});
  }
  const std::vector<GpuBlock> blocks = places_on_few_nodes(wishes, closed_, nodes());
  Allocation allocation;
  allocation.blocks = fixed_;
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (blocks[place].is_none()) continue;
    const std::size_t i = order[place];
    const PricedOption& option = options_[i][static_cast<std::size_t>(options[i])];
    allocation.blocks.push_back(
        {ids_[i], blocks[place], {reason, 0}, option.clock_permille, option.clocked_millionths});
  }
  if (power_ != nullptr && view_.state.energy.terms->cap_milliwatts) {
    const double cap = static_cast<double>(*view_.state.energy.terms->cap_milliwatts) / 1000;
    while (allocation.blocks.size() > fixed_.size() && site_watts(allocation.blocks) > cap)
      allocation.blocks.pop_back();
  }
  std::sort(allocation.blocks.begin(), allocation.blocks.end(),
            [](const WantedBlock& a, const WantedBlock& b) { return a.job < b.job; });
  if (!ids_.empty()) allocation.wake_up = slot_after(view_.now + Duration{1}, kEnergyEpoch);
  return allocation;
}

}  // namespace weir::schedule
