// SPDX-License-Identifier: Apache-2.0
//
// How a run is set up, whatever its protocol: the node order and where the target workload comes
// from.
#pragma once

#include <cstdint>

#include "domain/cluster.h"
#include "domain/target_workload.h"
#include "domain/workload.h"
#include "schedule/core/state.h"

namespace weir::simulate {

// In which order nodes stand when scores are equal.
enum class NodeOrder : std::uint8_t {
  permuted,     // by the seed: the default, and the published protocol
  as_listed,    // as in the file
  cpu_per_gpu,  // fewest CPUs per GPU first: the order that breaks FGD
};

// Where a policy's target workload comes from.
enum class Expectation : std::uint8_t {
  oracle,   // counted over the list that is simulated, as in the paper
  learned,  // estimated from the submissions seen so far
};

// The target workload counted over the very list that is simulated: what the published experiments
// give their policy, and what reports measure fragmentation against.
TargetWorkload oracle_target(const Workload& workload);

// An empty cluster in that order; a learning state starts without any expectation.
schedule::State initial_state_for(const Cluster& cluster, NodeOrder order, std::uint64_t seed,
                                  Expectation expectation, const TargetWorkload& oracle);

}  // namespace weir::simulate
