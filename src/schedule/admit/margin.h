// SPDX-License-Identifier: Apache-2.0
//
// Room to spare. A job is planned to be done before its deadline by its margin, and keeps that room
// while others are planned anew. It is there for what nobody foresaw: a job that runs late may use it
// up before its promise is at risk.
#pragma once

#include "domain/training.h"
#include "schedule/core/training_state.h"

namespace weir::schedule {

inline Time planned_end(const TrainingSpec& spec) {
  return spec.deadline - spec.margin;
}

// By when a promised job is to be done in a new plan: with its room to spare, as long as it has it.
inline Time planned_end(const TrainingJob& job) {
  const Time end = planned_end(*job.spec);
  return job.timeline.end <= end ? end : job.spec->deadline;
}

// The deadline that is planned to be met by then, with as large a share of its time to spare as the
// job's own. Not earlier than that; later by some microseconds at most.
inline Time deadline_planned_for(Time end, const TrainingJob& job) {
  if (job.spec->margin == Duration{0}) return end;
  const WideInteger window = (job.spec->deadline - job.submitted).count();
  const WideInteger planned = window - job.spec->margin.count();
  const WideInteger needed = (end - job.submitted).count();
  constexpr WideInteger kRounding = 5000;  // nanoseconds: shares are given in thousandths
  return job.submitted + Duration{static_cast<std::int64_t>(needed * window / planned + kRounding)};
}

}  // namespace weir::schedule
