// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/promises.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "schedule/admit/arrange.h"
#include "schedule/admit/margin.h"
#include "schedule/admit/slots.h"

namespace weir::schedule {
namespace {

// With more jobs than this only some are planned anew, on a coarser profile, so that an answer
// takes milliseconds.
constexpr std::size_t kAllPlannedAnew = 512;
constexpr std::size_t kLookedAt = 1024;
constexpr std::size_t kSomePlannedAnew = 32;
constexpr std::int64_t kCoarseParts = 64;
constexpr std::int64_t kFineParts = 256;
constexpr std::size_t kManyPieces = 4096;

// Giving back less than this is not worth a record.
constexpr Duration kWorthTrimming = from_seconds(60);

const SizeOption* option_of(const SizeTable& sizes, GpuBlock block) {
  const int level = level_of(sizes, block.size);
  return level == kPaused ? nullptr : &sizes[static_cast<std::size_t>(level)];
}

// Follows the job's timeline from its real state; visit(step end, work done by then) until false.
template <class Visit>
void follow(const TrainingJob& job, const Timeline& timeline, Time now, Visit visit) {
  GpuBlock block = job.block;
  Time ready = std::max(job.ready_at, now);
  for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
    const TimelineStep& step = timeline.steps[i];
    const Time to = i + 1 < timeline.steps.size() ? timeline.steps[i + 1].from : timeline.end;
    if (to <= now) continue;
    const Time from = std::max(step.from, now);
    const SizeOption* size = option_of(*job.sizes, step.block);
    if (step.block != block) {
      block = step.block;
      if (size != nullptr) ready = from + size->price;
    }
    if (!visit(from, ready, to, size)) return;
  }
}

Duration laxity(const JobToFill& job, Time now) {
  return job.deadline - now - time_for(job.left, job.sizes->back().rate);
}

// Until when the timeline is needed for what is left and a full reserve. Nothing when it is too
// short for that.
std::optional<Time> needed_until(const TrainingJob& job, Time now) {
  const SizeOption* top = nullptr;
  for (const TimelineStep& step : job.timeline.steps) {
    const SizeOption* size = option_of(*job.sizes, step.block);
    if (size != nullptr && (top == nullptr || size->gpus > top->gpus)) top = size;
  }
  if (top == nullptr) return std::nullopt;
  Work need = job.left_at(now) + top->rate * (top->price * kReserves.front());
  std::optional<Time> end;
  follow(job, job.timeline, now, [&](Time from, Time ready, Time to, const SizeOption* size) {
    const Time working = std::max(from, ready);
    if (size == nullptr || working >= to) return true;
    const Work gained = size->rate * (to - working);
    if (gained < need) {
      need -= gained;
      return true;
    }
    end = working + time_for(need, size->rate);
    return false;
  });
  return end;
}

Timeline cut_off(Timeline timeline, Time end) {
  timeline.end = end;
  std::erase_if(timeline.steps, [&](const TimelineStep& step) { return step.from >= end; });
  return timeline;
}

void take(std::vector<CapacityProfile::Change>& changes, const Timeline& timeline, Time end) {
  const std::size_t first = changes.size();
  give_back(changes, timeline, end);
  for (std::size_t i = first; i < changes.size(); ++i) changes[i].by = -changes[i].by;
}

// The sizes of a timeline from now on.
SizePlan size_plan(const Timeline& timeline, Time end, const SizeTable& sizes, Time now) {
  SizePlan plan;
  plan.end = std::max(end, now);
  for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
    if (timeline.end_of(i) <= now || timeline.steps[i].from >= end) continue;
    const int level = level_of(sizes, timeline.steps[i].block.size);
    plan.top_level = std::max(plan.top_level, level);
    if (!plan.steps.empty() && plan.steps.back().level == level) continue;
    plan.steps.push_back({std::max(timeline.steps[i].from, now), level});
  }
  return plan;
}

}  // namespace

JobToFill to_fill(const TrainingJob& job, Time now, Time deadline) {
  return {job.sizes.get(), job.left_at(now), deadline,
          job.level(),     job.ready_at,     job.spec->in_one_piece};
}

FillRules fill_rules(const PoolView& view, std::span<const int> reserves) {
  FillRules rules{view.now, view.config.slot, reserves};
  rules.raises_late = view.config.ablation.raises_late;
  return rules;
}

