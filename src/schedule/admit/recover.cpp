// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/recover.h"

#include <algorithm>
#include <span>
#include <utility>

#include "schedule/admit/arrange.h"
#include "schedule/admit/promises.h"

namespace weir::schedule {
namespace {

// More than any job could ever pay for being moved.
constexpr Work kUnlimited{WideInteger{1} << 120};

// What it has and may keep: nothing on a node that is to be left.
GpuBlock usable_block(const PoolView& view, const TrainingJob& job) {
  return view.pool.closed.is_free(job.block) ? job.block : kNoGpus;
}

JobToFill to_fill(const PoolView& view, const TrainingJob& job) {
  JobToFill found = to_fill(job, view.now, job.spec->deadline);
  found.level = level_of(*job.sizes, usable_block(view, job).size);
  return found;
}

// As early as possible on what is left, whether or not that is in time.
Mended as_early_as_possible(const PoolView& view, JobId id, const CapacityProfile& unpromised,
                            std::span<const OtherTimeline> others) {
  const TrainingJob& job = view.state.job(id);
  const FillRules rules{view.now, view.config.slot, {}};
  PromisedUse used{view.state, view.pool, view.now};
  for (const JobId other : view.pool.active) {
    const TrainingJob& promised = view.state.job(other);
    if (other != id && promised.is_promised())
      used.add(promised.tenant, promised.timeline, promised.timeline.end);
  }
  const SizePlan plan = fill_greedily(used.within(unpromised, job.tenant, QuotaRule::maxima),
                                      to_fill(view, job), rules);
  auto timeline = arrange_one(plan, *job.sizes, usable_block(view, job), others, view.pool.closed);
  if (!timeline) timeline = Timeline{{}, view.now};  // it takes what is left over
  return {id, std::move(*timeline), Mended::Outcome::at_risk, plan.end};
}

// The promised jobs, the most urgent first.
using Order = std::vector<std::pair<Duration, JobId>>;

// With more jobs than this none is planned again first.
constexpr std::size_t kManyJobs = 512;

// New timelines for all promised jobs.
struct Attempt {
  std::vector<Mended> mended;
  // How many are at risk that were not; and how many are in all.
  std::pair<std::size_t, std::size_t> broken;
  std::optional<JobId> first_late;  // the first that found no room, of those that have the time
};

Attempt planned_anew(const PoolView& view, const Order& order, std::span<const int> reserves) {
  CapacityProfile profile{view.now, view.pool.gpus_up()};
  PromisedUse used{view.state, view.pool, view.now};
  std::vector<SizePlan> plans;
  std::vector<JobId> jobs;
  std::vector<JobId> late;
  Attempt attempt;
  for (const auto& [slack, id] : order) {
    const TrainingJob& job = view.state.job(id);
    auto plan = fill(used.within(profile, job.tenant, QuotaRule::maxima), to_fill(view, job),
                     fill_rules(view, reserves));
    if (!plan) {
      late.push_back(id);
      if (!attempt.first_late && slack >= Duration{0}) attempt.first_late = id;
      continue;
    }
    subtract(profile, *plan, *job.sizes);
    used.add(job.tenant, *plan, *job.sizes);
    plans.push_back(std::move(*plan));
    jobs.push_back(id);
  }
  for (const JobId id : late) {
    const TrainingJob& job = view.state.job(id);
    plans.push_back(fill_greedily(used.within(profile, job.tenant, QuotaRule::maxima),
                                  to_fill(view, job), {view.now, view.config.slot, {}}));
    subtract(profile, plans.back(), *job.sizes);
    used.add(job.tenant, plans.back(), *job.sizes);
    jobs.push_back(id);
  }
  const auto arrange_with = [&](bool may_overdraw) {
    std::vector<PlanToArrange> to_arrange;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const TrainingJob& job = view.state.job(jobs[i]);
      const bool is_late = i + late.size() >= jobs.size();
      const Work spare = may_overdraw || is_late ? kUnlimited : spare_for_moves(plans[i], job);
      to_arrange.push_back({job.sizes.get(), &plans[i], usable_block(view, job), spare});
    }
    return arrange_all(to_arrange, view.pool.closed, view.now);
  };
  auto arrangement = arrange_with(false);
  if (!arrangement) arrangement = arrange_with(true);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    TrainingJob job = view.state.job(jobs[i]);
    // Where even moving everyone does not help, it takes what is left over.
    job.timeline = arrangement ? std::move(arrangement->timelines[i]) : Timeline{{}, view.now};
    const bool is_kept = surplus(job, view.now) >= Work{};
    if (!is_kept) {
      attempt.broken.first += job.is_at_risk ? 0 : 1;
      ++attempt.broken.second;
    }
    attempt.mended.push_back({jobs[i], std::move(job.timeline),
                              is_kept ? Mended::Outcome::kept : Mended::Outcome::at_risk,
                              plans[i].end});
  }
  return attempt;
}

