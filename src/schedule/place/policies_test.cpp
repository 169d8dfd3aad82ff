// SPDX-License-Identifier: Apache-2.0
//
// Each policy's score with the hand calculation beside it, and what all policies promise.
#include "schedule/place/policies.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "schedule/place/score_index.h"
#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

class PolicyScores : public ::testing::Test {
 protected:
  Score score(const char* policy, const NodeState& node, const Shape& task) {
    return prepared(policy)->score(node, task);
  }
  GpuMask choice(const char* policy, const NodeState& node, const Shape& task,
                 std::uint64_t draw = 0) {
    return prepared(policy)->choose_gpus(node, task, draw);
  }
  std::unique_ptr<NodeScorer> prepared(const char* policy) {
    return find_placement_policy(policy)->prepare(Outlook{target_, supply_, classes_});
  }

  TargetWorkload target_ = target_of({{a_task().cpu(2).share(500), 5},
                                      {a_task().cpu(4).gpus(1), 3},
                                      {a_task().cpu(4).gpus(2), 2}});
  GpuSupply supply_{{MilliGpu{2000}, MilliGpu{98'000}}, MilliGpu{100'000}};
  std::vector<NodeClass> classes_{{a_node().cpu(10).free({1000, 1000}), 1}};
};

TEST_F(PolicyScores, BestFitScoresWhatIsLeftAfterPlacing) {
  // After: 60 of 128 cores, 1500 of 8000 milli. 100 (1 - 0.234375 - 0.09375) = 67.18
  EXPECT_EQ(score("best-fit", a_node().cpu(64).free({1000, 1000}), a_task().cpu(4).share(500)), 67);
}

TEST_F(PolicyScores, DotProductPrefersTheLeastAligned) {
  // c = 64/128, c' = 4/128, g = 2000/8000, g' = 500/8000: 100 (1 - (0.015625 + 0.015625) / 2)
  // = 98.4
  EXPECT_EQ(score("dot-product", a_node().cpu(64).free({1000, 1000}), a_task().cpu(4).share(500)),
            98);
  // c = 1, g = 1, c' = 0.75, g' = 1: 100 (1 - 1.75 / 2) = 12.5
  EXPECT_EQ(score("dot-product", a_node().cpu(128).free(std::vector<int>(8, 1000)),
                  a_task().cpu(96).gpus(8)),
            12);
}

TEST_F(PolicyScores, ClusteringRewardsCompanyOfTheSameKind) {
  // 25 * (8000 - 1500) / 8000 = 20.3
  NodeState node = a_node().free({1000, 500});
  const Shape share = a_task().share(100);
  EXPECT_EQ(score("clustering", node, share), 20 + 25);  // no GPU task there
  node.gpu_tasks[static_cast<std::size_t>(TaskKind::share)] = 1;
  EXPECT_EQ(score("clustering", node, share), 20 + 75);  // this kind only
  node.gpu_tasks[static_cast<std::size_t>(TaskKind::eight)] = 1;
  EXPECT_EQ(score("clustering", node, share), 20 + 50);  // this kind and another
  node.gpu_tasks[static_cast<std::size_t>(TaskKind::share)] = 0;
  EXPECT_EQ(score("clustering", node, share), 20);  // only another
  EXPECT_EQ(score("clustering", node, a_task().cpu(1)), 0);
}

TEST_F(PolicyScores, PackingFillsGpusInUseThenNodesInUseThenIdleNodes) {
  const Shape share = a_task().share(300);
  EXPECT_EQ(score("packing", a_node().free({1000, 400}), share), 96);  // 400 milli free: 100 - 4
  EXPECT_EQ(score("packing", a_node().free({1000, 200}), share),
            49);  // a free GPU of a node in use
  EXPECT_EQ(score("packing", a_node().free({1000, 1000}), share), 31);  // idle, 2 GPUs: 33 - 2
  EXPECT_EQ(score("packing", a_node().free({1000, 1000, 0}), a_task().gpus(2)), 48);
  EXPECT_EQ(score("packing", a_node().free({1000}), a_task().cpu(1)), 0);
}

TEST_F(PolicyScores, FgdScoresTheWorkedExample) {
  const NodeState node = a_node().cpu(10).free({400, 1000});
  EXPECT_EQ(score("fgd", node, a_task().cpu(2).share(300)), 57);
  EXPECT_EQ(choice("fgd", node, a_task().cpu(2).share(300)), gpus({0}));
}

TEST_F(PolicyScores, FgdTakesTheLowestGpuAmongEqualScores) {
  EXPECT_EQ(choice("fgd", a_node().cpu(10).free({1000, 400, 400}), a_task().cpu(2).share(300)),
            gpus({1}));
}

TEST_F(PolicyScores, FgdPlusKeepsScarceModelsForThoseWhoNeedThem) {
  // Half the expected tasks accept only model 0, which is 2 % of the cluster.
  target_ = target_of({{a_task().cpu(1).gpus(1), 1}, {a_task().cpu(1).gpus(1).on(0), 1}});
  const Shape unconstrained = a_task().cpu(1).gpus(1);
  const NodeState scarce = a_node().free({1000}).model(0);
  const NodeState plenty = a_node().free({1000}).model(1);
  EXPECT_LT(score("fgd-plus", scarce, unconstrained), score("fgd-plus", plenty, unconstrained));
  EXPECT_LT(score("fgd-plus", scarce, unconstrained), score("fgd", scarce, unconstrained));
}

TEST_F(PolicyScores, FgdPlusAvoidsTakingTheCpuThatFreeGpusNeed) {
  target_ = target_of({{a_task().cpu(8).gpus(1), 1}});
  const Shape cpu_only = a_task().cpu(6);
  const NodeState tight = a_node().cpu(16).free({1000, 1000});
  const NodeState rich = a_node().cpu(100).free({1000, 1000});
  EXPECT_EQ(score("fgd", tight, cpu_only), score("fgd", rich, cpu_only));
  EXPECT_LT(score("fgd-plus", tight, cpu_only), score("fgd-plus", rich, cpu_only));
}

TEST_F(PolicyScores, FgdPlusLimitsWhatBreakingABlockOfGpusMayCost) {
  // Every second task wants 8 GPUs: under FGD taking one GPU of an idle node costs half of all 8.
  target_ = target_of({{a_task().cpu(1).gpus(8), 1}, {a_task().cpu(1).gpus(1), 1}});
  const NodeState idle = a_node().cpu(128).free(std::vector<int>(8, 1000));
  const NodeState broken = a_node().cpu(128).free(std::vector<int>(7, 1000));
  const Shape small = a_task().cpu(1).gpus(1);
  const int fgd_step = score("fgd", broken, small) - score("fgd", idle, small);
  const int plus_step = score("fgd-plus", broken, small) - score("fgd-plus", idle, small);
  EXPECT_GT(fgd_step, 40);
  EXPECT_GE(plus_step, 1);  // still a reason to leave the block whole
  EXPECT_LE(plus_step, 2);
}

TEST_F(PolicyScores, RandomUsesEveryGpuThatFits) {
  const NodeState node = a_node().free({1000, 100, 500, 1000});
  std::set<int> seen;
  for (std::uint64_t draw = 0; draw < 30; ++draw) {
    const GpuMask mask = choice("random", node, a_task().share(300), draw);
    ASSERT_EQ(mask.count(), 1);
    seen.insert(std::countr_zero(mask.bits));
  }
  EXPECT_EQ(seen, (std::set<int>{0, 2, 3}));
}

TEST(Policies, AreFoundByNameAndNamesAreDistinct) {
  std::set<std::string_view> names;
  for (const PolicyRow& row : placement_policies()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_placement_policy(row.name), row.policy);
  }
  EXPECT_EQ(find_placement_policy("no-such-policy"), nullptr);
}

