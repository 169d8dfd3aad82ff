// SPDX-License-Identifier: Apache-2.0
#include "simulate/node_failures.h"

#include <algorithm>
#include <cmath>

namespace weir::simulate {

FailureClock::FailureClock(const NodeFailures& failures, std::size_t nodes, Time start)
    : failures_{failures} {
  if (failures.mtbf <= Duration{0}) return;
  const SeededRng all = SeededRng{failures.seed}.fork("node failures");
  for (std::size_t node = 0; node < nodes; ++node) {
    draws_.push_back(all.fork(node));
    changes_.push({start + time_up(node), node, true});
  }
}

Duration FailureClock::time_up(std::size_t node) {
  constexpr double kCentury = 100.0 * 365 * 24 * 3600;  // nobody waits longer
  const double seconds = to_seconds(failures_.mtbf) * draws_[node].exponential();
  return Duration{std::max<std::int64_t>(1, std::llround(std::min(seconds, kCentury) * 1e9))};
}

FailureClock::Change FailureClock::take_next() {
  const Change change = changes_.top();
  changes_.pop();
  if (change.is_failure) {
    ++down_;
    changes_.push({change.at + failures_.repair, change.node, false});
  } else {
    --down_;
    changes_.push({change.at + time_up(change.node), change.node, true});
  }
  return change;
}

}  // namespace weir::simulate
