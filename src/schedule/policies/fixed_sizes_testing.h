// SPDX-License-Identifier: Apache-2.0
//
// For tests of policies that run jobs on the GPUs they asked for.
#pragma once

#include "schedule/training_testing.h"

namespace weir::schedule::testing {

inline constexpr std::int64_t kVeryLong = 1'000'000;  // seconds

// Runs that long on exactly that many GPUs (1, 2, 4 ... 16).
inline TrainingJobBuilder a_fixed_job(std::int32_t gpus, std::int64_t seconds) {
  return a_training_job()
      .curve({{1, 10}, {2, 20}, {4, 40}, {8, 80}, {16, 160}})
      .asks_for(gpus)
      .iterations(seconds * 10 * gpus);
}

// What the policy sees of the pool.
class ViewOf {
 public:
  ViewOf(const PoolUnderTest& pool, Time now)
      : unpromised_{now, pool.pool().gpus_up()},
        view_{pool.state(), pool.pool(), unpromised_, now, pool.config} {}
  operator const PoolView&() const { return view_; }

 private:
  CapacityProfile unpromised_;
  PoolView view_;
};

inline Time wake_up_of(std::string_view policy, const PoolUnderTest& pool, Time now) {
  return find_training_policy(policy)->allocate(ViewOf{pool, now}).wake_up;
}

// Decides at `from` and then whenever the policy wanted to, before `to`. Nobody finishes.
inline void play(std::string_view policy, PoolUnderTest& pool, Time from, Time to) {
  for (Time now = from; now < to; now = wake_up_of(policy, pool, now)) pool.decide(now);
}

inline bool runs(const PoolUnderTest& pool, JobId job) {
  return !pool.block_of(job).is_none();
}

// A pool of one policy in which jobs are submitted in a line of a test.
inline JobId submitted(PoolUnderTest& pool, const TrainingJobBuilder& job, Time at = {}) {
  pool.submit(job, at);
  return pool.latest();
}

}  // namespace weir::schedule::testing
