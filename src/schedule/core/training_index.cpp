// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/training_index.h"

#include <algorithm>
#include <optional>

namespace weir::schedule {
namespace {

// The job whose timeline the record replaces or ends.
std::optional<JobId> job_with_new_timeline(const Record& record) {
  if (const auto* made = std::get_if<PromiseMade>(&record.what)) return made->job;
  if (const auto* revised = std::get_if<TimelineRevised>(&record.what)) return revised->job;
  if (const auto* released = std::get_if<JobReleased>(&record.what)) return released->job;
  if (const auto* planned = std::get_if<PlannedProvisionally>(&record.what)) return planned->job;
  if (const auto* unpromised = std::get_if<JobUnpromised>(&record.what)) return unpromised->job;
  return std::nullopt;
}

std::size_t position_of(const TrainingState& state, PoolIndex pool) {
  std::size_t at = 0;
  while (state.pools[at].pool->id != pool) ++at;
  return at;
}

}  // namespace

void TrainingIndex::rebuild(const TrainingState& state, Time start) {
  profiles_.clear();
  for (const PoolState& pool : state.pools) {
    CapacityProfile profile{start, pool.gpus_up()};
    std::vector<CapacityProfile::Change> changes;
    for (const JobId id : pool.active) {
      const Timeline& timeline = state.job(id).timeline;
      for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
        const auto gpus = static_cast<std::int32_t>(timeline.steps[i].block.size);
        if (gpus == 0 || timeline.end_of(i) <= start) continue;
        changes.push_back({timeline.steps[i].from, -gpus});
        changes.push_back({timeline.end_of(i), gpus});
      }
    }
    profile.apply(std::move(changes));
    profiles_.push_back(std::move(profile));
  }
}

void TrainingIndex::change(const TrainingState& state, JobId id, std::int32_t sign) {
  if (!state.knows(id)) return;
  const TrainingJob& job = state.job(id);
  CapacityProfile& profile = profiles_[position_of(state, job.pool)];
  const Time start = profile.begin_of(0);
  for (std::size_t i = 0; i < job.timeline.steps.size(); ++i) {
    const TimelineStep& step = job.timeline.steps[i];
    const auto gpus = static_cast<std::int32_t>(step.block.size);
    profile.add(std::max(step.from, start), job.timeline.end_of(i), sign * gpus);
  }
}

void TrainingIndex::before(const TrainingState& state, const Record& record) {
  if (const auto job = job_with_new_timeline(record)) change(state, *job, 1);
}

void TrainingIndex::after(const TrainingState& state, const Record& record) {
  if (const auto job = job_with_new_timeline(record)) change(state, *job, -1);
}

void TrainingIndex::advance_to(Time now) {
  for (CapacityProfile& profile : profiles_) {
    if (profile.begin_of(0) < now) profile.start_at(now);
  }
}

}  // namespace weir::schedule
