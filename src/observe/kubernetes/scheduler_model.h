// SPDX-License-Identifier: Apache-2.0
//
// kube-scheduler with its default profile, fast enough to be played forward hundreds of times.
//
// Queue: a pod that does not fit waits; every pod that ends wakes all. Those whose backoff (1 s doubling to 10 s) has
// passed are tried first, by priority and then by when they were tried last; then, since an idle scheduler does not
// wait, those still backing off, by the second in which that ends. So young pods overtake old ones on a busy cluster,
// and small ones overtake large ones: there is no reservation.
// Scores: LeastAllocated over cpu and memory, BalancedAllocation, preferred node affinity (weight 2), taints of the
// kind PreferNoSchedule (weight 3); equal scores are drawn by lot. In large clusters it stops looking once enough
// nodes were found, as the original does.
// Left out: soft spreading, preferred pod affinity, images; and in the play also ports, hard spreading and affinity
// between pods, which the filters of filters.h do know. Preemption: see predict.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/seeded_rng.h"
#include "observe/kubernetes/cluster_model.h"

namespace weir::observe {

using ShapeId = std::uint32_t;
using ItemId = std::uint32_t;

// Equal for pods that the play cannot tell apart: sizes, priority, selectors, affinity to nodes, tolerations, claims.
std::string shape_key(const Pod& pod);

// What does not change while it plays: nodes' sizes, and for each shape of pod the nodes that would ever take it.
class SchedulerModel {
 public:
  explicit SchedulerModel(const ClusterModel& cluster);

  // Pods that differ in nothing that counts, priority included, share a shape.
  ShapeId shape_of(const Pod& pod);
  // Looks up the nodes for this shape. Needed before pods of it are submitted.
  void make_placeable(ShapeId shape, const Pod& pod);

  // Whether any node could ever take it. Requires: it was made placeable.
  bool has_nodes(ShapeId shape) const { return !shapes_[shape].nodes.empty(); }

  std::size_t node_count() const { return cluster_.node_count(); }
  std::size_t shape_count() const { return shapes_.size(); }

 private:
  friend class SchedulerPlay;
  struct Shape {
    std::vector<std::pair<std::uint16_t, Amount>> needs;  // by column
    Amount scored[2] = {0, 0};  // cpu and memory, with defaults for pods that ask for none
    std::int32_t priority = 0;
    bool is_placeable = false;
    std::vector<NodeIndex> nodes;             // that pass every static filter
    std::vector<std::uint8_t> takes;          // by node
    std::vector<std::int32_t> static_scores;  // parallel to `nodes`; empty: all 0
  };
  std::uint16_t column_of(ResourceId id);

  const ClusterModel& cluster_;
  std::vector<ResourceId> columns_;  // resources that some pod asks for
  std::vector<Shape> shapes_;
  std::map<std::string, ShapeId> by_key_;
};

// One play. Copy it to play again from the same moment. Time is in seconds from an arbitrary start.
class SchedulerPlay {
 public:
  // The cluster's state is that of the model when this is made; all shapes must be known by then.
  SchedulerPlay(const SchedulerModel& model, SeededRng rng);

  void set_rng(SeededRng rng) { rng_ = rng; }
  // Score so many nodes at most: a rougher choice in less time.
  void limit_scored_nodes(std::size_t most) { enough_nodes_ = std::min(enough_nodes_, most); }
  // podMaxBackoffSeconds of kube-scheduler's configuration.
  void set_longest_backoff(double seconds) { longest_backoff_ = seconds; }
  // Tries it at once; otherwise it waits. `was_tried` says how often before, when the play begins with a queue.
  std::optional<NodeIndex> submit(ItemId item, ShapeId shape, double now, int was_tried = 0);

  struct Start {
    ItemId item;
    ShapeId shape;
    NodeIndex node;
  };
  // A pod has ended. Appends those that start in its place.
  void release(ShapeId shape, NodeIndex node, double now, std::vector<Start>& starts);

  std::size_t waiting() const { return waiting_; }
  bool fits(ShapeId shape, NodeIndex node) const;

 private:
  struct Waiting {
    ItemId item = 0;
    ShapeId shape = 0;
    int tries = 0;
    double last_try = 0;
    std::uint64_t number = 0;
  };
  struct Best;
  static constexpr int kTriesUntilOld =
      5;  // from then on the backoff is the longest, 10 s as a rule

  std::optional<NodeIndex> find_node(ShapeId shape);
  void take(ShapeId shape, NodeIndex node, int sign);
  std::int64_t score(const SchedulerModel::Shape& shape, NodeIndex node) const;
  void grow_old(double now);

  const SchedulerModel* model_;
  std::size_t columns_;
  std::vector<Amount> free_;              // [node][column]
  std::vector<Amount> scored_;            // [node][cpu, memory]: taken, as scores count it
  std::vector<Amount> offered_;           // [node][cpu, memory]
  std::vector<std::uint8_t> is_blocked_;  // by shape: fits nowhere
  std::vector<ShapeId> blocked_;          // those
  std::vector<Waiting> young_;
  std::vector<std::deque<Waiting>> old_;  // by shape, first tried first
  std::vector<ShapeId> old_shapes_;       // that have any
  double last_wake_ = -1e9;
  std::uint64_t numbers_ = 0;
  std::size_t waiting_ = 0;
  std::size_t next_start_ = 0;
  std::size_t enough_nodes_;
  double longest_backoff_ = 10;
  SeededRng rng_;
};

}  // namespace weir::observe