void give_back(std::vector<CapacityProfile::Change>& changes, const Timeline& timeline, Time end) {
  for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
    const auto gpus = static_cast<std::int32_t>(timeline.steps[i].block.size);
    const Time to = std::min(timeline.end_of(i), end);
    if (gpus == 0 || timeline.steps[i].from >= to) continue;
    changes.push_back({timeline.steps[i].from, gpus});
    changes.push_back({to, -gpus});
  }
}

Work reserve_of(const SizePlan& plan, const SizeTable& sizes) {
  const SizeOption& top = sizes[static_cast<std::size_t>(plan.top_level)];
  return top.rate * (top.price * plan.reserve);
}

Work spare_for_moves(const SizePlan& plan, const TrainingJob& job) {
  return job.spec->in_one_piece ? kNotToBeMoved : reserve_of(plan, *job.sizes);
}

Work planned_work(const TrainingJob& job, Time now, Time until) {
  Work done;
  follow(job, job.timeline, now, [&](Time from, Time ready, Time to, const SizeOption* size) {
    const Time working = std::max(from, ready);
    const Time end = std::min(to, until);
    if (size != nullptr && working < end) done += size->rate * (end - working);
    return to < until;
  });
  return done;
}

Work surplus(const TrainingJob& job, Time now) {
  return planned_work(job, now, job.spec->deadline) - job.left_at(now);
}

Work lost_by_leaving(const TrainingJob& job, Time now, Time there) {
  Work lost = planned_work(job, now, there);
  if (const GpuBlock back = job.timeline.block_at(there); !back.is_none()) {
    const SizeOption& size =
        (*job.sizes)[static_cast<std::size_t>(level_of(*job.sizes, back.size))];
    lost += size.rate * size.price;
  }
  return lost;
}

Duration laxity(const TrainingJob& job, Time now, Time deadline) {
  return deadline - now - time_for(job.left_at(now), job.sizes->back().rate);
}

Promises::Promises(const PoolView& view, const TrainingJob& newcomer, std::optional<JobId> left_out,
                   QuotaRule quotas)
    : view_{view}, newcomer_{newcomer}, quotas_{quotas}, profile_{view.unpromised} {
  promised_.reserve(view.pool.active.size());
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    if (job.is_promised() && id != left_out) promised_.push_back({id, &job, job.timeline.end});
  }
  if (left_out) {
    const Timeline& timeline = view.state.job(*left_out).timeline;
    std::vector<CapacityProfile::Change> changes;
    if (timeline.end > view.now) give_back(changes, timeline, timeline.end);
    profile_.apply(std::move(changes));
  }
  if (profile_.size() > kManyPieces) profile_ = profile_.coarsened(kFineParts);
}

// Jobs that are ahead of their timeline give its end back, less the reserve.
void Promises::trim() {
  if (std::exchange(is_trimmed_, true)) return;
  std::vector<CapacityProfile::Change> changes;
  for (Kept& kept : promised_) {
    const TrainingJob& job = *kept.job;
    if (job.block.is_none()) continue;  // it has done nothing since it was planned
    const auto end = needed_until(job, view_.now);
    if (!end || job.timeline.end - slot_after(*end, view_.config.slot) < kWorthTrimming) continue;
    kept.end = slot_after(*end, view_.config.slot);
    if (timelines_)
      timelines_->cut_off(static_cast<std::size_t>(&kept - promised_.data()), kept.end);
    for (std::size_t i = 0; i < job.timeline.steps.size(); ++i) {
      const Time from = std::max(job.timeline.steps[i].from, kept.end);
      const Time to = job.timeline.end_of(i);
      const auto gpus = static_cast<std::int32_t>(job.timeline.steps[i].block.size);
      if (from >= to || gpus == 0) continue;
      changes.push_back({from, gpus});
      changes.push_back({to, -gpus});
    }
  }
  profile_.apply(std::move(changes));
  room_.reset();
}

const CapacityProfile& Promises::room() {
  if (!view_.state.tenants) return profile_;
  if (!room_) {
    PromisedUse used{view_.state, view_.pool, view_.now};
    for (const Kept& kept : promised_) used.add(kept.job->tenant, kept.job->timeline, kept.end);
    room_ = used.within(profile_, newcomer_.tenant, quotas_);
  }
  return *room_;
}

