// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/weir_policy.h"

#include <algorithm>
#include <numeric>

#include "schedule/admit/gate.h"
#include "schedule/admit/margin.h"
#include "schedule/admit/promises.h"
#include "schedule/admit/recover.h"
#include "schedule/admit/slots.h"
#include "schedule/allocate/estimate.h"
#include "schedule/allocate/left_over.h"

namespace weir::schedule {
namespace {

bool is_possible_alone(const TrainingJob& job, Time now, Time deadline) {
  return std::any_of(job.sizes->begin(), job.sizes->end(), [&](const SizeOption& size) {
    return time_for(job.left, size.rate) <= deadline - now - size.price;
  });
}

std::int64_t remaining_cost(const TrainingJob& job, Time now) {
  return least_gpu_seconds(*job.sizes, job.left_at(now), job.spec->deadline - now);
}

// Above this GPU-time a job is planned but not promised yet; nothing when every job is.
std::optional<std::int64_t> provisional_limit(const PoolView& view) {
  constexpr std::size_t kArrivals = 400;
  if (view.config.provisional_multiple == 0 || view.pool.arrivals.empty()) return std::nullopt;
  std::vector<std::int64_t> costs;
  const auto& arrivals = view.pool.arrivals;
  for (std::size_t i = arrivals.size() - std::min(arrivals.size(), kArrivals); i < arrivals.size();
       ++i) {
    costs.push_back(arrivals[i].least_gpu_seconds);
  }
  const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
  std::nth_element(costs.begin(), middle, costs.end());
  return *middle * view.config.provisional_multiple;
}

// A promise that becomes possible when the largest job that is not promised yet gives way.
std::optional<Promise> in_place_of_a_giant(const PoolView& view, const TrainingJob& newcomer,
                                           Time by, std::int64_t cost) {
  std::optional<JobId> largest;
  std::int64_t most = 2 * cost;  // it must be worth it
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    if (!job.is_provisional) continue;
    const std::int64_t remaining = remaining_cost(job, view.now);
    if (remaining <= most) continue;
    most = remaining;
    largest = id;
  }
  if (!largest) return std::nullopt;
  auto promise = Promises{view, newcomer, largest}.promise_by(by);
  if (promise) promise->gives_way = largest;
  return promise;
}

// When tenants may have to take turns, if several have jobs and somebody wants more.
Time next_turn(const PoolView& view) {
  if (!view.state.tenants || view.pool.active.empty()) return Time::max();
  const auto is_of_another = [&](JobId id) {
    return view.state.job(id).tenant != view.state.job(view.pool.active.front()).tenant;
  };
  const auto wants_more = [&](JobId id) {
    const TrainingJob& job = view.state.job(id);
    return !job.sizes->empty() &&
           static_cast<std::int32_t>(job.block.size) < job.sizes->back().gpus;
  };
  const auto& active = view.pool.active;
  if (std::none_of(active.begin(), active.end(), is_of_another) ||
      std::none_of(active.begin(), active.end(), wants_more))
    return Time::max();
  return slot_after(view.now + Duration{1}, view.state.tenants->lease);
}

// `view` is what may be promised of the whole.
Verdict judge_in(const PoolView& view, const PoolView& whole, const TrainingJob& job) {
  const Time now = view.now;
  if (job.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
  const std::int32_t most = PromisedUse{view.state, view.pool, now}.maximum_of(job.tenant);
  if (job.sizes->front().gpus > most)
    return Refusal{{ReasonCode::over_quota, static_cast<std::uint64_t>(most)}, std::nullopt};
  const auto without_promise = [&](Reason reason) {
    const Estimate expected = estimate(whole, job);
    return NoPromise{reason, expected.start, expected.finish};
  };
  if (!job.has_deadline()) return without_promise({ReasonCode::no_promise_asked, 0});
  const Time deadline = planned_end(*job.spec);
  const auto cost_by = [&](Time by) { return least_gpu_seconds(*job.sizes, job.left, by - now); };
  // How many cheaper jobs were refused, when it should be refused for their sake.
  const auto spared_by = [&](Time by) -> std::optional<std::int64_t> {
    if (!view.config.has_gate) return std::nullopt;
    return gate_closes(view.pool, view.unpromised, cost_by(by), now, by, view.config.gate);
  };
  Promises promises{view, job};
  Refusal refusal{{ReasonCode::too_slow_alone, 0}, std::nullopt};
  if (is_possible_alone(job, now, deadline)) {
    auto promise = promises.promise_by(deadline);
    if (!promise) promise = in_place_of_a_giant(view, job, deadline, cost_by(deadline));
    const auto spared = promise ? spared_by(deadline) : std::nullopt;
    if (promise && !spared) {
      const auto limit = provisional_limit(view);
      promise->is_provisional = limit && cost_by(deadline) > *limit;
      promise->deadline = job.spec->deadline;
      return std::move(*promise);
    }
    refusal.reason =
        spared ? Reason{ReasonCode::spares_cheaper_jobs, static_cast<std::uint64_t>(*spared)}
               : promises.obstacle();
  }
  if (job.spec->deadline_kind == DeadlineKind::soft) return without_promise(refusal.reason);
  if (view.config.makes_counter_offers) {
    const auto by = promises.earliest_deadline(deadline, [&](Time end) { return !spared_by(end); });
    if (by) refusal.earliest = deadline_planned_for(*by, job);
  }
  return refusal;
}

// When to look again whether a job that runs is done. One that should be, and has some time left, is
// looked at more and more often.
Time next_look(const TrainingJob& job, GpuBlock block, const PoolView& view) {
  constexpr Duration kAtLeast = from_seconds(1);
  const Time overdue = overdue_at(job, block, view.now);
  if (overdue > view.now) return overdue;
  if (job.is_at_risk) return Time::max();
  return view.now + std::max(kAtLeast, (job.spec->deadline - view.now) / 2);
}

}  // namespace

std::int32_t held_back(const PoolState& pool, const Reserve& reserve) {
  if (reserve == Reserve{}) return 0;
  const auto& gpus = pool.pool->gpus;
  const std::int64_t all = std::accumulate(gpus.begin(), gpus.end(), std::int64_t{0});
  const std::int64_t wanted = reserve.gpus + (all * reserve.permille + 999) / 1000;
  const std::int64_t lost = all - pool.gpus_up();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(wanted - lost, 0, pool.gpus_up()));
}

