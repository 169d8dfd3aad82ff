// SPDX-License-Identifier: Apache-2.0
//
// Policies that take turns do so at the ends of rounds, which are multiples of a round's length on
// the clock. Between them whoever runs goes on, and free GPUs go to those who wait.
#pragma once

#include <algorithm>

#include "schedule/admit/slots.h"
#include "schedule/policies/training_policy.h"

namespace weir::schedule {

struct Round {
  Time begin;
  Time end;
  bool just_began = false;  // turns change

  // Whether the job's GPUs changed in this round already: deciding twice must not take two turns.
  bool has_changed(const TrainingJob& job) const { return job.served.since >= begin; }
};

// A server's timer fires late. A decision so soon after the end of a round still ends it.
inline constexpr Duration kTimerSlack = from_seconds(1);

// As long as configured, or else as suits the policy; but no shorter than two of the dearest
// changes. In shorter rounds jobs would pay for their turns and have nothing of them.
inline Round round_of(const PoolView& view, Duration suits_policy) {
  const Duration wanted = view.config.round.count() > 0 ? view.config.round : suits_policy;
  const Duration dearest = view.state.rescale_cost.full(view.pool.pool->largest_block);
  const Duration length = std::max(wanted, 2 * dearest);
  const Time begin = slot_before(view.now, length);
  return {begin, begin + length, view.now - begin < kTimerSlack};
}

}  // namespace weir::schedule
