// SPDX-License-Identifier: Apache-2.0
//
// A placement policy says how good each node is for a task, and which GPUs to take there. It is
// pure: equal inputs give equal scores, so results can be kept (ScoreIndex does) and the simulator,
// the live scheduler and a test call it in the same way. Scores are small integers on purpose: no
// floating point decides, and coarse steps leave ties, which the fixed node order resolves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "domain/target_workload.h"
#include "schedule/node_state.h"

namespace weir::schedule {

// Higher is better. 0..kMaxScore.
using Score = std::uint8_t;
inline constexpr Score kMaxScore = 254;

// How much GPU the cluster has of each model, whether up or not.
struct GpuSupply {
  std::vector<MilliGpu> by_model;  // index: GpuModelId
  MilliGpu total;
  std::vector<std::string> names{};  // of the models, where they are known

  // Of the models the set accepts.
  MilliGpu on(GpuModelSet models) const;
};

// Nodes that look alike when empty, by how many there are.
struct NodeClass {
  NodeState empty;
  std::int64_t count = 0;
};

// What a policy may know when it prepares: what is expected to come, and what there is.
struct Outlook {
  const TargetWorkload& target;
  const GpuSupply& supply;
  const std::vector<NodeClass>& node_classes;
  // By NodeIndex, as it is when nothing runs; may be left out where nobody asks.
  std::span<const NodeState> empty{};
};

class RelativeScorer;

// A policy prepared for one outlook. The nodes it is asked about are of the outlook's classes, with
// something taken. A scorer may remember what it computed: it belongs to one placer and one thread.
class NodeScorer {
 public:
  virtual ~NodeScorer() = default;

  // Requires: fits(node, shape).
  virtual Score score(const NodeState& node, const Shape& shape) const = 0;

  // Requires: fits(node, shape). `draw` is a random number; only policies that ask for one use it.
  virtual GpuMask choose_gpus(const NodeState& node, const Shape& shape,
                              std::uint64_t draw) const = 0;

  // Itself, where a node's score depends on the other nodes that fit (relative_scorer.h).
  virtual const RelativeScorer* relative() const { return nullptr; }
};

enum class TieBreak : std::uint8_t {
  first_in_order,  // the first node in the fixed order
  uniform,         // any of the best, by the job's own random draw
};

class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  virtual std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const = 0;
  virtual TieBreak tie_break() const { return TieBreak::first_in_order; }
  // False when a new target workload leaves the scores as they are.
  virtual bool uses_target() const { return false; }
};

}  // namespace weir::schedule
