// SPDX-License-Identifier: Apache-2.0
//
// What would change a job's lot: small changes, each tried on a fork, and told only if the fork shows
// that they help. A job that waits would start, a refused one would be admitted, one whose promise is
// at risk would be in time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "domain/ids.h"
#include "domain/training.h"
#include "schedule/foresee/foresee.h"

namespace weir::schedule {

enum class Wish : std::uint8_t { start, promise, in_time };

struct Counterfactual {
  enum class Change : std::uint8_t {
    submitted_again,  // as it was, now
    more_gpus,        // `count` of them, on a node of their own
    more_nodes,       // `count` of them, each like the others of the pool
    other_cancelled,  // `other`
    later_deadline,   // `deadline`, submitted again
  };
  Change change = Change::more_nodes;
  std::int32_t count = 0;
  JobId other;
  Time deadline;
  Supposition supposition;  // what was tried, exactly

  Wish wish = Wish::start;
  Time at;  // when it starts (the time of the question: now), or is done
};

// The job in question.
struct Asked {
  JobId job;
  // Of a refused job, which the state has forgotten: what it asked for, to be submitted again.
  std::optional<SupposedJob> again;
};

struct CounterfactualLimits {
  std::size_t most = 5;             // told
  std::size_t most_others = 16;     // jobs whose cancellation is tried
  std::function<bool()> may_go_on;  // asked before each trial; empty: always
};

// The smallest changes first. Nothing when the job is well as it is, or is over.
std::vector<Counterfactual> counterfactuals(State& state, const CoreConfig& config, Time now,
                                            const Asked& asked,
                                            const CounterfactualLimits& limits = {});

}  // namespace weir::schedule
