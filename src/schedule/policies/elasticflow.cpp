// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/elasticflow.h"

#include <algorithm>
#include <array>
#include <optional>

#include "schedule/policies/deadline_order.h"

namespace weir::schedule {
namespace {

// How long "now" lasts when weighing a larger size, without slots.
constexpr Duration kPresent = from_seconds(60);
constexpr std::array kNoReserve{0};

// A job and its plan.
struct Planned {
  JobId id;
  const TrainingJob* job = nullptr;
  SizeTable sizes;
  SizePlan plan;
  std::int64_t cost = 0;  // GPU-time of the plan, in GPU-milliseconds

  int level() const { return plan.steps.empty() ? kPaused : plan.steps.front().level; }
  std::int32_t gpus(int at) const {
    return at == kPaused ? 0 : sizes[static_cast<std::size_t>(at)].gpus;
  }
};

std::int64_t gpu_time(const SizePlan& plan, const SizeTable& sizes) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const SizeStep& step = plan.steps[i];
    if (step.level == kPaused || step.from >= plan.end) continue;
    sum += (plan.end_of(i) - step.from) / std::chrono::milliseconds{1} *
           sizes[static_cast<std::size_t>(step.level)].gpus;
  }
  return sum;
}

class Planner {
 public:
  Planner(const PoolState& pool, Time now, Duration slot)
      : profile_{now, pool.gpus_up()}, now_{now}, slot_{slot} {}

  // False when the job cannot meet its deadline; it is then planned as early as possible.
  bool add(JobId id, const TrainingJob& job) {
    Planned planned{id, &job, *job.sizes, {}, 0};
    const FillRules rules{now_, slot_, kNoReserve, false};
    auto plan = job.has_deadline() ? fill(profile_, fillable(planned), rules) : std::nullopt;
    const bool meets = plan.has_value();
    if (!plan) plan = fill_greedily(profile_, fillable(planned), rules);
    planned.plan = std::move(*plan);
    planned.cost = gpu_time(planned.plan, planned.sizes);
    subtract(profile_, planned.plan, planned.sizes);
    jobs_.push_back(std::move(planned));
    return meets;
  }

  void hand_out_left_overs() {
    struct Candidate {
      std::int64_t saved_per_gpu;
      SizePlan plan;
      std::int64_t cost;
    };
    std::vector<std::optional<Candidate>> candidates(jobs_.size());
    const auto consider = [&](std::size_t i) {
      candidates[i].reset();
      Planned& job = jobs_[i];
      const int next = job.level() + 1;
      if (next >= static_cast<int>(job.sizes.size())) return;
      const std::int32_t more = job.gpus(next) - job.gpus(job.level());
      if (more > profile_.free_at(now_)) return;
      auto plan = with_more_now(job, next);
      if (!plan) return;
      const std::int64_t cost = gpu_time(*plan, job.sizes);
      // Whoever has nothing and could start comes first.
      const std::int64_t saved = job.level() == kPaused ? std::numeric_limits<std::int64_t>::max()
                                                        : (job.cost - cost) / more;
      candidates[i] = Candidate{saved, std::move(*plan), cost};
    };
    for (std::size_t i = 0; i < jobs_.size(); ++i) consider(i);
    while (profile_.free_at(now_) > 0) {
      std::optional<std::size_t> best;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (!candidates[i]) continue;
        const int next = jobs_[i].level() + 1;
        if (jobs_[i].gpus(next) - jobs_[i].gpus(jobs_[i].level()) > profile_.free_at(now_))
          continue;
        if (!best || candidates[i]->saved_per_gpu > candidates[*best]->saved_per_gpu) best = i;
      }
      if (!best) break;
      Planned& job = jobs_[*best];
      give_back(profile_, job.plan, job.sizes);
      // Others have changed the profile since: plan again.
      auto plan = with_more_now_on(profile_, job, job.level() + 1);
      if (!plan) {
        subtract(profile_, job.plan, job.sizes);
        candidates[*best].reset();
        continue;
      }
      job.plan = std::move(*plan);
      job.cost = gpu_time(job.plan, job.sizes);
      subtract(profile_, job.plan, job.sizes);
      consider(*best);
    }
  }

  const std::vector<Planned>& jobs() const { return jobs_; }

 private:
  JobToFill fillable(const Planned& planned) const {
    JobToFill job = to_fill(*planned.job, now_);
    job.sizes = &planned.sizes;
    return job;
  }

  std::optional<SizePlan> with_more_now(const Planned& job, int level) {
    CapacityProfile profile = profile_;
    give_back(profile, job.plan, job.sizes);
    return with_more_now_on(profile, job, level);
  }

  // That level now, and as few GPUs as needed afterwards. Nothing when the deadline does not hold
  // any more.
  std::optional<SizePlan> with_more_now_on(const CapacityProfile& profile, const Planned& job,
                                           int level) const {
    if (profile.free_at(now_) < job.gpus(level)) return std::nullopt;
    JobToFill rest = fillable(job);
    const SizeOption& size = job.sizes[static_cast<std::size_t>(level)];
    const Duration present = slot_.count() > 0 ? slot_ : kPresent;
    // What it does not do now because it is being rescaled.
    const Time ready = level == rest.level ? std::max(now_, rest.ready_at) : now_ + size.price;
    SizePlan plan;
    const Duration to_end = ready - now_ + time_for(rest.left, size.rate);
    if (to_end <= present) {
      plan.steps.push_back({now_, level});
      plan.end = now_ + to_end;
      plan.top_level = level;
      return plan;
    }
    rest.left -= size.rate * std::max(Duration{0}, present - (ready - now_));
    rest.level = level;
    rest.ready_at = ready;
    const Time later = now_ + present;
    const FillRules rules{later, slot_, kNoReserve, false};
    auto after = job.job->has_deadline() ? fill(profile, rest, rules) : std::nullopt;
    if (!after) after = fill_greedily(profile, rest, rules);
    plan = std::move(*after);
    if (plan.steps.empty() || plan.steps.front().from > later)
      plan.steps.insert(plan.steps.begin(), {later, kPaused});
    plan.steps.insert(plan.steps.begin(), {now_, level});
    return plan;
  }

  CapacityProfile profile_;
  Time now_;
  Duration slot_;
  std::vector<Planned> jobs_;
};

}  // namespace

