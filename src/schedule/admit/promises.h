// SPDX-License-Identifier: Apache-2.0
//
// Keeping promises. Every promised job has a timeline, and all timelines of a pool fit together:
// followed from now on, each job finishes by its deadline, and no block is used twice. A newcomer
// is promised only with a timeline beside all others; when there is no such, everything is planned
// anew from what is left to do, and only if that succeeds for all is it kept.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "schedule/admit/capacity_profile.h"
#include "schedule/admit/fill.h"
#include "schedule/core/training_state.h"
#include "schedule/policies/training_policy.h"

namespace weir::schedule {

// The work the timeline does beyond what the job needs, if it is followed from now on and by the
// deadline. Negative: the promise would be broken.
Work surplus(const TrainingJob& job, Time now);

// How long the job could be idle and still meet its deadline at its best.
Duration laxity(const TrainingJob& job, Time now, Time deadline);

class Promises {
 public:
  // Requires: `newcomer` has sizes and a deadline, and is not part of the state.
  Promises(const TrainingState& state, const PoolState& pool, const TrainingJob& newcomer, Time now,
           const TrainingConfig& config);

  // The promise of the newcomer for that deadline, if one can be made.
  std::optional<Promise> promise_by(Time deadline);
  // Why the last one could not be made.
  ReasonCode obstacle() const { return obstacle_; }

  // The earliest deadline after `after` that was found to be possible.
  std::optional<Time> earliest_deadline(Time after);

  // What is not promised, the newcomer left out.
  const CapacityProfile& unpromised() const { return profile_; }

 private:
  std::optional<Promise> insert(Time deadline);
  std::optional<Promise> replan(Time deadline, std::span<const int> reserves);
  void trim();

  const TrainingState& state_;
  const PoolState& pool_;
  const TrainingJob& newcomer_;
  Time now_;
  TrainingConfig config_;
  std::vector<JobId> promised_;
  std::vector<Timeline> timelines_;  // of the promised jobs, shortened where they are ahead
  std::vector<std::uint8_t> is_trimmed_;
  CapacityProfile profile_;
  ReasonCode obstacle_ = ReasonCode::no_room;
};

}  // namespace weir::schedule
