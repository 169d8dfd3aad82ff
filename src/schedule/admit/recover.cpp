// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/recover.h"

#include <algorithm>

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

}  // namespace

std::vector<Mended> mend_job(const PoolView& view, JobId id) {
  const TrainingJob& job = view.state.job(id);
  Promises promises{view, job, id, QuotaRule::maxima};
  std::vector<Mended> mended;
  if (auto promise = promises.promise_by(job.spec->deadline)) {
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
  std::vector<std::pair<Duration, JobId>> order;
  std::vector<JobId> late;
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    if (!job.is_promised()) continue;
    order.emplace_back(laxity(job, view.now, job.spec->deadline), id);
  }
  std::sort(order.begin(), order.end());
  CapacityProfile profile{view.now, view.pool.gpus_up()};
  PromisedUse used{view.state, view.pool, view.now};
  std::vector<SizePlan> plans;
  std::vector<JobId> jobs;
  for (const auto& [slack, id] : order) {
    const TrainingJob& job = view.state.job(id);
    auto plan = fill(used.within(profile, job.tenant, QuotaRule::maxima), to_fill(view, job),
                     fill_rules(view));
    if (!plan) {
      late.push_back(id);
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
  std::vector<Mended> mended;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    TrainingJob job = view.state.job(jobs[i]);
    // Where even moving everyone does not help, it takes what is left over.
    job.timeline = arrangement ? std::move(arrangement->timelines[i]) : Timeline{{}, view.now};
    const bool is_kept = surplus(job, view.now) >= Work{};
    mended.push_back({jobs[i], std::move(job.timeline),
                      is_kept ? Mended::Outcome::kept : Mended::Outcome::at_risk, plans[i].end});
  }
  return mended;
}

}  // namespace weir::schedule