// Whether it is the quota that is in the way, and which part of it.
void Promises::find_obstacle(Time deadline) {
  if (!view_.state.tenants) return;
  const JobToFill job = to_fill(newcomer_, view_.now, deadline);
  if (!fill(profile_, job, fill_rules(view_))) return;
  PromisedUse used{view_.state, view_.pool, view_.now};
  for (const Kept& kept : promised_) used.add(kept.job->tenant, kept.job->timeline, kept.end);
  const auto below_maxima = used.within(profile_, newcomer_.tenant, QuotaRule::maxima);
  if (!fill(below_maxima, job, fill_rules(view_))) {
    obstacle_ = {ReasonCode::over_quota,
                 static_cast<std::uint64_t>(used.maximum_of(newcomer_.tenant))};
  } else if (!fill(room(), job, fill_rules(view_))) {
    obstacle_ = {ReasonCode::guaranteed_others, 0};
  }
}

FixedTimelines& Promises::timelines() {
  if (!timelines_) {
    timelines_.emplace(view_.pool.closed);
    for (const Kept& kept : promised_) timelines_->add(kept.job->timeline, kept.end);
  }
  return *timelines_;
}

std::optional<Promise> Promises::promise_by(Time deadline) {
  if (auto promise = insert(deadline)) return promise;
  if (!is_trimmed_) {
    trim();
    if (auto promise = insert(deadline)) return promise;
  }
  std::optional<Promise> replanned;
  if (promised_.size() > kAllPlannedAnew) {
    replanned = replan_some(deadline);
  }
  // A large reserve of one job can be what another lacks: with less of it for all, both may fit.
  for (std::size_t first = 0; first < kReserves.size() && !replanned; ++first) {
    if (promised_.size() > kAllPlannedAnew) break;
    replanned = replan_all(deadline, std::span{kReserves}.subspan(first));
  }
  if (!replanned) find_obstacle(deadline);
  return replanned;
}

std::optional<Promise> Promises::insert(Time deadline) {
  const auto plan = fill(room(), to_fill(newcomer_, view_.now, deadline), fill_rules(view_));
  if (!plan) return std::nullopt;
  auto timeline = timelines().arrange(*plan, *newcomer_.sizes, newcomer_.block);
  if (!timeline) return std::nullopt;
  Promise promise{deadline, std::move(*timeline), {}, {ReasonCode::fits_beside_promises, 0}};
  for (const Kept& kept : promised_) {
    if (kept.end != kept.job->timeline.end)
      promise.revised.emplace_back(kept.id, cut_off(kept.job->timeline, kept.end));
  }
  return promise;
}

// Plans jobs one after the other, the least laxity first, on what others leave. A job that finds no
// room comes first in the next attempt. Nothing when the attempts are used up.
std::optional<std::vector<SizePlan>> Promises::plan_in_order(const std::vector<ToPlan>& jobs,
                                                             const CapacityProfile& others,
                                                             const PromisedUse& used,
                                                             std::span<const int> reserves,
                                                             int repairs) {
  std::vector<std::pair<Duration, std::size_t>> order;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    order.emplace_back(laxity(jobs[i].job, view_.now), i);
  std::sort(order.begin(), order.end());
  const FillRules rules = fill_rules(view_, reserves);
  std::vector<SizePlan> plans(jobs.size());
  // The first that found no room, or none.
  const auto plan_all = [&] {
    CapacityProfile profile = others;
    PromisedUse used_by_then = used;
    for (auto at = order.begin(); at != order.end(); ++at) {
      const std::size_t i = at->second;
      const auto& [job, tenant] = jobs[i];
      auto plan = used.is_limited()
                      ? fill(used_by_then.within(profile, tenant, quotas_), job, rules)
                      : fill(profile, job, rules);
      if (!plan) return at;
      subtract(profile, *plan, *job.sizes);
      used_by_then.add(tenant, *plan, *job.sizes);
      plans[i] = std::move(*plan);
    }
    return order.end();
  };
  auto failed = plan_all();
  for (; repairs > 0 && failed != order.end(); --repairs) {
    std::rotate(order.begin(), failed, failed + 1);
    failed = plan_all();
  }
  if (failed == order.end()) return plans;
  obstacle_ = {ReasonCode::no_room, 0};
  return std::nullopt;
}

