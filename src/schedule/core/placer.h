// SPDX-License-Identifier: Apache-2.0
//
// Finds nodes and GPUs for a job under one placement policy. It stands beside the state: it can be
// rebuilt from it at any time, follows the same records, and is not part of a fork.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "domain/placement.h"
#include "domain/seeded_rng.h"
#include "schedule/core/state.h"
#include "schedule/place/placement_policy.h"
#include "schedule/place/score_index.h"

namespace weir::schedule {

// What a policy suggests, before it is recorded.
struct Proposal {
  PlacementList placements;
  Score score = 0;  // of the first replica's node
};

class Placer {
 public:
  Placer(const PlacementPolicy& policy, std::uint64_t seed, const State& state);

  // The number of a shape in the state; the next free one for a new shape.
  ShapeIndex number_of(const State& state, const Shape& shape) const;

  // Room for all replicas at once, or nothing. Leaves the state as it is.
  std::optional<Proposal> propose(const State& state, JobId job, ShapeIndex number,
                                  const Shape& shape, std::int32_t replicas);

  // Requires: called once for each record, after evolve, in order. For placements that end, the
  // node must be told by node_changed, since the record no longer says where they were.
  void follow(const State& state, const Record& record);
  void node_changed(NodeIndex node) { index_.touch(node); }

  const ScoreIndex& index() const { return index_; }

 private:
  std::optional<Proposal> propose_gang(const State& state, JobId job, ShapeIndex number,
                                       const Shape& shape, std::int32_t replicas);
  std::uint64_t draw_for(JobId job, std::int32_t replica) const;
  void prepare(const State& state);

  const PlacementPolicy& policy_;
  SeededRng rng_;
  std::unique_ptr<NodeScorer> scorer_;
  ScoreIndex index_;
  std::unordered_map<Shape, ShapeIndex> numbers_;
};

}  // namespace weir::schedule
