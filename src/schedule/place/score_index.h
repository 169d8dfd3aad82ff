// SPDX-License-Identifier: Apache-2.0
//
// Finds the best node for a task without looking at every node. It keeps, per task shape, one byte
// per node (score + 1, or 0 where the task does not fit) and the maximum of each block of 64 nodes.
// A change of a node is only noted; a shape's scores are brought up to date when the shape is next
// asked for, and only for the nodes that changed since.
//
// Where scores depend on the other nodes (relative_scorer.h) the marks behind them are kept in the same
// lazy way, and every query weighs all nodes.
//
// It is an index beside the state: built from it, told of every change, never stored and never
// copied. best_by_scan() is its plain twin for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedule/place/node_view.h"
#include "schedule/place/placement_policy.h"
#include "schedule/place/relative_scorer.h"

namespace weir::schedule {

struct ScoredNode {
  NodeIndex node;
  Score score = 0;
  friend bool operator==(const ScoredNode&, const ScoredNode&) = default;
};

class ScoreIndex {
 public:
  // Nodes that look alike now are scored once per shape as long as they stay untouched.
  explicit ScoreIndex(const NodeTable& nodes);

  // The node's state is no longer what it was. Requires: call it after every change.
  void touch(NodeIndex node);

  // All scores are void: another scorer from now on.
  void forget_scores();

  // The best node for the shape, or nothing when it fits nowhere. Shape numbers are dense. `draw`
  // decides between the best when the tie is broken uniformly.
  std::optional<ScoredNode> best(const NodeView& nodes, ShapeIndex number, const Shape& shape,
                                 const NodeScorer& scorer, TieBreak tie_break, std::uint64_t draw);

  // How many times a node was scored: what the laziness saves shows here.
  std::uint64_t scored() const { return scored_; }

 private:
  static constexpr std::size_t kBlock = 64;

  struct Table {
    std::vector<std::uint8_t> entries;    // by node, padded with 0 to whole blocks
    std::vector<std::uint8_t> block_max;  // by block
    std::uint64_t seen = 0;               // changes up to this number are in
  };

  void build(Table& table, const NodeView& nodes, const Shape& shape, const NodeScorer& scorer);
  void catch_up(Table& table, const NodeView& nodes, const Shape& shape, const NodeScorer& scorer);
  std::uint8_t entry_for(const NodeState& node, const Shape& shape, const NodeScorer& scorer);
  static void set(Table& table, std::size_t node, std::uint8_t entry);

  struct MarkTable {
    MarkedNodes nodes;
    std::uint64_t seen = 0;
  };
  std::optional<ScoredNode> best_relative(const NodeView& nodes, ShapeIndex number,
                                          const Shape& shape, const RelativeScorer& scorer);

  std::size_t node_count_;
  std::vector<NodeState> initial_classes_;
  std::vector<std::uint32_t> class_of_;        // by node
  std::vector<std::uint64_t> last_change_;     // by node; 0 = never
  std::vector<std::uint32_t> recent_changes_;  // ring: change number -> node
  std::uint64_t changes_ = 0;
  std::uint64_t scored_ = 0;
  std::vector<Table> tables_;           // by shape number
  std::vector<MarkTable> mark_tables_;  // by shape number, where scores are relative
};

// The definition of "best": looks at every node.
std::optional<ScoredNode> best_by_scan(const NodeView& nodes, const Shape& shape,
                                       const NodeScorer& scorer, TieBreak tie_break,
                                       std::uint64_t draw);

}  // namespace weir::schedule