std::optional<Promise> Promises::replan_all(Time deadline, std::span<const int> reserves) {
  // Jobs whose promise is broken anyway keep what they have.
  std::vector<std::size_t> chosen;
  std::vector<ToPlan> jobs;  // the newcomer last
  PromisedUse used{view_.state, view_.pool, view_.now};
  CapacityProfile others{view_.now, view_.pool.gpus_up() - view_.held_back};
  std::vector<CapacityProfile::Change> kept;
  for (std::size_t i = 0; i < promised_.size(); ++i) {
    const TrainingJob& job = *promised_[i].job;
    if (promised_[i].end <= view_.now) continue;
    if (job.is_at_risk) {
      take(kept, job.timeline, promised_[i].end);
      used.add(job.tenant, job.timeline, promised_[i].end);
      continue;
    }
    chosen.push_back(i);
    jobs.push_back({to_fill(job, view_.now, planned_end(job)), job.tenant});
  }
  jobs.push_back({to_fill(newcomer_, view_.now, deadline), newcomer_.tenant});
  others.apply(std::move(kept));
  const auto plans = plan_in_order(jobs, others, used, reserves, kRepairs);
  if (!plans) return std::nullopt;
  return arranged(deadline, chosen, *plans);
}

// With many jobs: only those that can wait longest, of those that came last, and no one else moves.
std::optional<Promise> Promises::replan_some(Time deadline) {
  std::vector<std::pair<Duration, std::size_t>> flexible;
  const std::size_t count = promised_.size();
  for (std::size_t i = count - std::min(count, kLookedAt); i < count; ++i) {
    const TrainingJob& job = *promised_[i].job;
    if (job.is_at_risk || promised_[i].end <= view_.now) continue;
    if (job.timeline.steps.front().from >= deadline) continue;
    flexible.emplace_back(laxity(job, view_.now, job.spec->deadline), i);
  }
  std::sort(flexible.begin(), flexible.end(), std::greater<>{});
  if (flexible.size() > kSomePlannedAnew) flexible.resize(kSomePlannedAnew);
  std::vector<CapacityProfile::Change> changes;
  std::vector<ToPlan> jobs;  // the newcomer last
  std::vector<std::uint8_t> is_flexible(count, 0);
  for (const auto& [slack, i] : flexible) {
    is_flexible[i] = 1;
    const TrainingJob& job = *promised_[i].job;
    give_back(changes, job.timeline, promised_[i].end);
    jobs.push_back({to_fill(job, view_.now, planned_end(job)), job.tenant});
  }
  jobs.push_back({to_fill(newcomer_, view_.now, deadline), newcomer_.tenant});
  PromisedUse used{view_.state, view_.pool, view_.now};
  for (std::size_t i = 0; i < count && used.is_limited(); ++i) {
    const Kept& kept = promised_[i];
    if (is_flexible[i] == 0) used.add(kept.job->tenant, kept.job->timeline, kept.end);
  }
  CapacityProfile others = profile_;
  others.apply(std::move(changes));
  others = others.coarsened(kCoarseParts);
  obstacle_ = {ReasonCode::no_room, 0};
  if (!fill(others, jobs.back().job, fill_rules(view_))) return std::nullopt;
  const auto plans = plan_in_order(jobs, others, used, kReserves, 0);
  if (!plans) return std::nullopt;
  return arranged_beside(deadline, flexible, *plans);
}

