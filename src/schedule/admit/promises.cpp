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

Work reserve_of(const SizePlan& plan, const SizeTable& sizes) {
  const SizeOption& top = sizes[static_cast<std::size_t>(plan.top_level)];
  return top.rate * (top.price * plan.reserve);
}

}  // namespace

Work surplus(const TrainingJob& job, Time now) {
  Work done;
  follow(job, job.timeline, now, [&](Time from, Time ready, Time to, const SizeOption* size) {
    const Time until = std::min(to, job.spec->deadline);
    const Time working = std::max(from, ready);
    if (size != nullptr && working < until) done += size->rate * (until - working);
    return true;
  });
  return done - job.left_at(now);
}

Duration laxity(const TrainingJob& job, Time now, Time deadline) {
  return deadline - now - time_for(job.left_at(now), job.sizes->back().rate);
}

Promises::Promises(const TrainingState& state, const PoolState& pool, const TrainingJob& newcomer,
                   Time now, const TrainingConfig& config)
    : state_{state}, pool_{pool}, newcomer_{newcomer}, now_{now}, config_{config} {
  for (const JobId id : pool.active) {
    if (state.job(id).is_promised()) promised_.push_back(id);
  }
  trim();
  profile_ = CapacityProfile{now, pool.gpus_up()};
  for (const Timeline& timeline : timelines_) {
    for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
      const Time to = i + 1 < timeline.steps.size() ? timeline.steps[i + 1].from : timeline.end;
      const Time from = std::max(timeline.steps[i].from, now);
      if (from < to)
        profile_.add(from, to, -static_cast<std::int32_t>(timeline.steps[i].block.size));
    }
  }
}

// Jobs that are ahead of their timeline give its end back, less the reserve.
void Promises::trim() {
  timelines_.reserve(promised_.size());
  is_trimmed_.assign(promised_.size(), 0);
  for (std::size_t i = 0; i < promised_.size(); ++i) {
    const TrainingJob& job = state_.job(promised_[i]);
    timelines_.push_back(job.timeline);
    const SizeOption* top = nullptr;
    for (const TimelineStep& step : job.timeline.steps) {
      const SizeOption* size = option_of(*job.sizes, step.block);
      if (size != nullptr && (top == nullptr || size->gpus > top->gpus)) top = size;
    }
    if (top == nullptr) continue;
    Work need = job.left_at(now_) + top->rate * (top->price * kReserves.front());
    std::optional<Time> end;
    follow(job, job.timeline, now_, [&](Time from, Time ready, Time to, const SizeOption* size) {
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
    if (!end) continue;
    if (config_.slot.count() > 0) {
      const auto slots = (end->time_since_epoch() + config_.slot - Duration{1}) / config_.slot;
      end = Time{config_.slot * slots};
    }
    if (*end >= job.timeline.end) continue;
    timelines_.back().end = *end;
    std::erase_if(timelines_.back().steps,
                  [&](const TimelineStep& step) { return step.from >= *end; });
    is_trimmed_[i] = 1;
  }
}

std::optional<Promise> Promises::promise_by(Time deadline) {
  if (auto promise = insert(deadline)) return promise;
  // A large reserve of one job can be what another lacks: with less of it for all, both may fit.
  for (std::size_t first = 0; first < kReserves.size(); ++first) {
    if (auto promise = replan(deadline, std::span{kReserves}.subspan(first))) return promise;
  }
  return std::nullopt;
}

std::optional<Promise> Promises::insert(Time deadline) {
  const FillRules rules{now_, config_.slot, kReserves};
  const auto plan = fill(profile_, to_fill(newcomer_, now_, deadline), rules);
  if (!plan) return std::nullopt;
  std::vector<const Timeline*> others;
  others.reserve(timelines_.size());
  for (const Timeline& timeline : timelines_) others.push_back(&timeline);
  auto timeline = arrange_one(*plan, *newcomer_.sizes, others, pool_.closed);
  if (!timeline) return std::nullopt;
  Promise promise{deadline, std::move(*timeline), {}, {ReasonCode::fits_beside_promises, 0}};
  for (std::size_t i = 0; i < promised_.size(); ++i) {
    if (is_trimmed_[i] != 0) promise.revised.emplace_back(promised_[i], timelines_[i]);
  }
  return promise;
}

std::optional<Promise> Promises::replan(Time deadline, std::span<const int> reserves) {
  // The newcomer comes last in `jobs`; the order in which they are planned is by laxity.
  std::vector<const TrainingJob*> jobs;
  jobs.reserve(promised_.size() + 1);
  for (const JobId id : promised_) jobs.push_back(&state_.job(id));
  jobs.push_back(&newcomer_);
  const auto deadline_of = [&](std::size_t i) {
    return i == promised_.size() ? deadline : jobs[i]->spec->deadline;
  };
  std::vector<std::pair<Duration, std::size_t>> by_laxity;
  by_laxity.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i)
    by_laxity.emplace_back(laxity(*jobs[i], now_, deadline_of(i)), i);
  std::sort(by_laxity.begin(), by_laxity.end());
  const FillRules rules{now_, config_.slot, reserves};
  std::vector<SizePlan> plans(jobs.size());
  // Plans all in that order; the first that found no room, or none.
  const auto plan_all = [&] {
    CapacityProfile profile{now_, pool_.gpus_up()};
    for (auto at = by_laxity.begin(); at != by_laxity.end(); ++at) {
      const std::size_t i = at->second;
      auto plan = fill(profile, to_fill(*jobs[i], now_, deadline_of(i)), rules);
      if (!plan) return at;
      subtract(profile, *plan, *jobs[i]->sizes);
      plans[i] = std::move(*plan);
    }
    return by_laxity.end();
  };
  auto failed = plan_all();
  for (int repair = 0; repair < kRepairs && failed != by_laxity.end(); ++repair) {
    std::rotate(by_laxity.begin(), failed, failed + 1);
    failed = plan_all();
  }
  if (failed != by_laxity.end()) {
    obstacle_ = ReasonCode::no_room;
    return std::nullopt;
  }
  std::vector<PlanToArrange> to_arrange;
  to_arrange.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    to_arrange.push_back(
        {jobs[i]->sizes.get(), &plans[i], jobs[i]->block, reserve_of(plans[i], *jobs[i]->sizes)});
  }
  auto arrangement = arrange_all(to_arrange, pool_.closed, now_);
  if (!arrangement) {
    obstacle_ = ReasonCode::no_block;
    return std::nullopt;
  }
  Promise promise;
  promise.deadline = deadline;
  promise.timeline = std::move(arrangement->timelines.back());
  for (std::size_t i = 0; i < promised_.size(); ++i) {
    if (arrangement->timelines[i] == state_.job(promised_[i]).timeline) continue;
    promise.revised.emplace_back(promised_[i], std::move(arrangement->timelines[i]));
  }
  promise.reason = {ReasonCode::fits_after_replan, promise.revised.size()};
  return promise;
}

std::optional<Time> Promises::earliest_deadline(Time after) {
  constexpr int kDoublings = 40;
  constexpr int kSteps = 8;
  const SizeOption& best = newcomer_.sizes->back();
  const Duration alone = best.price + time_for(newcomer_.left, best.rate);
  Time infeasible = std::max(after, now_ + alone - Duration{1});
  Duration reach = std::max(infeasible - now_, Duration{1});
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
