// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/blend.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/place/policy_text.h"
#include "schedule/place/score_index.h"
#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

// Marks as they are told.
class Told final : public RelativeScorer {
 public:
  explicit Told(std::vector<Part> parts) : RelativeScorer{std::move(parts)} {}
  Score score(const NodeState&, const Shape&) const override { return 0; }
  void mark(NodeIndex, const NodeState&, const Shape&, std::span<std::int32_t>) const override {}
  GpuMask choose_gpus(const NodeState&, const Shape&, std::uint64_t) const override { return {}; }
};

TEST(BestMarked, RescalesFromTheWorstToTheBestThatFits) {
  // Increases of 100, 300 and 900 W; the last does not fit. 60 + 0 against 50 + 100, weighed 3 : 1.
  const Told scorer{{{3, false}, {1, true}}};
  const auto best = best_marked(scorer, {{1, 1, 0}, {60, -300, 50, -100, 99, -900}});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->node, 1U);
  EXPECT_EQ(best->score, (3 * 50 + 100) / 4);
}

TEST(BestMarked, EqualMarksCountFullyAndTheFirstNodeWins) {
  const Told scorer{{{1, true}}};
  const auto best = best_marked(scorer, {{0, 1, 1}, {-1, -70, -70}});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->node, 1U);
  EXPECT_EQ(best->score, 100);
}

TEST(BestMarked, SaysWhenNothingFits) {
  EXPECT_FALSE(best_marked(Told{{{1, true}}}, {{0, 0}, {0, 0}}));
}

std::string mistake_in(std::string_view text) {
  const auto policy = read_placement_policy(text);
  return policy ? "" : policy.error();
}

TEST(PolicyText, ReadsNamesAndBlends) {
  EXPECT_EQ(mistake_in("fgd"), "");
  EXPECT_EQ(mistake_in("pwr"), "");
  EXPECT_EQ(mistake_in("fgd:0.9+pwr:0.1"), "");
  EXPECT_EQ(mistake_in("fgd:9+pwr:1+best-fit:0.000001"), "");
  EXPECT_EQ(read_placement_policy("fgd")->get(), find_placement_policy("fgd"));
}

TEST(PolicyText, SaysOnceWhatIsWrong) {
  const std::string pair = "a policy and its weight, like fgd:0.9+pwr:0.1, in place of \"";
  EXPECT_EQ(mistake_in("fgd:0.9+"), pair + "\"");
  EXPECT_EQ(mistake_in("+"), pair + "\"");
  EXPECT_EQ(mistake_in("fgd+pwr"), pair + "fgd\"");
  EXPECT_EQ(mistake_in(":1+pwr:1"), pair + ":1\"");
  EXPECT_NE(mistake_in("fgd:1+nobody:1").find("\"nobody\" is not among"), std::string::npos);
  EXPECT_NE(mistake_in("fgd:1+random:1").find("\"random\" is not among"), std::string::npos);
  EXPECT_NE(mistake_in("fgd:1+all:1").find("\"all\" is not among"), std::string::npos);
  EXPECT_EQ(mistake_in("fgd:1+fgd:2"), "each policy once; \"fgd\" is there twice");
  for (const char* weight : {"0", "0.0", "-1", "", "x", "1e3", ".", "1.", ".5", "nan", "1234567",
                             "0.1234567", "1:2", " 1"}) {
    EXPECT_NE(mistake_in(std::string{"pwr:1+fgd:"} + weight).find("a weight above 0"),
              std::string::npos)
        << weight;
  }
  EXPECT_NE(mistake_in("fgd:1").find("two or more"), std::string::npos);
  EXPECT_NE(mistake_in("nobody").find("a placement policy"), std::string::npos);
}

TEST(BlendPolicy, FollowsItsHeavierPart) {
  const TargetWorkload target = target_of({{a_task().cpu(2).share(500), 5}});
  const GpuSupply supply{{MilliGpu{4000}}, MilliGpu{4000}, {"T4"}};
  const std::vector<NodeClass> classes{{a_node().free({1000, 1000}), 2}};
  const Outlook outlook{target, supply, classes};
  // FGD likes the GPU that the task fills; there it adds power only on the second node.
  NodeTable nodes;
  nodes.push_back(a_node().cpu(96).free({1000, 1000}));
  nodes.push_back(a_node().cpu(96).free({1000, 700}));
  const Shape task = a_task().cpu(2).share(700);
  const auto chosen = [&](const char* text) {
    const auto policy = *read_placement_policy(text);
    const auto scorer = policy->prepare(outlook);
    return best_by_scan(NodeView{nodes}, task, *scorer, policy->tie_break(), 0)->node;
  };
  EXPECT_EQ(chosen("pwr"), NodeIndex{1});
  EXPECT_EQ(chosen("fgd:1+pwr:1000"), NodeIndex{1});
  EXPECT_EQ(chosen("fgd:1000+pwr:0.001"), chosen("fgd"));
}

// Whatever happens to nodes, the index says what a scan would.
RC_GTEST_PROP(BlendPolicy, IsIndexedLikeAScanOfAllNodes, ()) {
  const Cluster cluster = any_cluster(60);
  const ClusterLayout layout = make_layout(cluster, listed_order(cluster));
  NodeTable nodes;
  for (const NodeState& node : layout.empty) nodes.push_back(node);
  ScoreIndex index{nodes};
  const TargetWorkload target = any_target();
  const auto policy = *read_placement_policy("fgd:0.9+pwr:0.1");
  const auto scorer = policy->prepare(Outlook{target, layout.supply, layout.classes, layout.empty});
  std::vector<Shape> menu;
  for (int i = 0; i < 4; ++i) menu.push_back(any_shape());
  const int steps = *rc::gen::inRange(1, 80);
  for (int step = 0; step < steps; ++step) {
    const auto number = *rc::gen::inRange<std::uint32_t>(0, 4);
    const NodeView view{nodes};
    const auto fast =
        index.best(view, ShapeIndex{number}, menu[number], *scorer, TieBreak::first_in_order, 0);
    RC_ASSERT(fast == best_by_scan(view, menu[number], *scorer, TieBreak::first_in_order, 0));
    if (!fast) continue;
    take(nodes.at_for_write(fast->node.value), menu[number],
         scorer->choose_gpus(view[fast->node], menu[number], 0));
    index.touch(fast->node);
  }
}

}  // namespace
}  // namespace weir::schedule
