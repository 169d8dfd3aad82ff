// SPDX-License-Identifier: Apache-2.0
//
// What is supposed to be different from now on, for a question like "what if there were four more nodes?":
// tried on a fork of the state, as the events that it would really be.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "domain/event.h"
#include "domain/ids.h"
#include "domain/training.h"
#include "schedule/core/core.h"

namespace weir::schedule {

// Nodes that join a pool.
struct MoreNodes {
  PoolIndex pool;
  std::int32_t nodes = 1;
  std::int32_t gpus_each = 1;  // at most the pool's stride
  friend bool operator==(const MoreNodes&, const MoreNodes&) = default;
};

struct SupposedJob {
  TrainingSpec spec;
  std::vector<CurveUpdated> curves;  // what it says of itself, by pool; often nothing
};

struct Supposition {
  // Every job that is not over is handed to this policy, as if it came now with what is left of it. A
  // job that runs is started anew.
  const TrainingPolicy* policy = nullptr;
  std::vector<MoreNodes> more_nodes;
  std::vector<NodeId> lost;
  std::vector<JobId> cancelled;
  std::vector<SupposedJob> submitted;
};

// A core that stands where it would if the supposition were true, before it has decided who has
// which GPUs.
struct SupposedCore {
  CoreConfig config;
  Core core;
  std::vector<Record> records;                  // of what was told
  std::map<JobId, JobId> original;              // jobs that got another number, by that number
  std::vector<std::optional<JobId>> submitted;  // the supposed jobs; none: not well formed
};

// Requires: gpus_each fits the pool, and the jobs and nodes are those of the state.
SupposedCore suppose(State state, const CoreConfig& config, Time now, const Supposition& what);

// The nodes the supposition would add to a cluster whose largest id is known: counted from there.
NodeId first_new_node(const TrainingState& state);

}  // namespace weir::schedule
