// SPDX-License-Identifier: Apache-2.0
#include "plan/training/feasibility.h"

#include <gtest/gtest.h>

#include "predict/training/profile_testing.h"

namespace weir::plan {
namespace {

using predict::CostModel;
using predict::IterationCosts;
using Obstacle = Infeasibility::Obstacle;

constexpr int kLayers = 3;

PlanRequest request() {
  return {.batch = 32, .microbatches = {1, 2, 4}, .recompute = RecomputeRule::own};
}

IterationCosts costs_on(PlanCluster cluster) {
  return predict::test_costs(predict::random_gpt_profile(3), kLayers, cluster, CostModel::full);
}

bool has_plan(const IterationCosts& costs, const PlanRequest& wanted) {
  SearchBudget budget;
  return search_plan(costs, wanted, budget).has_value();
}

TEST(Feasibility, NamesMemoryThatIsEnoughAndHardlyMoreThanNeeded) {
  const PlanCluster cluster{1, 2, 200};
  const IterationCosts costs = costs_on(cluster);
  ASSERT_FALSE(has_plan(costs, request()));
  const Infeasibility why = why_infeasible(costs, request(), SearchBudget{});
  ASSERT_EQ(why.obstacle, Obstacle::memory);
  ASSERT_TRUE(why.memory_mib);
  PlanCluster enough = cluster;
  enough.memory_mib = *why.memory_mib;
  EXPECT_TRUE(has_plan(costs_on(enough), request()));
  PlanCluster less = cluster;
  less.memory_mib = *why.memory_mib / 1.02;
  EXPECT_FALSE(has_plan(costs_on(less), request()));
}

TEST(Feasibility, OtherClustersItNamesHaveAPlan) {
  const PlanCluster cluster{1, 2, 330};
  const IterationCosts costs = costs_on(cluster);
  ASSERT_FALSE(has_plan(costs, request()));
  const Infeasibility why = why_infeasible(costs, request(), SearchBudget{});
  ASSERT_TRUE(why.nodes);
  PlanCluster more = cluster;
  more.nodes = *why.nodes;
  EXPECT_TRUE(has_plan(costs_on(more), request()));
  if (!why.gpus_per_node) return;
  PlanCluster larger = cluster;
  larger.gpus_per_node = *why.gpus_per_node;
  EXPECT_TRUE(has_plan(costs_on(larger), request()));
}

TEST(Feasibility, NamesTheNearestNumberOfStagesThatWorks) {
  // Microbatches of one sample allow no replicas, and only four ways to split were measured: eight
  // GPUs in one stage have no measurement.
  const IterationCosts costs = costs_on({1, 8, 1e6});
  PlanRequest wanted = request();
  wanted.microbatches = {1};
  wanted.stages = 1;
  ASSERT_FALSE(has_plan(costs, wanted));
  const Infeasibility why = why_infeasible(costs, wanted, SearchBudget{});
  EXPECT_EQ(why.obstacle, Obstacle::stages);
  EXPECT_EQ(why.stages, 2);
}

TEST(Feasibility, MoreNodesThanOperatorsNeedNoSearch) {
  const auto why = obviously_infeasible(costs_on({100, 2, 1e6}), request());
  ASSERT_TRUE(why);
  EXPECT_EQ(why->obstacle, Obstacle::gpus);
  EXPECT_EQ(why->nodes, kLayers * 13 + 3);
  EXPECT_FALSE(obviously_infeasible(costs_on({2, 2, 1e6}), request()));
}

}  // namespace
}  // namespace weir::plan
