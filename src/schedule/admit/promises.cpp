// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/promises.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "schedule/admit/arrange.h"

namespace weir::schedule {
namespace {

constexpr std::array kReserves{4, 1, 0};

// How often a job that found no room is planned first instead.
constexpr int kRepairs = 8;

// With more jobs than this only some are planned anew, on a coarser profile, so that an answer
// takes milliseconds.
constexpr std::size_t kAllPlannedAnew = 512;
constexpr std::ptrdiff_t kSomePlannedAnew = 128;
constexpr std::int64_t kCoarseParts = 64;

// Giving back less than this is not worth a record.
constexpr Duration kWorthTrimming = from_seconds(60);

Time round_up(Time time, Duration slot) {
  if (slot.count() == 0) return time;
  return Time{slot * ((time.time_since_epoch() + slot - Duration{1}) / slot)};
}

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

JobToFill to_fill(const TrainingJob& job, Time now, Time deadline) {
  return {job.sizes.get(), job.left_at(now), deadline, job.level(), job.ready_at};
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

// The GPUs of the timeline until `end`, as changes to a profile.
void give_back(std::vector<CapacityProfile::Change>& changes, const Timeline& timeline, Time end) {
  for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
    const auto gpus = static_cast<std::int32_t>(timeline.steps[i].block.size);
    const Time to = std::min(timeline.end_of(i), end);
    if (gpus == 0 || timeline.steps[i].from >= to) continue;
    changes.push_back({timeline.steps[i].from, gpus});
    changes.push_back({to, -gpus});
  }
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

Work reserve_of(const SizePlan& plan, const SizeTable& sizes) {
  const SizeOption& top = sizes[static_cast<std::size_t>(plan.top_level)];
  return top.rate * (top.price * plan.reserve);
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

Duration laxity(const TrainingJob& job, Time now, Time deadline) {
  return deadline - now - time_for(job.left_at(now), job.sizes->back().rate);
}

Promises::Promises(const PoolView& view, const TrainingJob& newcomer, std::optional<JobId> left_out)
    : view_{view}, newcomer_{newcomer}, profile_{view.unpromised} {
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
  trim();
}

// Jobs that are ahead of their timeline give its end back, less the reserve.
void Promises::trim() {
  std::vector<CapacityProfile::Change> changes;
  for (Kept& kept : promised_) {
    const TrainingJob& job = *kept.job;
    if (job.block.is_none()) continue;  // it has done nothing since it was planned
    const auto end = needed_until(job, view_.now);
    if (!end || job.timeline.end - round_up(*end, view_.config.slot) < kWorthTrimming) continue;
    kept.end = round_up(*end, view_.config.slot);
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
}

std::optional<Promise> Promises::promise_by(Time deadline) {
  if (auto promise = insert(deadline)) return promise;
  // A large reserve of one job can be what another lacks: with less of it for all, both may fit.
  for (std::size_t first = 0; first < kReserves.size(); ++first) {
    if (auto promise = replan(deadline, std::span{kReserves}.subspan(first))) return promise;
    if (promised_.size() > kAllPlannedAnew) break;
  }
  return std::nullopt;
}

std::optional<Promise> Promises::insert(Time deadline) {
  const FillRules rules{view_.now, view_.config.slot, kReserves};
  const auto plan = fill(profile_, to_fill(newcomer_, view_.now, deadline), rules);
  if (!plan) return std::nullopt;
  std::vector<OtherTimeline> others;
  others.reserve(promised_.size());
  for (const Kept& kept : promised_) others.push_back({&kept.job->timeline, kept.end});
  auto timeline = arrange_one(*plan, *newcomer_.sizes, newcomer_.block, others, view_.pool.closed);
  if (!timeline) return std::nullopt;
  Promise promise{deadline, std::move(*timeline), {}, {ReasonCode::fits_beside_promises, 0}};
  for (const Kept& kept : promised_) {
    if (kept.end != kept.job->timeline.end)
      promise.revised.emplace_back(kept.id, cut_off(kept.job->timeline, kept.end));
  }
  return promise;
}

// All of them, if they are not too many; else those that can wait longest.
std::vector<std::size_t> Promises::jobs_to_replan(Time deadline) const {
  std::vector<std::pair<Duration, std::size_t>> by_laxity;
  by_laxity.reserve(promised_.size());
  const bool has_many = promised_.size() > kAllPlannedAnew;
  for (std::size_t i = 0; i < promised_.size(); ++i) {
    const TrainingJob& job = *promised_[i].job;
    if (job.is_at_risk || promised_[i].end <= view_.now) continue;
    if (has_many && job.timeline.steps.front().from >= deadline) continue;
    by_laxity.emplace_back(laxity(job, view_.now, job.spec->deadline), i);
  }
  if (has_many && by_laxity.size() > kSomePlannedAnew) {
    std::nth_element(by_laxity.begin(), by_laxity.end() - kSomePlannedAnew, by_laxity.end());
    by_laxity.erase(by_laxity.begin(), by_laxity.end() - kSomePlannedAnew);
  }
  std::vector<std::size_t> chosen;
  chosen.reserve(by_laxity.size());
  for (const auto& [slack, i] : by_laxity) chosen.push_back(i);
  return chosen;
}

std::optional<Promise> Promises::replan(Time deadline, std::span<const int> reserves) {
  const std::vector<std::size_t> chosen = jobs_to_replan(deadline);
  const bool are_all = chosen.size() == promised_.size();
  // What those have who are not planned anew stays taken.
  CapacityProfile others = are_all ? CapacityProfile{view_.now, view_.pool.gpus_up()} : profile_;
  if (!are_all) {
    std::vector<CapacityProfile::Change> changes;
    for (const std::size_t i : chosen)
      give_back(changes, promised_[i].job->timeline, promised_[i].end);
    others.apply(std::move(changes));
    if (promised_.size() > kAllPlannedAnew) others = others.coarsened(kCoarseParts);
  }
  // The newcomer comes last in `jobs`.
  std::vector<JobToFill> jobs;
  std::vector<std::pair<Duration, std::size_t>> order;
  jobs.reserve(chosen.size() + 1);
  for (const std::size_t i : chosen)
    jobs.push_back(to_fill(*promised_[i].job, view_.now, promised_[i].job->spec->deadline));
  jobs.push_back(to_fill(newcomer_, view_.now, deadline));
  for (std::size_t i = 0; i < jobs.size(); ++i) order.emplace_back(laxity(jobs[i], view_.now), i);
  std::sort(order.begin(), order.end());
  const FillRules rules{view_.now, view_.config.slot, reserves};
  std::vector<SizePlan> plans(jobs.size());
  // Plans all in that order; the first that found no room, or none.
  const auto plan_all = [&] {
    CapacityProfile profile = others;
    for (auto at = order.begin(); at != order.end(); ++at) {
      const std::size_t i = at->second;
      auto plan = fill(profile, jobs[i], rules);
      if (!plan) return at;
      subtract(profile, *plan, *jobs[i].sizes);
      plans[i] = std::move(*plan);
    }
    return order.end();
  };
  auto failed = plan_all();
  const int repairs = promised_.size() > kAllPlannedAnew ? 0 : kRepairs;
  for (int repair = 0; repair < repairs && failed != order.end(); ++repair) {
    std::rotate(order.begin(), failed, failed + 1);
    failed = plan_all();
  }
  if (failed != order.end()) {
    obstacle_ = ReasonCode::no_room;
    return std::nullopt;
  }
  return arranged(deadline, chosen, plans);
}

// Blocks for all plans: the new ones, and those of jobs that keep their sizes.
std::optional<Promise> Promises::arranged(Time deadline, const std::vector<std::size_t>& replanned,
                                          const std::vector<SizePlan>& plans) {
  std::vector<SizePlan> kept_plans(promised_.size());
  std::vector<PlanToArrange> to_arrange(promised_.size() + 1);
  for (std::size_t k = 0; k < replanned.size(); ++k) {
    const TrainingJob& job = *promised_[replanned[k]].job;
    to_arrange[replanned[k]] = {job.sizes.get(), &plans[k], job.block,
                                reserve_of(plans[k], *job.sizes)};
  }
  to_arrange.back() = {newcomer_.sizes.get(), &plans.back(), newcomer_.block,
                       reserve_of(plans.back(), *newcomer_.sizes)};
  for (std::size_t i = 0; i < promised_.size(); ++i) {
    if (to_arrange[i].plan != nullptr) continue;
    const TrainingJob& job = *promised_[i].job;
    kept_plans[i] = size_plan(job.timeline, promised_[i].end, *job.sizes, view_.now);
    // A cut-off end has used up what was beyond it.
    const Work spare = promised_[i].end == job.timeline.end ? surplus(job, view_.now) : Work{};
    to_arrange[i] = {job.sizes.get(), &kept_plans[i], job.block, spare};
  }
  auto arrangement = arrange_all(to_arrange, view_.pool.closed, view_.now);
  if (!arrangement) {
    obstacle_ = ReasonCode::no_block;
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

std::optional<Time> Promises::earliest_deadline(Time after) {
  constexpr int kDoublings = 40;
  constexpr int kSteps = 8;
  const SizeOption& best = newcomer_.sizes->back();
  const Duration alone = best.price + time_for(newcomer_.left, best.rate);
  Time infeasible = std::max(after, view_.now + alone - Duration{1});
  Duration reach = std::max(infeasible - view_.now, Duration{1});
  std::optional<Time> feasible;
  for (int i = 0; i < kDoublings && !feasible; ++i) {
    const Time candidate = infeasible + reach;
    if (insert(candidate)) {
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
    (promise_by(middle) ? *feasible : infeasible) = middle;
  }
  return feasible;
}

}  // namespace weir::schedule
