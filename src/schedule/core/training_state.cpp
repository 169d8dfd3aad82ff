// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/training_state.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "schedule/energy/power_use.h"

namespace weir::schedule {
namespace {

TrainingJob& write(TrainingState& state, JobId job) {
  return state.jobs.at_for_write(TrainingState::position_of(job));
}

PoolState& pool_for(TrainingState& state, const TrainingJob& job) {
  return *state.find_pool(job.pool);
}

void activate(PoolState& pool, JobId job) {
  const auto at = std::lower_bound(pool.active.begin(), pool.active.end(), job);
  if (at == pool.active.end() || *at != job) pool.active.insert(at, job);
}

void deactivate(PoolState& pool, JobId job) {
  const auto at = std::lower_bound(pool.active.begin(), pool.active.end(), job);
  if (at != pool.active.end() && *at == job) pool.active.erase(at);
}

// Slots that are not GPUs, of nodes that are not there, or used by somebody else.
void close_what_is_not_ours(PoolState& pool, std::uint32_t node) {
  for (std::uint32_t slot = 0; slot < pool.pool->stride; ++slot) {
    const GpuBlock gpu{node * pool.pool->stride + slot, 1};
    const bool is_ours = static_cast<std::int32_t>(slot) < pool.pool->gpus[node] &&
                         pool.is_up[node] != 0 &&
                         !pool.foreign[node].contains(static_cast<int>(slot));
    if (is_ours && !pool.closed.is_free(gpu)) pool.closed.give_back(gpu);
    if (!is_ours && pool.closed.is_free(gpu)) pool.closed.take(gpu);
  }
}

// Blocks of several nodes need nodes that fill their stride.
std::uint32_t largest_block_of(const TrainingPool& pool) {
  std::int32_t most = 1;
  bool all_full = true;
  for (const std::int32_t gpus : pool.gpus) {
    most = std::max(most, gpus);
    all_full = all_full && static_cast<std::uint32_t>(gpus) == pool.stride;
  }
  return std::bit_floor(all_full ? pool.slots() : static_cast<std::uint32_t>(most));
}

// What it has done until now it did at its old rate. How much of its curve it does is seen anew: its
// speed was a share of the old curve.
void adopt(TrainingState& state, Time at, JobId id, const Curve& curve) {
  const TrainingJob& active = state.job(id);
  SizeTable sizes = size_table(curve, *active.spec, *state.pool_of(active).pool, state);
  if (sizes.empty()) return;  // it says nothing about the sizes this job may have
  TrainingJob& job = write(state, id);
  job.left = job.left_at(at);
  job.observed_at = at;
  job.sizes = std::make_shared<const SizeTable>(std::move(sizes));
  job.speed_permille = 1000;
}

// The job has so many more GPUs from now on, or fewer.
void count_usage(TrainingState& state, PoolState& pool, const TrainingJob& job, Time at,
                 std::int32_t by) {
  if (state.tenants) pool.usage[job.tenant].change(at, state.tenants->half_life, by);
}

// All that is kept of a job that is over.
TrainingJob over(const TrainingJob& job, TrainingPhase phase) {
  TrainingJob kept;
  kept.pool = job.pool;
  kept.phase = phase;
  kept.generation = job.generation;
  kept.energy = job.energy;
  return kept;
}

// Of the budgets nothing is used yet, and no price has been found.
void begin_anew(EnergyAccount& account) {
  account.budget = {};
  account.of_tenants.assign(account.terms ? account.terms->tenants.size() : 0, {});
}

// Who had a budget of the same time before goes on with it.
void go_on(EnergyAccount& account, const EnergyTerms& before) {
  std::vector<BudgetAccount> of_tenants(account.terms->tenants.size());
  for (std::size_t i = 0; i < of_tenants.size(); ++i) {
    if (const auto had = before.payer_of(account.terms->tenants[i].tenant))
      of_tenants[i] = account.of_tenants[*had];
  }
  account.of_tenants = std::move(of_tenants);
}

SeenWork seen_work(const EnergyTerms& terms, const TrainingSpec& spec) {
  const auto payer = terms.payer_of(spec.tenant);
  return {payer ? terms.tenants[*payer].tenant : std::string{}, spec.curve};
}

}  // namespace

IterationRate TrainingJob::rate() const {
  const int at = level();
  if (at == kPaused) return IterationRate{0};
  const IterationRate full = (*sizes)[static_cast<std::size_t>(at)].rate;
  return clocked_millionths == kAllMillionths ? full : clocked(full, clocked_millionths);
}

Work TrainingJob::left_at(Time time) const {
  const Time from = std::max(observed_at, ready_at);
  if (block.is_none() || time <= from) return left;
  const Work done = rate() * (time - from);
  if (done < left) return left - done;
  // It should be done, and nobody has said so: it is slower than believed.
  const Work all = work_of_iterations(spec->iterations);
  return std::min(left, Work{std::max<WideInteger>(1, all.femto_iterations / 100)});
}

Duration TrainingJob::running_at(Time time) const {
  return served.running + (block.is_none() ? Duration{0} : time - served.since);
}

std::int64_t TrainingJob::gpu_milliseconds_at(Time time) const {
  return served.gpu_milliseconds +
         (time - served.since) / std::chrono::milliseconds{1} * block.size;
}

const PoolState& TrainingState::pool_of(const TrainingJob& job) const {
  return *find_pool(job.pool);
}

PoolState* TrainingState::find_pool(PoolIndex pool) {
  for (PoolState& candidate : pools) {
    if (candidate.pool->id == pool) return &candidate;
  }
  return nullptr;
}

const PoolState* TrainingState::find_pool(PoolIndex pool) const {
  return const_cast<TrainingState*>(this)->find_pool(pool);
}

std::optional<PoolNetwork> TrainingState::network_of(const PoolState& pool) const {
  if (network == nullptr) return std::nullopt;
  for (const PoolFabric& fabric : network->fabrics) {
    if (fabric.pool != pool.pool->id) continue;
    const auto room = std::int64_t{fabric.leaves} * fabric.nodes_per_leaf;
    if (room < std::ssize(pool.pool->nodes)) return std::nullopt;
    return PoolNetwork{fabric, pool.pool->stride, network->hash_seed};
  }
  return std::nullopt;
}

TrainingState TrainingState::fork() {
  TrainingState copy;
  copy.rescale_cost = rescale_cost;
  copy.size_rule = size_rule;
  copy.pools = pools;
  copy.jobs = jobs.fork();
  copy.tenants = tenants;
  copy.energy = energy;
  copy.network = network;
  return copy;
}

TrainingPool make_training_pool(const Cluster& cluster, PoolIndex pool) {
  TrainingPool made;
  made.id = pool;
  std::int32_t most = 1;
  for (const Node& node : cluster.nodes) {
    if (node.pool != pool || node.gpu_count == 0) continue;
    made.nodes.push_back(node.id);
    made.gpus.push_back(node.gpu_count);
    most = std::max(most, node.gpu_count);
  }
  made.stride = std::bit_ceil(static_cast<std::uint32_t>(most));
  made.largest_block = largest_block_of(made);
  return made;
}

void add_closed_node(TrainingState& state, PoolIndex id, NodeId node, std::int32_t gpus) {
  PoolState& pool = *state.find_pool(id);
  TrainingPool larger = *pool.pool;
  assert(gpus <= static_cast<std::int32_t>(larger.stride) && "blocks would have to be renumbered");
  larger.nodes.push_back(node);
  larger.gpus.push_back(gpus);
  const std::uint32_t largest_before = larger.largest_block;
  larger.largest_block = largest_block_of(larger);
  const bool has_other_sizes = larger.largest_block != largest_before;
  pool.pool = std::make_shared<const TrainingPool>(std::move(larger));
  pool.is_up.push_back(0);
  pool.foreign.emplace_back();
  pool.closed = BlockMap{pool.pool->slots()};
  for (std::uint32_t at = 0; at < pool.pool->nodes.size(); ++at) close_what_is_not_ours(pool, at);
  if (!has_other_sizes) return;
  for (const JobId job_id : pool.active) {
    const TrainingJob& active = state.job(job_id);
    const auto curve = pool.curves.find(active.spec->curve);
    if (curve == pool.curves.end()) continue;
    SizeTable sizes = size_table(*curve->second, *active.spec, *pool.pool, state);
    // A size that it has, or is planned to have, stays one of its own.
    if (sizes.size() < active.sizes->size()) continue;
    if (active.speed_permille != 1000) sizes = at_speed(std::move(sizes), active.speed_permille);
    write(state, job_id).sizes = std::make_shared<const SizeTable>(std::move(sizes));
  }
}

TrainingState initial_training_state(const Cluster& cluster, SizeRule size_rule) {
  TrainingState state;
  state.size_rule = size_rule;
  state.rescale_cost = rescale_cost_for(cluster.gpu_count());
  for (std::uint32_t i = 0; i < cluster.pools.size(); ++i) {
    TrainingPool pool = make_training_pool(cluster, PoolIndex{i});
    if (pool.nodes.empty()) continue;
    PoolState made;
    made.closed = BlockMap{pool.slots()};
    made.is_up.assign(pool.nodes.size(), 1);
    made.foreign.assign(pool.nodes.size(), GpuMask{});
    made.pool = std::make_shared<const TrainingPool>(std::move(pool));
    for (std::uint32_t node = 0; node < made.pool->nodes.size(); ++node)
      close_what_is_not_ours(made, node);
    state.pools.push_back(std::move(made));
  }
  return state;
}

SizeTable size_table(const Curve& curve, const TrainingSpec& spec, const TrainingPool& pool,
                     const TrainingState& state) {
  SizeTable sizes;
  const auto add = [&](const CurvePoint& point) {
    const auto gpus = static_cast<std::uint32_t>(point.gpus);
    if (gpus > pool.largest_block || !std::has_single_bit(gpus)) return;
    sizes.push_back({point.gpus, point.rate, state.rescale_cost.full(gpus)});
  };
  if (spec.is_rigid) {
    if (const IterationRate rate = curve.rate_at(spec.asked_gpus); rate.value > 0)
      add({spec.asked_gpus, rate});
  } else if (state.size_rule == SizeRule::useful) {
    for (const CurvePoint& point : curve.useful()) add(point);
  } else {
    for (const CurvePoint& point : curve.measured()) add(point);
  }
  if (state.size_rule == SizeRule::asked && !sizes.empty()) {
    while (sizes.size() > 1 && sizes.back().gpus > spec.asked_gpus) sizes.pop_back();
    sizes.erase(sizes.begin(), sizes.end() - 1);
  }
  return sizes;
}

SizeTable at_speed(SizeTable sizes, std::int32_t permille) {
  for (SizeOption& size : sizes)
    size.rate = IterationRate{std::max<std::int64_t>(1, size.rate.value * permille / 1000)};
  return sizes;
}

std::optional<PoolNode> find_node(const TrainingState& state, NodeId id) {
  for (const PoolState& pool : state.pools) {
    for (std::uint32_t node = 0; node < pool.pool->nodes.size(); ++node) {
      if (pool.pool->nodes[node] == id) return PoolNode{pool.pool->id, node};
    }
  }
  return std::nullopt;
}

void evolve(TrainingState& state, Time at, const Reason&, const TrainingAccepted& record) {
  TrainingJob job;
  job.spec = record.spec;
  job.submitted = at;
  job.left = work_of_iterations(record.spec->iterations);
  job.observed_at = at;
  job.ready_at = at;
  job.served.since = at;
  job.pool = record.pool;
  job.phase = TrainingPhase::considered;
  if (state.tenants)
    job.tenant = static_cast<std::uint32_t>(state.tenants->index_of(record.spec->tenant));
  PoolState& pool = *state.find_pool(record.pool);
  const auto curve = pool.curves.find(record.spec->curve);
  if (curve == pool.curves.end()) {
    job.sizes = std::make_shared<const SizeTable>();
    job.phase = TrainingPhase::waits_for_curve;
  } else {
    job.sizes = std::make_shared<const SizeTable>(
        size_table(*curve->second, *record.spec, *pool.pool, state));
  }
  state.jobs.push_back(std::move(job));
  if (pool.arrivals_seen++ == 0) pool.first_arrival = at;
  if (state.energy.terms)
    pool.iterations_seen[seen_work(*state.energy.terms, *record.spec)] += record.spec->iterations;
  if (record.spec->deadline_kind == DeadlineKind::none) return;
  pool.arrivals.push_back({at, record.least_gpu_seconds, false});
  while (pool.arrivals.front().at + kArrivalMemory < at) pool.arrivals.pop_front();
}

void evolve(TrainingState& state, Time, const Reason&, const PromiseMade& record) {
  TrainingJob& job = write(state, record.job);
  job.phase = TrainingPhase::promised;
  job.is_provisional = false;
  job.timeline = record.timeline;
  activate(pool_for(state, job), record.job);
}

void evolve(TrainingState& state, Time, const Reason&, const PlannedProvisionally& record) {
  TrainingJob& job = write(state, record.job);
  job.phase = TrainingPhase::promised;
  job.is_provisional = true;
  job.timeline = record.timeline;
  activate(pool_for(state, job), record.job);
}

void evolve(TrainingState& state, Time, const Reason& reason, const TimelineRevised& record) {
  TrainingJob& job = write(state, record.job);
  job.timeline = record.timeline;
  if (reason.code == ReasonCode::back_on_plan) job.is_at_risk = false;
}

void evolve(TrainingState& state, Time, const Reason& reason, const PromiseRefused& record) {
  TrainingJob& job = write(state, record.job);
  job = over(job, TrainingPhase::refused);
  PoolState& pool = pool_for(state, job);
  const bool for_room = reason.code == ReasonCode::no_room || reason.code == ReasonCode::no_block;
  if (for_room && !pool.arrivals.empty()) pool.arrivals.back().was_refused_for_room = true;
}

void evolve(TrainingState& state, Time, const Reason&, const JobUnpromised& record) {
  TrainingJob& job = write(state, record.job);
  job.phase = TrainingPhase::unpromised;
  job.is_provisional = false;
  job.timeline = Timeline{};
  activate(pool_for(state, job), record.job);
}

void evolve(TrainingState& state, Time at, const Reason&, const JobResized& record) {
  count_energy(state, at);
  TrainingJob& job = write(state, record.job);
  job.left = job.spec->in_one_piece ? work_of_iterations(job.spec->iterations) : job.left_at(at);
  job.observed_at = at;
  job.served = {at, job.running_at(at), job.gpu_milliseconds_at(at)};
  count_usage(
      state, pool_for(state, job), job, at,
      static_cast<std::int32_t>(record.block.size) - static_cast<std::int32_t>(job.block.size));
  if (job.block != record.block) job.links = nullptr;
  job.block = record.block;
  job.clock_permille = kFullClock;
  job.clocked_millionths = kAllMillionths;
  job.generation = record.generation;
  job.is_ready = false;
  job.ready_at = record.block.is_none() ? at : at + state.rescale_cost.full(record.block.size);
}

void evolve(TrainingState& state, Time at, const Reason&, const JobObserved& record) {
  TrainingJob& job = write(state, record.job);
  job.left = record.left;
  job.observed_at = at;
  job.ready_at = record.ready_at;
  job.is_ready = record.ready_at <= at;
  if (job.speed_permille == record.speed_permille) return;
  // From the curve itself again: rounding must not add up.
  const PoolState& pool = pool_for(state, job);
  const SizeTable full = size_table(*pool.curves.at(job.spec->curve), *job.spec, *pool.pool, state);
  if (full.empty()) return;  // a curve it did not adopt
  job.sizes = std::make_shared<const SizeTable>(at_speed(full, record.speed_permille));
  job.speed_permille = record.speed_permille;
}

void evolve(TrainingState& state, Time, const Reason&, const PromiseAtRisk& record) {
  write(state, record.job).is_at_risk = true;
}

void evolve(TrainingState& state, Time at, const Reason&, const CurveAdopted& record) {
  PoolState& pool = *state.find_pool(record.pool);
  pool.curves[record.key] = record.curve;
  for (const JobId id : pool.active) {
    if (state.job(id).spec->curve == record.key) adopt(state, at, id, *record.curve);
  }
  for (std::size_t i = state.jobs.size(); i-- > 0;) {
    const TrainingJob& waiting = state.jobs[i];
    if (waiting.phase != TrainingPhase::waits_for_curve || waiting.spec->curve != record.key)
      continue;
    TrainingJob& job = state.jobs.at_for_write(i);
    job.pool = record.pool;
    job.sizes =
        std::make_shared<const SizeTable>(size_table(*record.curve, *job.spec, *pool.pool, state));
    job.phase = TrainingPhase::considered;
  }
}

void evolve(TrainingState& state, Time, const Reason&, const PoolNodeClosed& record) {
  PoolState& pool = *state.find_pool(record.pool);
  pool.is_up[record.node] = 0;
  close_what_is_not_ours(pool, record.node);
}

void evolve(TrainingState& state, Time, const Reason&, const PoolNodeOpened& record) {
  PoolState& pool = *state.find_pool(record.pool);
  pool.is_up[record.node] = 1;
  close_what_is_not_ours(pool, record.node);
}

void evolve(TrainingState& state, Time, const Reason&, const ForeignUseKnown& record) {
  PoolState& pool = *state.find_pool(record.pool);
  pool.foreign[record.node] = record.gpus;
  close_what_is_not_ours(pool, record.node);
}

void evolve(TrainingState& state, Time, const Reason&, const RescaleCostAdopted& record) {
  state.rescale_cost = {record.base, record.per_doubling};
}

// What tenants have used stays theirs, by name.
void evolve(TrainingState& state, Time at, const Reason&, const TenantsAdopted& record) {
  const auto before = std::exchange(state.tenants, record.table->empty() ? nullptr : record.table);
  const std::size_t count = state.tenants ? state.tenants->tenants.size() : 0;
  for (std::size_t i = 0; i < state.jobs.size(); ++i) {
    if (state.jobs[i].spec == nullptr) continue;  // it is over
    state.jobs.at_for_write(i).tenant =
        count == 0
            ? 0
            : static_cast<std::uint32_t>(state.tenants->index_of(state.jobs[i].spec->tenant));
  }
  for (PoolState& pool : state.pools) {
    std::vector<DecayedUsage> usage(count, DecayedUsage{at, 0, 0});
    for (std::size_t i = 0; before != nullptr && count > 0 && i < pool.usage.size(); ++i) {
      const std::size_t now = state.tenants->index_of(before->tenants[i].name);
      usage[now].gpu_milliseconds += pool.usage[i].at(at, before->half_life);
    }
    for (const JobId id : pool.active) {
      const TrainingJob& job = state.job(id);
      if (count > 0) usage[job.tenant].gpus += static_cast<std::int32_t>(job.block.size);
    }
    pool.usage = std::move(usage);
  }
}

void evolve(TrainingState& state, Time at, const Reason&, const ClockSet& record) {
  count_energy(state, at);
  TrainingJob& job = write(state, record.job);
  job.left = job.left_at(at);
  job.observed_at = at;
  job.clock_permille = record.clock_permille;
  job.clocked_millionths = record.rate_millionths;
}

void evolve(TrainingState& state, Time at, const Reason&, const EnergyPriceSet& record) {
  count_energy(state, at);
  EnergyAccount& account = state.energy;
  const auto payer = record.tenant.empty() ? std::nullopt : account.terms->payer_of(record.tenant);
  BudgetAccount& budget = payer ? account.of_tenants[*payer] : account.budget;
  budget.price_nanos = record.price_nanos;
  budget.expected_per_second = static_cast<double>(record.nano_units_per_second) / 1e9;
  budget.priced_at = at;
}

// Grams are not euros: what was counted in another unit is left behind.
void evolve(TrainingState& state, Time at, const Reason&, const SupplyAdopted& record) {
  count_energy(state, at);
  EnergyAccount& account = state.energy;
  if (account.supply != nullptr && account.kind != record.kind) {
    begin_anew(account);
    account.total.units = 0;
    for (auto& [name, use] : account.tenants) use.units = 0;
    for (std::size_t i = 0; i < state.jobs.size(); ++i) {
      if (state.jobs[i].energy.units != 0) state.jobs.at_for_write(i).energy.units = 0;
    }
  }
  account.kind = record.kind;
  account.supply = record.series;
}

// A budget of the same time goes on; any other begins with nothing used.
void evolve(TrainingState& state, Time at, const Reason&, const EnergyTermsAdopted& record) {
  count_energy(state, at);
  EnergyAccount& account = state.energy;
  const auto before = std::exchange(account.terms, record.terms);
  account.since = std::max(account.since, at);
  if (record.terms->pools.empty()) account.terms = nullptr;
  const bool goes_on = before != nullptr && account.terms != nullptr &&
                       before->from == account.terms->from && before->until == account.terms->until;
  if (goes_on) {
    go_on(account, *before);
  } else {
    begin_anew(account);
  }
  if (before != nullptr || account.terms == nullptr) return;
  for (PoolState& pool : state.pools) {
    pool.iterations_seen.clear();
    for (const JobId id : pool.active) {
      const TrainingSpec& spec = *state.job(id).spec;
      pool.iterations_seen[seen_work(*account.terms, spec)] += spec.iterations;
    }
  }
}

void evolve(TrainingState& state, Time at, const Reason&, const PowerTableAdopted& record) {
  count_energy(state, at);
  PoolState& pool = *state.find_pool(record.pool);
  pool.power[record.key] = record.table;
  if (record.origin == CurveOrigin::measured) {
    pool.measured_power.insert(record.key);
  } else {
    pool.measured_power.erase(record.key);
  }
}

// Links of another fabric are none of this one.
void evolve(TrainingState& state, Time, const Reason&, const NetworkTermsAdopted& record) {
  state.network = record.terms->fabrics.empty() ? nullptr : record.terms;
  for (const PoolState& pool : state.pools) {
    for (const JobId id : pool.active) {
      if (state.job(id).links != nullptr) write(state, id).links = nullptr;
    }
  }
}

void evolve(TrainingState& state, Time, const Reason&, const LinksGiven& record) {
  write(state, record.job).links = record.links;
}

void evolve(TrainingState& state, Time at, const Reason& reason, const JobReleased& record) {
  count_energy(state, at);
  TrainingJob& job = write(state, record.job);
  count_usage(state, pool_for(state, job), job, at, -static_cast<std::int32_t>(job.block.size));
  deactivate(pool_for(state, job), record.job);
  job = over(job, reason.code == ReasonCode::cancelled ? TrainingPhase::cancelled
                  : reason.code == ReasonCode::failed  ? TrainingPhase::failed
                                                       : TrainingPhase::finished);
}

}  // namespace weir::schedule
