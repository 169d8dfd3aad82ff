// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/decide_training.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "schedule/admit/gate.h"
#include "schedule/admit/promises.h"
#include "schedule/admit/recover.h"
#include "schedule/energy/priced_options.h"
#include "schedule/place/network_placement.h"

namespace weir::schedule {
namespace {

bool is_well_formed(const TrainingSpec& spec, Time now) {
  if (spec.iterations < 1 || spec.asked_gpus < 1) return false;
  if (spec.deadline_kind == DeadlineKind::none) return true;
  return spec.margin >= Duration{0} && spec.margin < spec.deadline - now;
}

constexpr std::int32_t kNoisePermille = 5;

// The better of two answers from different pools: a promise, then a place without one, then the
// earlier counter-offer.
bool is_better(const Verdict& a, const Verdict& b) {
  if (a.index() != b.index()) return a.index() < b.index();
  const auto* refused_a = std::get_if<Refusal>(&a);
  const auto* refused_b = std::get_if<Refusal>(&b);
  if (refused_a == nullptr || !refused_a->earliest) return false;
  return !refused_b->earliest || *refused_a->earliest < *refused_b->earliest;
}

// Whether a job at risk is expected at another time than was announced: by more than ten minutes, and
// by more than a tenth of the time until then.
bool is_another_time(const Mended& after, Time announced, Time now) {
  constexpr Duration kAtLeast = from_seconds(600);
  if (after.expected_finish <= now) return false;  // nobody knows
  const Duration off = after.expected_finish < announced ? announced - after.expected_finish
                                                         : after.expected_finish - announced;
  return off > std::max(kAtLeast, (after.expected_finish - now) / 10);
}

}  // namespace

PoolView TrainingDecision::view(std::size_t pool) const {
  return {state_, state_.pools[pool], index_.unpromised(pool), now_, config_};
}

TrainingJob TrainingDecision::candidate(const PoolState& pool,
                                        std::shared_ptr<const TrainingSpec> spec) const {
  TrainingJob job;
  job.sizes = std::make_shared<const SizeTable>(
      size_table(*pool.curves.at(spec->curve), *spec, *pool.pool, state_));
  job.left = work_of_iterations(spec->iterations);
  job.spec = std::move(spec);
  job.submitted = job.observed_at = job.ready_at = job.served.since = now_;
  job.pool = pool.pool->id;
  job.phase = TrainingPhase::considered;
  if (state_.tenants)
    job.tenant = static_cast<std::uint32_t>(state_.tenants->index_of(job.spec->tenant));
  return job;
}

void TrainingDecision::operator()(const TrainingSubmitted& event) {
  if (!is_well_formed(event.spec, now_)) {
    return add(EventIgnored{}, {ReasonCode::malformed, 0});
  }
  const auto spec = std::make_shared<const TrainingSpec>(event.spec);
  const PoolState* chosen = nullptr;
  std::optional<Verdict> verdict;
  std::int64_t cost = 0;
  for (std::size_t i = 0; i < state_.pools.size(); ++i) {
    const PoolState& pool = state_.pools[i];
    if (!pool.curves.contains(spec->curve)) continue;
    const TrainingJob job = candidate(pool, spec);
    Verdict answer = policy_.judge(view(i), job);
    if (verdict && !is_better(answer, *verdict)) continue;
    if (job.has_deadline()) cost = least_gpu_seconds(*job.sizes, job.left, spec->deadline - now_);
    chosen = &pool;
    verdict = std::move(answer);
    if (std::holds_alternative<Promise>(*verdict)) break;
  }
  if (chosen == nullptr) {
    const PoolIndex pool = state_.pools.front().pool->id;
    return add(TrainingAccepted{next_job_, spec, pool, 0}, {ReasonCode::waits_for_a_curve, 0});
  }
  add(TrainingAccepted{next_job_, spec, chosen->pool->id, cost}, {ReasonCode::as_reported, 0});
  record_verdict(next_job_, std::move(*verdict));
}

void TrainingDecision::record_verdict(JobId job, Verdict verdict) {
  if (auto* promise = std::get_if<Promise>(&verdict)) {
    for (auto& [other, timeline] : promise->revised) {
      const bool replanned = promise->reason.code == ReasonCode::fits_after_replan;
      add(TimelineRevised{other, std::move(timeline)},
          replanned ? Reason{ReasonCode::makes_room, job.value}
                    : Reason{ReasonCode::ahead_of_plan, 0});
    }
    if (promise->gives_way)
      add(JobUnpromised{*promise->gives_way, {}, {}}, {ReasonCode::gives_way, job.value});
    if (promise->is_provisional) {
      add(PlannedProvisionally{job, std::move(promise->timeline)},
          {ReasonCode::larger_than_most, 0});
    } else {
      add(PromiseMade{job, promise->deadline, std::move(promise->timeline)}, promise->reason);
    }
  } else if (const auto* refusal = std::get_if<Refusal>(&verdict)) {
    add(PromiseRefused{job, refusal->earliest}, refusal->reason);
  } else {
    const auto& accepted = std::get<NoPromise>(verdict);
    add(JobUnpromised{job, accepted.expected_start, accepted.expected_finish}, accepted.reason);
  }
}

bool TrainingDecision::is_active(JobId job) {
  if (!state_.knows(job)) {
    add(EventIgnored{}, {ReasonCode::unknown_job, job.value});
    return false;
  }
  const TrainingPhase phase = state_.job(job).phase;
  if (phase == TrainingPhase::promised || phase == TrainingPhase::unpromised) return true;
  add(EventIgnored{}, {ReasonCode::not_running, job.value});
  return false;
}

void TrainingDecision::operator()(const JobFinished& event) {
  if (is_active(event.job)) add(JobReleased{event.job}, {ReasonCode::as_reported, 0});
}

bool TrainingDecision::waits_for_curve(JobId job) const {
  return state_.knows(job) && state_.job(job).phase == TrainingPhase::waits_for_curve;
}

void TrainingDecision::operator()(const JobCancelled& event) {
  if (waits_for_curve(event.job) || is_active(event.job))
    add(JobReleased{event.job}, {ReasonCode::cancelled, 0});
}

void TrainingDecision::operator()(const JobFailed& event) {
  if (waits_for_curve(event.job) || is_active(event.job))
    add(JobReleased{event.job}, {ReasonCode::failed, 0});
}

void TrainingDecision::operator()(const RescaleCostMeasured& event) {
  if (event.base < Duration{0} || event.per_doubling < Duration{0})
    return add(EventIgnored{}, {ReasonCode::malformed, 0});
  add(RescaleCostAdopted{event.base, event.per_doubling}, {ReasonCode::as_reported, 0});
}

void TrainingDecision::operator()(const ClockStepped& event) {
  add(ClockStepSeen{event.by}, {ReasonCode::as_reported, 0});
}

void TrainingDecision::operator()(const TenantsChanged& event) {
  if (!is_well_formed(event.table)) return add(EventIgnored{}, {ReasonCode::malformed, 0});
  auto table = std::make_shared<const TenantTable>(with_default_tenant(event.table));
  if (state_.tenants ? *state_.tenants == *table : table->empty())
    return add(EventIgnored{}, {ReasonCode::already_so, 0});
  add(TenantsAdopted{std::move(table)}, {ReasonCode::as_reported, 0});
}

// A cap is none of what a kilowatt-hour costs.
void TrainingDecision::operator()(const SupplyUpdated& event) {
  if (event.series.empty() || event.kind.quantity == SupplyQuantity::power_cap)
    return add(EventIgnored{}, {ReasonCode::malformed, 0});
  const EnergyAccount& known = state_.energy;
  if (known.supply != nullptr && known.kind == event.kind && *known.supply == event.series)
    return add(EventIgnored{}, {ReasonCode::already_so, 0});
  add(SupplyAdopted{event.kind, std::make_shared<const SupplySeries>(event.series)},
      {ReasonCode::as_reported, 0});
}

void TrainingDecision::operator()(const EnergyConfigured& event) {
  const EnergyTerms& terms = event.terms;
  const bool knows_pools =
      std::all_of(terms.pools.begin(), terms.pools.end(),
                  [&](const PoolPower& power) { return state_.find_pool(power.pool) != nullptr; });
  const bool has_supply = state_.energy.supply != nullptr || terms.pools.empty();
  if (!knows_pools || !has_supply || !is_well_formed(terms))
    return add(EventIgnored{}, {ReasonCode::malformed, 0});
  const auto& known = state_.energy.terms;
  if (known != nullptr ? *known == terms : terms.pools.empty())
    return add(EventIgnored{}, {ReasonCode::already_so, 0});
  add(EnergyTermsAdopted{std::make_shared<const EnergyTerms>(terms)}, {ReasonCode::as_reported, 0});
}

// What is worse in every respect is left out.
void TrainingDecision::operator()(const PowerTableUpdated& event) {
  const PoolState* pool = state_.find_pool(event.pool);
  const auto is_before = [](const PowerPoint& a, const PowerPoint& b) {
    return std::pair{a.gpus, a.clock_permille} < std::pair{b.gpus, b.clock_permille};
  };
  if (pool == nullptr || event.table.empty() ||
      !std::is_sorted(event.table.begin(), event.table.end(), is_before))
    return add(EventIgnored{}, {ReasonCode::malformed, 0});
  auto table = std::make_shared<const PowerTable>(undominated(event.table));
  const auto known = pool->power.find(event.key);
  const bool is_measured = event.origin == CurveOrigin::measured;
  if (known != pool->power.end() && *known->second == *table &&
      pool->measured_power.contains(event.key) == is_measured)
    return add(EventIgnored{}, {ReasonCode::already_so, 0});
  add(PowerTableAdopted{event.pool, event.key, std::move(table), event.origin},
      {ReasonCode::as_reported, 0});
}

void TrainingDecision::operator()(const NetworkConfigured& event) {
  const NetworkTerms& terms = event.terms;
  const bool fits_pools =
      std::all_of(terms.fabrics.begin(), terms.fabrics.end(), [&](const PoolFabric& fabric) {
        const PoolState* pool = state_.find_pool(fabric.pool);
        const auto room = std::int64_t{fabric.leaves} * fabric.nodes_per_leaf;
        return pool != nullptr && std::ssize(pool->pool->nodes) <= room;
      });
  if (!fits_pools || !is_well_formed(terms)) return add(EventIgnored{}, {ReasonCode::malformed, 0});
  const auto& known = state_.network;
  if (known != nullptr ? *known == terms : terms.fabrics.empty())
    return add(EventIgnored{}, {ReasonCode::already_so, 0});
  add(NetworkTermsAdopted{std::make_shared<const NetworkTerms>(terms)},
      {ReasonCode::as_reported, 0});
}

void TrainingDecision::operator()(const RanksReady& event) {
  if (!is_active(event.job)) return;
  const TrainingJob& job = state_.job(event.job);
  // Late for an older generation, or told before.
  if (job.generation != event.generation || job.is_ready || job.block.is_none())
    return add(EventIgnored{}, {ReasonCode::already_so, 0});
  // Before, it made no progress, whatever was expected.
  add(JobObserved{event.job, job.left, now_, job.speed_permille}, {ReasonCode::as_reported, 0});
}

void TrainingDecision::operator()(const RanksFailed& event) {
  if (!is_active(event.job)) return;
  const TrainingJob& job = state_.job(event.job);
  if (job.generation != event.generation || job.block.is_none())
    return add(EventIgnored{}, {ReasonCode::already_so, 0});
  add(JobResized{event.job, job.generation + 1, job.block},
      {ReasonCode::ranks_failed, event.generation});
}

void TrainingDecision::operator()(const ProgressReported& event) {
  if (!is_active(event.job)) return;
  const TrainingJob& job = state_.job(event.job);
  const Work all = work_of_iterations(job.spec->iterations);
  // Until it has ended its last step is not over: it may have to save, and needs GPUs for that.
  const Work last = work_of_iterations(1);
  const Work left = event.done + last < all ? all - event.done : last;
  JobObserved observed{event.job, left, job.ready_at, job.speed_permille};
  // Its speed shows when it has run long enough without a change.
  constexpr Duration kLongEnough = from_seconds(10);
  const Time since = std::max(job.observed_at, job.ready_at);
  if (!job.block.is_none() && now_ - since >= kLongEnough && left <= job.left) {
    const Work expected = job.rate() * (now_ - since);
    const WideInteger speed = (job.left - left).femto_iterations * job.speed_permille /
                              std::max<WideInteger>(1, expected.femto_iterations);
    const auto seen = static_cast<std::int32_t>(std::clamp<WideInteger>(speed, 1, 4000));
    // A few per mille more are noise; fewer are believed, as a promise may hang on them.
    if (seen < job.speed_permille || seen > job.speed_permille + kNoisePermille)
      observed.speed_permille = seen;
  }
  add(observed, {ReasonCode::as_reported, 0});
}

void TrainingDecision::operator()(const CurveUpdated& event) {
  if (state_.find_pool(event.pool) == nullptr || event.curve.empty())
    return add(EventIgnored{}, {ReasonCode::malformed, 0});
  leave_useless_sizes(event);
  add(CurveAdopted{event.pool, event.key, std::make_shared<const Curve>(event.curve)},
      {ReasonCode::as_reported, 0});
}

// A job whose present size is none of its new ones gets another at the next decision.
void TrainingDecision::leave_useless_sizes(const CurveUpdated& event) {
  const PoolState& pool = *state_.find_pool(event.pool);
  for (const JobId id : pool.active) {
    const TrainingJob& job = state_.job(id);
    if (job.block.is_none() || job.spec->curve != event.key) continue;
    const SizeTable sizes = size_table(event.curve, *job.spec, *pool.pool, state_);
    if (!sizes.empty() && level_of(sizes, job.block.size) == kPaused)
      add(JobResized{id, job.generation + 1, kNoGpus}, {ReasonCode::behind_plan, 0});
  }
}

std::vector<JobId> TrainingDecision::promised_with(const CurveUpdated& event) const {
  std::vector<JobId> jobs;
  const PoolState* pool = state_.find_pool(event.pool);
  if (pool == nullptr) return jobs;
  for (const JobId id : pool->active) {
    const TrainingJob& job = state_.job(id);
    if (job.is_promised() && job.spec->curve == event.key) jobs.push_back(id);
  }
  return jobs;
}

void TrainingDecision::operator()(const NodeLost& event) {
  const auto lost = find_node(state_, event.node);
  if (!lost) return add(EventIgnored{}, {ReasonCode::unknown_node, event.node.value});
  const PoolState& pool = *state_.find_pool(lost->pool);
  if (pool.is_up[lost->node] == 0) return add(EventIgnored{}, {ReasonCode::already_so, 0});
  for (const JobId id : pool.active) {
    const TrainingJob& job = state_.job(id);
    if (job.block.overlaps(pool.pool->block_of_node(lost->node)))
      add(JobResized{id, job.generation + 1, kNoGpus}, {ReasonCode::node_lost, event.node.value});
  }
  add(PoolNodeClosed{lost->pool, lost->node}, {ReasonCode::as_reported, 0});
}

// Who runs there moves at the next decision, on its own time.
void TrainingDecision::operator()(const NodeDrained& event) {
  const auto drained = find_node(state_, event.node);
  if (!drained) return add(EventIgnored{}, {ReasonCode::unknown_node, event.node.value});
  if (state_.find_pool(drained->pool)->is_up[drained->node] == 0)
    return add(EventIgnored{}, {ReasonCode::already_so, 0});
  add(PoolNodeClosed{drained->pool, drained->node}, {ReasonCode::as_reported, 0});
}

void TrainingDecision::operator()(const ForeignUseObserved& event) {
  const auto at = find_node(state_, event.node);
  if (!at) return add(EventIgnored{}, {ReasonCode::unknown_node, event.node.value});
  const PoolState& pool = *state_.find_pool(at->pool);
  if (pool.foreign[at->node] == event.gpus) return add(EventIgnored{}, {ReasonCode::already_so, 0});
  for (const JobId id : pool.active) {
    const TrainingJob& job = state_.job(id);
    const GpuBlock node = pool.pool->block_of_node(at->node);
    bool is_hit = false;
    for (std::uint32_t gpu = 0; gpu < node.size; ++gpu) {
      is_hit = is_hit || (event.gpus.contains(static_cast<int>(gpu)) &&
                          job.block.overlaps({node.first + gpu, 1}));
    }
    if (is_hit) add(JobResized{id, job.generation + 1, kNoGpus}, {ReasonCode::foreign_use, 0});
  }
  add(ForeignUseKnown{at->pool, at->node, event.gpus}, {ReasonCode::as_reported, 0});
}

void TrainingDecision::operator()(const NodeReturned& event) {
  const auto back = find_node(state_, event.node);
  if (!back) return add(EventIgnored{}, {ReasonCode::unknown_node, event.node.value});
  if (state_.find_pool(back->pool)->is_up[back->node] != 0)
    return add(EventIgnored{}, {ReasonCode::already_so, 0});
  add(PoolNodeOpened{back->pool, back->node}, {ReasonCode::as_reported, 0});
}

std::size_t TrainingDecision::position_of(PoolIndex pool) const {
  std::size_t at = 0;
  while (state_.pools[at].pool->id != pool) ++at;
  return at;
}

void TrainingDecision::follow_up(const Event& event) {
  if (const auto* progress = std::get_if<ProgressReported>(&event.what)) {
    if (state_.knows(progress->job)) mend(progress->job);
  } else if (const auto* curve = std::get_if<CurveUpdated>(&event.what)) {
    judge_waiting(*curve);
  } else if (const auto* failed = std::get_if<RanksFailed>(&event.what)) {
    if (state_.knows(failed->job)) mend(failed->job);
  } else if (const auto* ready = std::get_if<RanksReady>(&event.what)) {
    if (state_.knows(ready->job)) mend(ready->job);  // they may have taken longer than planned
  } else if (const auto* lost = std::get_if<NodeLost>(&event.what)) {
    mend_pool_of(lost->node);
  } else if (const auto* drained = std::get_if<NodeDrained>(&event.what)) {
    mend_pool_of(drained->node);
  } else if (const auto* foreign = std::get_if<ForeignUseObserved>(&event.what)) {
    mend_pool_of(foreign->node);
  } else if (const auto* back = std::get_if<NodeReturned>(&event.what)) {
    mend_pool_of(back->node);
  } else if (std::holds_alternative<TimerFired>(event.what)) {
    for (std::size_t i = 0; i < state_.pools.size(); ++i) {
      for (const JobId id : policy_.to_confirm(view(i))) {
        const TrainingJob& job = state_.job(id);
        add(PromiseMade{id, job.spec->deadline, job.timeline}, {ReasonCode::ahead_of_plan, 0});
      }
    }
  }
}

void TrainingDecision::mend_pool_of(NodeId node) {
  if (const auto at = find_node(state_, node))
    record_mended(policy_.mend_all(view(position_of(at->pool))));
}

// A job that was planned with another curve may not make it, may have a plan with sizes it has no
// longer, or may make it after all.
void TrainingDecision::mend_with_new_curve(JobId id) {
  const TrainingJob& job = state_.job(id);
  const auto is_unknown = [&](const TimelineStep& step) {
    return !step.block.is_none() && level_of(*job.sizes, step.block.size) == kPaused;
  };
  const auto& steps = job.timeline.steps;
  const bool is_broken = std::any_of(steps.begin(), steps.end(), is_unknown) ||
                         (!job.is_at_risk && surplus(job, now_) < Work{});
  const bool has_hope = job.is_at_risk && job.spec->deadline > now_;
  if (is_broken || has_hope) record_mended(policy_.mend(view(position_of(job.pool)), id));
}

// A job that runs slower than planned may not make it.
void TrainingDecision::mend(JobId id) {
  const TrainingJob& job = state_.job(id);
  if (!job.is_promised() || job.is_at_risk) return;
  if (surplus(job, now_) >= Work{}) return;
  record_mended(policy_.mend(view(position_of(job.pool)), id));
}

std::vector<JobId> TrainingDecision::overdue() const {
  std::vector<JobId> jobs;
  for (const PoolState& pool : state_.pools) {
    for (const JobId id : pool.active) {
      const TrainingJob& job = state_.job(id);
      if (!job.is_promised()) continue;
      if (overdue_at(job) > now_) continue;
      if (job.is_at_risk || surplus(job, now_) < Work{}) jobs.push_back(id);
    }
  }
  return jobs;
}

void TrainingDecision::mend_overdue(JobId id) {
  record_mended(policy_.mend(view(position_of(state_.job(id).pool)), id));
}

void TrainingDecision::record_mended(std::vector<Mended> mended) {
  for (Mended& after : mended) {
    const TrainingJob& job = state_.job(after.job);
    const bool is_kept = after.outcome == Mended::Outcome::kept;
    const auto code =
        is_kept && job.is_at_risk ? ReasonCode::back_on_plan : ReasonCode::behind_plan;
    const bool is_news = !job.is_at_risk || is_another_time(after, job.timeline.end, now_);
    if (after.timeline != job.timeline)
      add(TimelineRevised{after.job, std::move(after.timeline)}, {code, 0});
    if (!is_kept && is_news)
      add(PromiseAtRisk{after.job, after.expected_finish}, {ReasonCode::behind_plan, 0});
  }
}

void TrainingDecision::judge_waiting(const CurveUpdated& event) {
  // One at a time: an answer is decided on a state that has the answers before it.
  for (std::size_t i = 0; i < state_.jobs.size(); ++i) {
    const TrainingJob& job = state_.jobs[i];
    if (job.phase != TrainingPhase::considered || job.spec->curve != event.key) continue;
    const JobId id{i + 1};
    if (job.has_deadline() && job.spec->deadline <= now_) {
      add(PromiseRefused{id, std::nullopt}, {ReasonCode::too_slow_alone, 0});
    } else {
      record_verdict(id, policy_.judge(view(position_of(job.pool)), job));
    }
    return;
  }
}

void TrainingDecision::operator()(const TimerFired&) {
  for (std::size_t i = 0; i < state_.pools.size(); ++i) {
    const PoolState& pool = state_.pools[i];
    Allocation allocation = policy_.allocate(view(i));
    std::vector<WantedBlock>& wanted = allocation.blocks;
    std::vector<Record> links = give_links(pool, wanted);
    wake_up_ = std::min(wake_up_, allocation.wake_up);
    // Whoever gives GPUs back does so before others get them.
    std::size_t next = 0;
    std::vector<Record> growing;
    for (const JobId id : pool.active) {
      while (next < wanted.size() && wanted[next].job < id) ++next;
      const bool is_named = next < wanted.size() && wanted[next].job == id;
      const GpuBlock block = is_named ? wanted[next].block : kNoGpus;
      const TrainingJob& job = state_.job(id);
      if (job.block == block) continue;
      const Reason reason = is_named ? wanted[next].reason : Reason{ReasonCode::reclaimed, 0};
      Record record{now_, reason, JobResized{id, job.generation + 1, block}};
      (block.size < job.block.size ? records_ : growing).push_back(std::move(record));
    }
    std::move(growing.begin(), growing.end(), std::back_inserter(records_));
    std::move(links.begin(), links.end(), std::back_inserter(records_));
    set_clocks(wanted);
    for (const EnergyPriceSet& price : allocation.energy_prices)
      add(price, {ReasonCode::as_reported, 0});
  }
}

std::vector<Record> TrainingDecision::give_links(const PoolState& pool,
                                                 std::vector<WantedBlock>& wanted) {
  const auto network = state_.network_of(pool);
  if (!network) return {};
  std::vector<NetworkWish> wishes;
  for (const WantedBlock& want : wanted) {
    const TrainingJob& job = state_.job(want.job);
    NetworkWish wish{want.job, job.block, job.links, want.block, {}, 0};
    const int level = level_of(*job.sizes, want.block.size);
    if (level != kPaused) {
      const IterationRate rate = (*job.sizes)[static_cast<std::size_t>(level)].rate;
      wish.iteration = iteration_of(*state_.network, job.spec->curve.model,
                                    1e6 / static_cast<double>(rate.value));
      wish.left_seconds = to_seconds(time_for(job.left_at(now_), rate));
    }
    wishes.push_back(std::move(wish));
  }
  const auto behind = std::ssize(pool.active) - std::ssize(wishes);
  const std::vector<NetworkPlace> places =
      place_on_network(*network, state_.network->placement, pool.closed, wishes, behind);
  std::vector<Record> given;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const NetworkPlace& place = places[i];
    wanted[i].block = place.block;
    if (place.is_held_back) wanted[i] = {wanted[i].job, kNoGpus, {ReasonCode::waits_for_links, 0}};
    if (place.links == nullptr) continue;
    if (place.block == wishes[i].present && place.links == wishes[i].links) continue;
    Reason reason{ReasonCode::own_links, 0};
    if (place.links->use == LinkUse::shared) {
      reason = {ReasonCode::shares_links,
                static_cast<std::uint64_t>(std::llround(std::max(place.slowdown, 0.0) * 1000))};
    } else if (place.is_rewired) {
      reason = {ReasonCode::rewired, 0};
    } else if (place.links->use == LinkUse::own) {
      reason.detail = place.links->uplinks.size() *
                      static_cast<std::size_t>(network->leaves_of(place.block).count());
    } else {
      reason.detail = place.links->circuits.size();
    }
    given.push_back({now_, reason, LinksGiven{wanted[i].job, place.links}});
  }
  return given;
}

// A job whose GPUs have just changed is at the full clock.
void TrainingDecision::set_clocks(const std::vector<WantedBlock>& wanted) {
  for (const WantedBlock& want : wanted) {
    const TrainingJob& job = state_.job(want.job);
    const bool is_changed = job.block != want.block;
    const std::int32_t clock = is_changed ? kFullClock : job.clock_permille;
    const std::int64_t millionths = is_changed ? kAllMillionths : job.clocked_millionths;
    if (clock == want.clock_permille && millionths == want.clocked_millionths) continue;
    add(ClockSet{want.job, want.clock_permille, want.clocked_millionths}, want.reason);
  }
}

}  // namespace weir::schedule
