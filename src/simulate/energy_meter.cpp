// SPDX-License-Identifier: Apache-2.0
#include "simulate/energy_meter.h"

#include <algorithm>
#include <utility>

namespace weir::simulate {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;

std::int64_t table_milliwatts(const PowerTable& table, std::uint32_t gpus,
                              std::int32_t clock_permille) {
  for (const PowerPoint& point : table) {
    if (point.gpus == static_cast<std::int32_t>(gpus) && point.clock_permille == clock_permille)
      return point.milliwatts;
  }
  return 0;
}

double to_watts(std::int64_t milliwatts) {
  return static_cast<double>(milliwatts) / 1000;
}

}  // namespace

EnergyMeter::EnergyMeter(std::vector<Pool> pools, SupplySeries supply, Time begin)
    : pools_{std::move(pools)}, supply_{std::move(supply)}, since_{begin} {
  for (const Pool& pool : pools_) {
    Occupancy empty;
    empty.busy.assign(pool.gpus.size(), 0);
    for (std::size_t node = 0; node < pool.gpus.size(); ++node)
      empty.nodes_milliwatts += node_milliwatts(pool, node, 0);
    occupancies_.push_back(std::move(empty));
  }
  note(begin);
}

std::int64_t EnergyMeter::node_milliwatts(const Pool& pool, std::size_t node, std::int32_t busy) {
  return busy == 0
             ? pool.book.asleep_milliwatts
             : pool.book.node_milliwatts + (pool.gpus[node] - busy) * pool.book.idle_milliwatts;
}

double EnergyMeter::watts() const {
  double sum = 0;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    sum += to_watts(occupancies_[i].jobs_milliwatts + occupancies_[i].nodes_milliwatts) *
           pools_[i].book.overhead_permille / 1000;
  }
  return sum;
}

void EnergyMeter::advance(Time at) {
  if (at <= since_) return;
  const double seconds = to_seconds(at - since_);
  const double drawn = watts();
  outcome_.units += emitted(supply_, drawn, since_, at);
  outcome_.site_kwh += drawn * seconds / kJoulesPerKwh;
  for (const Occupancy& pool : occupancies_)
    outcome_.jobs_kwh += to_watts(pool.jobs_milliwatts) * seconds / kJoulesPerKwh;
  since_ = at;
}

void EnergyMeter::note(Time at) {
  const double drawn = watts();
  if (!outcome_.trace.empty() && outcome_.trace.back().at == at) {
    outcome_.trace.back().watts = drawn;
  } else if (outcome_.trace.empty() || outcome_.trace.back().watts != drawn) {
    outcome_.trace.push_back({at, drawn});
  }
}

void EnergyMeter::occupy(Holding& holding, std::int32_t sign) {
  const Pool& pool = pools_[holding.pool];
  Occupancy& occupancy = occupancies_[holding.pool];
  for (std::uint32_t at = holding.block.first; at < holding.block.end();) {
    const std::uint32_t node = at / pool.stride;
    const std::uint32_t until = std::min(holding.block.end(), (node + 1) * pool.stride);
    occupancy.nodes_milliwatts -= node_milliwatts(pool, node, occupancy.busy[node]);
    occupancy.busy[node] += sign * static_cast<std::int32_t>(until - at);
    occupancy.nodes_milliwatts += node_milliwatts(pool, node, occupancy.busy[node]);
    at = until;
  }
}

void EnergyMeter::set_power(Time at, Holding& holding, std::int64_t milliwatts) {
  holding.units += emitted(supply_, to_watts(holding.milliwatts), holding.since, at);
  holding.since = at;
  occupancies_[holding.pool].jobs_milliwatts += milliwatts - holding.milliwatts;
  holding.milliwatts = milliwatts;
}

void EnergyMeter::hold(Time at, std::size_t pool, JobId job, const CurveKey& kind, GpuBlock block) {
  advance(at);
  const auto [entry, is_new] = holdings_.try_emplace(job);
  Holding& holding = entry->second;
  if (is_new) {
    holding.pool = pool;
    holding.table = pools_[pool].book.find(kind);
    holding.since = at;
  }
  occupy(holding, -1);
  holding.block = block;
  holding.clock_permille = kFullClock;
  occupy(holding, 1);
  set_power(at, holding,
            holding.table == nullptr || block.is_none()
                ? 0
                : table_milliwatts(*holding.table, block.size, kFullClock));
  note(at);
}

void EnergyMeter::set_clock(Time at, JobId job, std::int32_t clock_permille) {
  Holding& holding = holdings_.at(job);
  advance(at);
  holding.clock_permille = clock_permille;
  if (holding.table != nullptr && !holding.block.is_none())
    set_power(at, holding, table_milliwatts(*holding.table, holding.block.size, clock_permille));
  note(at);
}

void EnergyMeter::release(Time at, JobId job) {
  const auto found = holdings_.find(job);
  if (found == holdings_.end()) return;
  advance(at);
  occupy(found->second, -1);
  found->second.block = kNoGpus;
  set_power(at, found->second, 0);
  note(at);
}

double EnergyMeter::units_of(JobId job) const {
  const auto found = holdings_.find(job);
  return found == holdings_.end() ? 0 : found->second.units;
}

EnergyOutcome EnergyMeter::outcome(Time end) {
  advance(end);
  for (const PowerStep& step : outcome_.trace)
    outcome_.peak_watts = std::max(outcome_.peak_watts, step.watts);
  return std::move(outcome_);
}

}  // namespace weir::simulate
