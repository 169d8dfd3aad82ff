// SPDX-License-Identifier: Apache-2.0
#include "schedule/allocate/estimate.h"

#include <algorithm>

#include "schedule/admit/promises.h"

namespace weir::schedule {
namespace {

// Beyond so many jobs in front an estimate is worth little and costs much.
constexpr std::size_t kMostInFront = 256;

SizePlan plan_on(CapacityProfile& profile, const TrainingJob& job, const PoolView& view) {
  SizePlan plan =
      fill_greedily(profile, to_fill(job, view.now, Time::max()), {view.now, view.config.slot, {}});
  subtract(profile, plan, *job.sizes);
  return plan;
}

}  // namespace

Estimate estimate(const PoolView& view, const TrainingJob& newcomer) {
  std::vector<const TrainingJob*> in_front;
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    if (job.is_promised() || job.sizes->empty()) continue;
    if (in_front.size() == kMostInFront) return {};
    in_front.push_back(&job);
  }
  CapacityProfile profile = view.unpromised;
  for (const TrainingJob* job : in_front) plan_on(profile, *job, view);
  const SizePlan plan = plan_on(profile, newcomer, view);
  const auto first = std::find_if(plan.steps.begin(), plan.steps.end(),
                                  [](const SizeStep& step) { return step.level != kPaused; });
  if (first == plan.steps.end() || plan.end == Time::max()) return {};
  return {first->from, plan.end};
}

}  // namespace weir::schedule