// Whether every timeline can still be followed, and keeps every promise that is not at risk.
bool all_hold(const PoolView& view) {
  return std::all_of(view.pool.active.begin(), view.pool.active.end(), [&](JobId id) {
    const TrainingJob& job = view.state.job(id);
    if (!job.is_promised()) return true;
    const Timeline& timeline = job.timeline;
    for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
      if (timeline.end_of(i) > view.now && !timeline.steps[i].block.is_none() &&
          !view.pool.closed.is_free(timeline.steps[i].block))
        return false;
    }
    return job.is_at_risk || surplus(job, view.now) >= Work{};
  });
}

// Late already, and late again: what was announced does not hold either.
Time overdue_again_at(const TrainingJob& job) {
  constexpr Duration kPatience = std::chrono::minutes{10};
  const bool has_end = !job.timeline.steps.empty() && job.timeline.end < Time::max() - kPatience;
  return has_end ? job.timeline.end + kPatience : Time::max();
}

// When a job with so much left, that goes on from then at that rate, is taken to be late.
Time overdue(const TrainingJob& job, IterationRate rate, Work left, Time from) {
  constexpr Duration kGrace = from_seconds(10);
  constexpr Duration kBeforeTheDeadline = from_seconds(1);
  constexpr Duration kForEver = std::chrono::hours{24 * 365 * 100};
  if (rate.value <= 0) return Time::max();
  const Duration needed = time_for(left, rate);
  if (needed > kForEver) return Time::max();
  const Time done = from + needed;
  if (!job.has_deadline()) return done + kGrace;
  // Not at the moment it should be done, where rounding decides what comes first; but in time to tell.
  constexpr Duration kAfterwards = std::chrono::milliseconds{1};
  const Time deadline = job.spec->deadline;
  const Time look =
      std::max(done + kAfterwards, std::min(done + kGrace, deadline - kBeforeTheDeadline));
  return std::max(done, std::min(look, deadline - Duration{1}));
}

}  // namespace

Time overdue_at(const TrainingJob& job) {
  if (job.is_at_risk) return overdue_again_at(job);
  return overdue(job, job.rate(), job.left, std::max(job.observed_at, job.ready_at));
}

Time overdue_at(const TrainingJob& job, GpuBlock block, Time now) {
  if (job.is_at_risk || block == job.block) return overdue_at(job);
  const int level = level_of(*job.sizes, block.size);
  if (level == kPaused) return Time::max();
  const SizeOption& size = (*job.sizes)[static_cast<std::size_t>(level)];
  return overdue(job, size.rate, job.left_at(now), now + size.price);
}

std::vector<Mended> mend_job(const PoolView& view, JobId id) {
  const TrainingJob& job = view.state.job(id);
  Promises promises{view, job, id, QuotaRule::maxima};
  std::vector<Mended> mended;
  const bool has_time = laxity(job, view.now, job.spec->deadline) >= Duration{0};
  if (auto promise = has_time ? promises.promise_by(job.spec->deadline) : std::nullopt) {
    for (auto& [other, timeline] : promise->revised) {
      // A promise that was broken before is not mended by being in nobody's way.
      const bool is_kept = !view.state.job(other).is_at_risk;
      mended.push_back({other,
                        std::move(timeline),
                        is_kept ? Mended::Outcome::kept : Mended::Outcome::at_risk,
                        {}});
    }
    mended.push_back({id, std::move(promise->timeline), Mended::Outcome::kept, {}});
    return mended;
  }
  std::vector<OtherTimeline> others;
  for (const JobId other : view.pool.active) {
    const Timeline& timeline = view.state.job(other).timeline;
    if (other != id && view.state.job(other).is_promised())
      others.push_back({&timeline, timeline.end});
  }
  CapacityProfile unpromised = view.unpromised;
  std::vector<CapacityProfile::Change> own;
  if (job.timeline.end > view.now) give_back(own, job.timeline, job.timeline.end);
  unpromised.apply(std::move(own));
  mended.push_back(as_early_as_possible(view, id, unpromised, others));
  return mended;
}

std::vector<Mended> mend_pool(const PoolView& view) {
  Order order;
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    if (job.is_promised()) order.emplace_back(laxity(job, view.now, job.spec->deadline), id);
  }
  std::sort(order.begin(), order.end());
  const int repairs = order.size() > kManyJobs ? 0 : kRepairs;
  std::optional<Attempt> best;
  // A large reserve of one job can be what another lacks.
  for (std::size_t first = 0; first < kReserves.size(); ++first) {
    Order tried = order;
    for (int repair = 0; repair <= repairs; ++repair) {
      Attempt attempt = planned_anew(view, tried, std::span{kReserves}.subspan(first));
      const auto late = attempt.first_late;
      if (!best || attempt.broken < best->broken) best = std::move(attempt);
      if (best->broken == std::pair<std::size_t, std::size_t>{}) return std::move(best->mended);
      // Who found no room though it has the time comes first in the next attempt.
      if (!late) break;
      const auto at = std::find_if(tried.begin(), tried.end(),
                                   [&](const auto& entry) { return entry.second == *late; });
      std::rotate(tried.begin(), at, at + 1);
    }
  }
  // Where GPUs came back, the plans of before still hold.
  if (best->broken.first > 0 && all_hold(view)) return {};
  return std::move(best->mended);
}

}  // namespace weir::schedule
