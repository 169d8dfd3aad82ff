// SPDX-License-Identifier: Apache-2.0
//
// What stands beside the training state: for each pool, what no timeline uses. Follows the same
// records as the state and can be rebuilt from it at any time; never stored, not part of a fork.
#pragma once

#include <vector>

#include "schedule/admit/capacity_profile.h"
#include "schedule/core/training_state.h"

namespace weir::schedule {

class TrainingIndex {
 public:
  TrainingIndex() = default;
  TrainingIndex(const TrainingState& state, Time start) { rebuild(state, start); }

  void rebuild(const TrainingState& state, Time start);

  // Around evolve: before it the old timelines are given back, after it the new ones are taken.
  void before(const TrainingState& state, const Record& record);
  void after(const TrainingState& state, const Record& record);

  // Requires: time does not go back.
  void advance_to(Time now);

  // By position of the pool.
  const CapacityProfile& unpromised(std::size_t pool) const { return profiles_[pool]; }

  friend bool operator==(const TrainingIndex&, const TrainingIndex&) = default;

 private:
  void change(const TrainingState& state, JobId job, std::int32_t sign);

  std::vector<CapacityProfile> profiles_;
};

}  // namespace weir::schedule
