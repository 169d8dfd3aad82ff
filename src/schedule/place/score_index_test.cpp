// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/score_index.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

NodeTable table_of(const std::vector<NodeState>& nodes) {
  NodeTable table;
  for (const NodeState& node : nodes) table.push_back(node);
  return table;
}

// Scores a node by its free CPU cores: easy to foresee.
class CoresLeft final : public NodeScorer {
 public:
  Score score(const NodeState& node, const Shape&) const override {
    return static_cast<Score>(std::min<std::int64_t>(node.free_cpu.value / 1000, kMaxScore));
  }
  GpuMask choose_gpus(const NodeState& node, const Shape& shape, std::uint64_t) const override {
    return tightest_gpus(node, shape);
  }
};

std::optional<ScoredNode> ask(ScoreIndex& index, const NodeTable& nodes, const Shape& shape,
                              std::uint32_t number = 0) {
  return index.best(NodeView{nodes}, ShapeIndex{number}, shape, CoresLeft{},
                    TieBreak::first_in_order, 0);
}

TEST(ScoreIndex, FindsTheHighestScoreAndOnTiesTheFirstNode) {
  const NodeTable nodes = table_of({a_node().cpu(3), a_node().cpu(9), a_node().cpu(9)});
  ScoreIndex index{nodes};
  EXPECT_EQ(ask(index, nodes, a_task()), (ScoredNode{NodeIndex{1}, 9}));
}

TEST(ScoreIndex, SaysWhenNothingFits) {
  const NodeTable nodes = table_of({a_node().cpu(3)});
  ScoreIndex index{nodes};
  EXPECT_EQ(ask(index, nodes, a_task().cpu(4)), std::nullopt);
}

TEST(ScoreIndex, AnEmptyClusterFitsNothing) {
  const NodeTable nodes;
  ScoreIndex index{nodes};
  EXPECT_EQ(ask(index, nodes, a_task()), std::nullopt);
}

TEST(ScoreIndex, SeesAChangeItWasToldOf) {
  NodeTable nodes = table_of({a_node().cpu(3), a_node().cpu(9)});
  ScoreIndex index{nodes};
  EXPECT_EQ(ask(index, nodes, a_task())->node, NodeIndex{1});
  nodes.at_for_write(1).free_cpu = MilliCpu{1000};
  index.touch(NodeIndex{1});
  EXPECT_EQ(ask(index, nodes, a_task()), (ScoredNode{NodeIndex{0}, 3}));
}

TEST(ScoreIndex, ScoresAgainOnlyWhatChangedSinceTheShapeWasLastAskedFor) {
  NodeTable nodes = table_of(std::vector<NodeState>(500, a_node().cpu(9)));
  ScoreIndex index{nodes};
  ask(index, nodes, a_task());
  EXPECT_EQ(index.scored(), 1U);  // all nodes look alike
  for (int i = 0; i < 10; ++i) index.touch(NodeIndex{7});
  index.touch(NodeIndex{8});
  ask(index, nodes, a_task());
  EXPECT_EQ(index.scored(), 3U);  // node 7 once, node 8 once
  ask(index, nodes, a_task());
  EXPECT_EQ(index.scored(), 3U);
}

TEST(ScoreIndex, SurvivesMoreChangesThanItRemembers) {
  NodeTable nodes = table_of({a_node().cpu(3), a_node().cpu(4), a_node().cpu(5)});
  ScoreIndex index{nodes};
  ask(index, nodes, a_task());
  for (int i = 0; i < 1000; ++i) index.touch(NodeIndex{static_cast<std::uint32_t>(i % 2)});
  nodes.at_for_write(0).free_cpu = MilliCpu{77'000};
  index.touch(NodeIndex{0});
  for (int i = 0; i < 1000; ++i) index.touch(NodeIndex{1});
  EXPECT_EQ(ask(index, nodes, a_task()), (ScoredNode{NodeIndex{0}, 77}));
}

// The invariant the whole design rests on: whatever happens to nodes, the index says what a scan
// would.
RC_GTEST_PROP(ScoreIndex, ChoosesLikeAScanOfAllNodes, ()) {
  const Cluster cluster = any_cluster(200);
  const ClusterLayout layout = make_layout(cluster, listed_order(cluster));
  NodeTable nodes = table_of(layout.empty);
  ScoreIndex index{nodes};
  TargetWorkload target = any_target();
  const PolicyRow& row = any_policy();
  const auto prepared = [&] {
    return row.policy->prepare(Outlook{target, layout.supply, layout.classes, layout.empty});
  };
  auto scorer = prepared();
  std::vector<Shape> menu;
  for (int i = 0; i < 6; ++i) menu.push_back(any_shape());
  std::vector<std::tuple<std::size_t, Shape, GpuMask>> placed;

  const int steps = *rc::gen::inRange(1, 150);
  for (int step = 0; step < steps; ++step) {
    const auto number = *rc::gen::inRange<std::uint32_t>(0, 6);
    const Shape& shape = menu[number];
    const auto draw = *rc::gen::arbitrary<std::uint64_t>();
    const NodeView view{nodes};
    const auto fast =
        index.best(view, ShapeIndex{number}, shape, *scorer, row.policy->tie_break(), draw);
    RC_ASSERT(fast == best_by_scan(view, shape, *scorer, row.policy->tie_break(), draw));
    if (fast) {
      const GpuMask mask = scorer->choose_gpus(view[fast->node], shape, draw);
      take(nodes.at_for_write(fast->node.value), shape, mask);
      index.touch(fast->node);
      placed.emplace_back(fast->node.value, shape, mask);
    }
    if (!placed.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto& [node, old, mask] = placed.back();
      give_back(nodes.at_for_write(node), old, mask);
      index.touch(NodeIndex{static_cast<std::uint32_t>(node)});
      placed.pop_back();
    }
    if (*rc::gen::inRange(0, 20) == 0) {
      const auto node = *rc::gen::inRange<std::size_t>(0, nodes.size());
      nodes.at_for_write(node).is_up ^= true;
      index.touch(NodeIndex{static_cast<std::uint32_t>(node)});
    }
    if (*rc::gen::inRange(0, 40) == 0) {
      target = any_target();
      scorer = prepared();
      index.forget_scores();
    }
  }
}

}  // namespace
}  // namespace weir::schedule