// Blocks for the new plans; everybody else stays. The large ones choose first.
std::optional<Promise> Promises::arranged_beside(
    Time deadline, const std::vector<std::pair<Duration, std::size_t>>& replanned,
    const std::vector<SizePlan>& plans) {
  std::vector<std::uint8_t> is_replanned(promised_.size(), 0);
  FixedTimelines fixed = timelines();
  for (const auto& [slack, i] : replanned) {
    is_replanned[i] = 1;
    fixed.cut_off(i, Time::min());
  }
  const auto job_at = [&](std::size_t k) -> const TrainingJob& {
    return k == replanned.size() ? newcomer_ : *promised_[replanned[k].second].job;
  };
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return (*job_at(a).sizes)[static_cast<std::size_t>(plans[a].top_level)].gpus >
           (*job_at(b).sizes)[static_cast<std::size_t>(plans[b].top_level)].gpus;
  });
  Promise promise;
  promise.deadline = deadline;
  for (const std::size_t k : order) {
    auto timeline = fixed.arrange(plans[k], *job_at(k).sizes, job_at(k).block);
    if (!timeline) {
      obstacle_ = {ReasonCode::no_block, 0};
      return std::nullopt;
    }
    fixed.add(*timeline, timeline->end);
    if (k == replanned.size()) {
      promise.timeline = std::move(*timeline);
    } else {
      promise.revised.emplace_back(promised_[replanned[k].second].id, std::move(*timeline));
    }
  }
  for (std::size_t i = 0; i < promised_.size(); ++i) {
    const Kept& kept = promised_[i];
    if (is_replanned[i] == 0 && kept.end != kept.job->timeline.end)
      promise.revised.emplace_back(kept.id, cut_off(kept.job->timeline, kept.end));
  }
  std::sort(promise.revised.begin(), promise.revised.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  promise.reason = {ReasonCode::fits_after_replan, promise.revised.size()};
  return promise;
}

// Blocks for all plans: the new ones, and those of jobs that keep their sizes.
std::optional<Promise> Promises::arranged(Time deadline, const std::vector<std::size_t>& replanned,
                                          const std::vector<SizePlan>& plans) {
  std::vector<SizePlan> kept_plans(promised_.size());
  std::vector<PlanToArrange> to_arrange(promised_.size() + 1);
  for (std::size_t k = 0; k < replanned.size(); ++k) {
    const TrainingJob& job = *promised_[replanned[k]].job;
    to_arrange[replanned[k]] = {job.sizes.get(), &plans[k], job.block,
                                spare_for_moves(plans[k], job)};
  }
  to_arrange.back() = {newcomer_.sizes.get(), &plans.back(), newcomer_.block,
                       spare_for_moves(plans.back(), newcomer_)};
  for (std::size_t i = 0; i < promised_.size(); ++i) {
    if (to_arrange[i].plan != nullptr) continue;
    const TrainingJob& job = *promised_[i].job;
    kept_plans[i] = size_plan(job.timeline, promised_[i].end, *job.sizes, view_.now);
    // A cut-off end has used up what was beyond it.
    Work spare = promised_[i].end == job.timeline.end ? surplus(job, view_.now) : Work{};
    if (job.spec->in_one_piece) spare = kNotToBeMoved;
    to_arrange[i] = {job.sizes.get(), &kept_plans[i], job.block, spare};
  }
  auto arrangement = arrange_all(to_arrange, view_.pool.closed, view_.now);
  if (!arrangement) {
    obstacle_ = {ReasonCode::no_block, 0};
    return std::nullopt;
  }
  Promise promise;
  promise.deadline = deadline;
  promise.timeline = std::move(arrangement->timelines.back());
  for (std::size_t i = 0; i < promised_.size(); ++i) {
    if (arrangement->timelines[i] == promised_[i].job->timeline) continue;
    promise.revised.emplace_back(promised_[i].id, std::move(arrangement->timelines[i]));
  }
  promise.reason = {ReasonCode::fits_after_replan, promise.revised.size()};
  return promise;
}

std::optional<Time> Promises::earliest_deadline(Time after,
                                                const std::function<bool(Time)>& is_welcome) {
  constexpr int kDoublings = 40;
  constexpr int kSteps = 8;
  const SizeOption& best = newcomer_.sizes->back();
  const Duration alone = best.price + time_for(newcomer_.left, best.rate);
  Time infeasible = std::max(after, view_.now + alone - Duration{1});
  Duration reach = std::max(infeasible - view_.now, Duration{1});
  std::optional<Time> feasible;
  for (int i = 0; i < kDoublings && !feasible; ++i) {
    const Time candidate = infeasible + reach;
    if (is_welcome(candidate) && insert(candidate)) {
      feasible = candidate;
    } else {
      infeasible = candidate;
      reach *= 2;
      if (reach > std::chrono::hours{24 * 365 * 100}) break;
    }
  }
  if (!feasible) return std::nullopt;
  for (int i = 0; i < kSteps; ++i) {
    const Time middle = infeasible + (*feasible - infeasible) / 2;
    const bool is_possible = is_welcome(middle) && promise_by(middle);
    (is_possible ? *feasible : infeasible) = middle;
  }
  return feasible;
}

}  // namespace weir::schedule