TEST(GpuSupply, AddsUpTheAcceptedModels) {
  const GpuSupply supply{{MilliGpu{1000}, MilliGpu{2000}, MilliGpu{4000}}, MilliGpu{7000}};
  GpuModelSet set;
  EXPECT_EQ(supply.on(set), MilliGpu{7000});
  set.insert(model(0));
  set.insert(model(2));
  EXPECT_EQ(supply.on(set), MilliGpu{5000});
}

RC_GTEST_PROP(EveryPolicy, ChoosesGpusThatHaveRoom, ()) {
  const TargetWorkload target = any_target();
  const Cluster cluster = any_cluster();
  const ClusterLayout layout = make_layout(cluster, listed_order(cluster));
  const NodeState node = any_node_of(cluster);
  const Shape shape = any_shape();
  RC_PRE(fits(node, shape));
  const PolicyRow& row = any_policy();
  const auto scorer = row.policy->prepare(Outlook{target, layout.supply, layout.classes});
  RC_TAG(std::string{row.name});
  RC_ASSERT(is_valid_choice(
      node, shape, scorer->choose_gpus(node, shape, *rc::gen::arbitrary<std::uint64_t>())));
  RC_ASSERT(scorer->score(node, shape) <= kMaxScore);
}

}  // namespace
}  // namespace weir::schedule