Verdict WeirPolicy::judge(const PoolView& view, const TrainingJob& job) const {
  const std::int32_t kept = held_back(view.pool, view.config.reserve);
  if (kept == 0) return judge_in(view, view, job);
  CapacityProfile unpromised = view.unpromised;
  unpromised.apply({{view.now, -kept}});
  return judge_in({view.state, view.pool, unpromised, view.now, view.config, kept}, view, job);
}

std::vector<Mended> WeirPolicy::mend(const PoolView& view, JobId job) const {
  return mend_job(view, job);
}

std::vector<Mended> WeirPolicy::mend_all(const PoolView& view) const {
  return mend_pool(view);
}

std::vector<JobId> WeirPolicy::to_confirm(const PoolView& view) const {
  std::vector<JobId> confirmed;
  const auto limit = provisional_limit(view);
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    if (job.is_provisional && (!limit || remaining_cost(job, view.now) <= *limit))
      confirmed.push_back(id);
  }
  return confirmed;
}

Time next_promised_change(const PoolView& view, const Allocation& allocation) {
  Time next = Time::max();
  auto wanted = allocation.blocks.begin();
  for (const JobId id : view.pool.active) {
    while (wanted != allocation.blocks.end() && wanted->job < id) ++wanted;
    const bool is_named = wanted != allocation.blocks.end() && wanted->job == id;
    const TrainingJob& job = view.state.job(id);
    if (!job.is_promised()) continue;
    const Time look = next_look(job, is_named ? wanted->block : kNoGpus, view);
    next = std::min({next, job.timeline.next_change(view.now), slot_after(look, view.config.slot)});
  }
  return next;
}

Allocation WeirPolicy::allocate(const PoolView& view) const {
  Allocation allocation{
      allocate_with_left_overs(view.state, view.pool, view.now, view.config.ablation)};
  allocation.wake_up = std::min(next_promised_change(view, allocation), next_turn(view));
  return allocation;
}

}  // namespace weir::schedule