Verdict ElasticFlowPolicy::judge(const PoolView& view, const TrainingJob& newcomer) const {
  const TrainingState& state = view.state;
  const Time now = view.now;
  if (newcomer.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
  if (!newcomer.has_deadline()) return NoPromise{};
  Planner planner{view.pool, now, view.config.slot};
  bool is_in = false;
  for (const JobId id : by_deadline(state, view.pool)) {
    const TrainingJob& job = state.job(id);
    if (!job.is_promised()) continue;
    if (!is_in && deadline_of(newcomer) < deadline_of(job)) {
      is_in = true;
      if (!planner.add(JobId{}, newcomer)) return Refusal{{ReasonCode::no_room, 0}, std::nullopt};
    }
    // A job that is late already does not keep others out.
    const bool was_late =
        job.left_at(now) > job.sizes->back().rate * std::max(Duration{0}, deadline_of(job) - now);
    if (!planner.add(id, job) && !was_late) return Refusal{{ReasonCode::no_room, 0}, std::nullopt};
  }
  if (!is_in && !planner.add(JobId{}, newcomer))
    return Refusal{{ReasonCode::no_room, 0}, std::nullopt};
  Promise promise;
  promise.deadline = deadline_of(newcomer);
  promise.reason = {ReasonCode::fits_beside_promises, 0};
  return promise;
}

Allocation ElasticFlowPolicy::allocate(const PoolView& view) const {
  const TrainingState& state = view.state;
  const Time now = view.now;
  Planner planner{view.pool, now, view.config.slot};
  const std::vector<JobId> order = by_deadline(state, view.pool);
  for (const JobId id : order) planner.add(id, state.job(id));
  planner.hand_out_left_overs();
  Allocation allocation;
  std::vector<std::uint32_t> gpus;
  for (const Planned& job : planner.jobs()) {
    gpus.push_back(static_cast<std::uint32_t>(job.gpus(job.level())));
    for (const SizeStep& step : job.plan.steps) {
      if (step.from <= now) continue;
      allocation.wake_up = std::min(allocation.wake_up, step.from);
      break;
    }
  }
  allocation.blocks = place_in_order(state, view.pool, order, gpus);
  return allocation;
}

}  // namespace weir::schedule
