// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/edf.h"

#include <algorithm>

#include "schedule/policies/deadline_order.h"

namespace weir::schedule {
namespace {

// What the order gives each job, when everyone takes all it can use as early as it can.
SizePlan next_plan(CapacityProfile& profile, const TrainingJob& job, Time now, Duration slot) {
  const FillRules rules{now, slot, {}};
  SizePlan plan = fill_greedily(profile, to_fill(job, now), rules);
  subtract(profile, plan, *job.sizes);
  return plan;
}

}  // namespace

Verdict EdfPolicy::judge(const PoolView&, const TrainingJob& job) const {
  if (job.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
  return NoPromise{};
}

Allocation EdfPolicy::allocate(const PoolView& view) const {
  const TrainingState& state = view.state;
  const PoolState& pool = view.pool;
  const std::vector<JobId> order = by_deadline(state, pool);
  std::vector<std::uint32_t> gpus;
  auto free = static_cast<std::uint32_t>(pool.gpus_up());
  for (const JobId id : order) {
    std::uint32_t size = 0;
    for (const SizeOption& option : *state.job(id).sizes) {
      if (static_cast<std::uint32_t>(option.gpus) <= free)
        size = static_cast<std::uint32_t>(option.gpus);
    }
    gpus.push_back(size);
    free -= size;
  }
  return {place_in_order(state, pool, order, gpus)};
}

Verdict EdfKneePolicy::judge(const PoolView& view, const TrainingJob& newcomer) const {
  const TrainingState& state = view.state;
  if (newcomer.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
  if (!admits_ || !newcomer.has_deadline()) return NoPromise{};
  std::vector<const TrainingJob*> jobs;
  for (const JobId id : by_deadline(state, view.pool)) {
    if (state.job(id).is_promised()) jobs.push_back(&state.job(id));
  }
  const auto at = std::upper_bound(
      jobs.begin(), jobs.end(), deadline_of(newcomer),
      [](Time deadline, const TrainingJob* job) { return deadline < deadline_of(*job); });
  jobs.insert(at, &newcomer);
  CapacityProfile profile{view.now, view.pool.gpus_up()};
  Promise promise;
  for (const TrainingJob* job : jobs) {
    const SizePlan plan = next_plan(profile, *job, view.now, view.config.slot);
    if (plan.end > deadline_of(*job)) return Refusal{{ReasonCode::no_room, 0}, std::nullopt};
  }
  promise.deadline = deadline_of(newcomer);
  promise.reason = {ReasonCode::fits_beside_promises, 0};
  return promise;
}

Allocation EdfKneePolicy::allocate(const PoolView& view) const {
  const TrainingState& state = view.state;
  const std::vector<JobId> order = by_deadline(state, view.pool);
  std::vector<std::uint32_t> gpus;
  CapacityProfile profile{view.now, view.pool.gpus_up()};
  Allocation allocation;
  for (const JobId id : order) {
    const TrainingJob& job = state.job(id);
    const SizePlan plan = next_plan(profile, job, view.now, view.config.slot);
    const int level = plan.steps.empty() ? kPaused : plan.steps.front().level;
    gpus.push_back(level == kPaused ? 0
                                    : static_cast<std::uint32_t>(
                                          (*job.sizes)[static_cast<std::size_t>(level)].gpus));
  }
  allocation.blocks = place_in_order(state, view.pool, order, gpus);
  return allocation;
}

}  // namespace weir::schedule
