// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/power_use.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace weir::schedule {

namespace {

std::vector<JobDraw> draws_of(const TrainingState& state, const PoolState& pool, double watts) {
  const PoolPower* power = terms_of(state.energy, pool.pool->id);
  std::vector<JobDraw> draws;
  if (power == nullptr) return draws;
  double busy = 0;
  double beside = watts;
  for (const JobId id : pool.active) {
    const TrainingJob& job = state.job(id);
    if (job.block.is_none()) continue;
    const double own = job_watts(pool, job.spec->curve, job.block.size, job.clock_permille) *
                       power->overhead_permille / 1000;
    draws.push_back({id, own});
    busy += job.block.size;
    beside -= own;
  }
  for (JobDraw& draw : draws) draw.watts += beside * state.job(draw.job).block.size / busy;
  return draws;
}

void use_up(BudgetAccount& budget, double units, Duration over) {
  budget.expected += budget.expected_per_second * to_seconds(over);
  budget.used += units;
  budget.paid += units * static_cast<double>(budget.price_nanos) / 1e9;
}

}  // namespace

double job_watts(const PoolState& pool, const CurveKey& kind, std::uint32_t gpus,
                 std::int32_t clock_permille) {
  const auto found = pool.power.find(kind);
  if (found == pool.power.end()) return 0;
  const auto wanted = static_cast<std::int32_t>(gpus);
  const PowerPoint* nearest = nullptr;
  const auto distance = [&](const PowerPoint& point) {
    return std::pair{std::abs(point.gpus - wanted),
                     std::abs(point.clock_permille - clock_permille)};
  };
  for (const PowerPoint& point : *found->second) {
    if (point.gpus == wanted && point.clock_permille == clock_permille)
      return static_cast<double>(point.milliwatts) / 1000;
    if (nearest == nullptr || distance(point) < distance(*nearest)) nearest = &point;
  }
  return nearest == nullptr
             ? 0
             : static_cast<double>(nearest->milliwatts) / 1000 * wanted / nearest->gpus;
}

const PoolPower* terms_of(const EnergyAccount& account, PoolIndex pool) {
  if (account.terms == nullptr) return nullptr;
  for (const PoolPower& power : account.terms->pools) {
    if (power.pool == pool) return &power;
  }
  return nullptr;
}

double pool_watts(const TrainingState& state, const PoolState& pool) {
  if (terms_of(state.energy, pool.pool->id) == nullptr) return 0;
  std::vector<PlacedJob> placed;
  for (const JobId id : pool.active) {
    const TrainingJob& job = state.job(id);
    if (!job.block.is_none()) placed.push_back({&job, job.block, job.clock_permille});
  }
  return pool_watts(state, pool, placed);
}

double pool_watts(const TrainingState& state, const PoolState& pool,
                  std::span<const PlacedJob> placed) {
  const PoolPower* power = terms_of(state.energy, pool.pool->id);
  if (power == nullptr) return 0;
  double watts = 0;
  std::vector<bool> is_awake(pool.pool->nodes.size());
  std::int64_t busy = 0;
  for (const PlacedJob& one : placed) {
    watts += job_watts(pool, one.job->spec->curve, one.block.size, one.clock_permille);
    busy += one.block.size;
    for (std::uint32_t node = pool.pool->node_of(one.block.first);
         node <= pool.pool->node_of(one.block.end() - 1); ++node)
      is_awake[node] = true;
  }
  std::int64_t awake = 0;
  std::int64_t gpus = 0;
  std::int64_t asleep = 0;
  for (std::size_t node = 0; node < is_awake.size(); ++node) {
    awake += is_awake[node] ? 1 : 0;
    gpus += is_awake[node] ? pool.pool->gpus[node] : 0;
    asleep += !is_awake[node] && pool.is_up[node] != 0 ? 1 : 0;
  }
  watts += static_cast<double>(awake * power->node_milliwatts + asleep * power->asleep_milliwatts +
                               (gpus - busy) * power->idle_milliwatts) /
           1000;
  return watts * power->overhead_permille / 1000;
}

std::vector<JobDraw> job_draws(const TrainingState& state, const PoolState& pool) {
  return draws_of(state, pool, pool_watts(state, pool));
}

void count_energy(TrainingState& state, Time at) {
  EnergyAccount& account = state.energy;
  if (account.terms == nullptr || at <= account.since) return;
  const Time from = std::max(account.since, account.terms->from);
  const double seconds = to_seconds(at - account.since);
  const double units_of_a_watt = emitted(*account.supply, 1, account.since, at);
  account.since = at;
  double units = 0;
  std::vector<double> tenant_watts(account.of_tenants.size());
  for (const PoolState& pool : state.pools) {
    const double watts = pool_watts(state, pool);
    if (at > from) units += emitted(*account.supply, watts, from, at);
    account.total.joules += watts * seconds;
    account.total.units += watts * units_of_a_watt;
    for (const JobDraw& draw : draws_of(state, pool, watts)) {
      TrainingJob& job = state.jobs.at_for_write(TrainingState::position_of(draw.job));
      for (EnergyUse* use : {&job.energy, &account.tenants[job.spec->tenant]}) {
        use->joules += draw.watts * seconds;
        use->units += draw.watts * units_of_a_watt;
      }
      if (const auto payer = account.terms->payer_of(job.spec->tenant))
        tenant_watts[*payer] += draw.watts;
    }
  }
  if (at <= from) return;
  use_up(account.budget, units, at - from);
  for (std::size_t i = 0; i < tenant_watts.size(); ++i)
    use_up(account.of_tenants[i], emitted(*account.supply, tenant_watts[i], from, at), at - from);
}

}  // namespace weir::schedule
