// SPDX-License-Identifier: Apache-2.0
#include "plan/training/feasibility.h"

#include <gtest/gtest.h>

#include "predict/training/profile_testing.h"

namespace weir::plan {
namespace {

using predict::CostModel;
using predict::IterationCosts;
using Obstacle = Infeasibility::Obstacle;

constexpr int kFewLayers = 3;

PlanRequest small_request() {
  return {.batch = 32, .microbatches = {1, 2, 4}, .recompute = RecomputeRule::own};
}

IterationCosts full_costs_on(PlanCluster cluster) {
  return predict::test_costs(predict::random_gpt_profile(3), kFewLayers, cluster, CostModel::full);
}

bool has_plan(const IterationCosts& costs, const PlanRequest& wanted) {
  SearchBudget budget;
  return search_plan(costs, wanted, budget).has_value();
}

TEST(Feasibility, NamesMemoryThatIsEnoughAndHardlyMoreThanNeeded) {
  const PlanCluster cluster{1, 2, 200};
  const IterationCosts costs = full_costs_on(cluster);
  ASSERT_FALSE(has_plan(costs, small_request()));
  const Infeasibility why = why_infeasible(costs, small_request(), SearchBudget{});
  ASSERT_EQ(why.obstacle, Obstacle::memory);
  ASSERT_TRUE(why.memory_mib);
  PlanCluster enough = cluster;
  enough.memory_mib = *why.memory_mib;
  EXPECT_TRUE(has_plan(full_costs_on(enough), small_request()));
  PlanCluster less = cluster;
  less.memory_mib = *why.memory_mib / 1.02;
  EXPECT_FALSE(has_plan(full_costs_on(less), small_request()));
}

TEST(Feasibility, OtherClustersItNamesHaveAPlan) {
  const PlanCluster cluster{1, 2, 330};
  const IterationCosts costs = full_costs_on(cluster);
  ASSERT_FALSE(has_plan(costs, small_request()));
  const Infeasibility why = why_infeasible(costs, small_request(), SearchBudget{});
  ASSERT_TRUE(why.nodes);
  PlanCluster more = cluster;
  more.nodes = *why.nodes;
  EXPECT_TRUE(has_plan(full_costs_on(more), small_request()));
  if (!why.gpus_per_node) return;
  PlanCluster larger = cluster;
  larger.gpus_per_node = *why.gpus_per_node;
  EXPECT_TRUE(has_plan(full_costs_on(larger), small_request()));
}

TEST(Feasibility, NamesTheNearestNumberOfStagesThatWorks) {
  // Microbatches of one sample allow no replicas, and only four ways to split were measured: eight
  // GPUs in one stage have no measurement.
  const IterationCosts costs = full_costs_on({1, 8, 1e6});
  PlanRequest wanted = small_request();
  wanted.microbatches = {1};
  wanted.stages = 1;
  ASSERT_FALSE(has_plan(costs, wanted));
  const Infeasibility why = why_infeasible(costs, wanted, SearchBudget{});
  EXPECT_EQ(why.obstacle, Obstacle::stages);
  EXPECT_EQ(why.stages, 2);
}

TEST(Feasibility, MoreNodesThanOperatorsNeedNoSearch) {
  const auto why = obviously_infeasible(full_costs_on({100, 2, 1e6}), small_request());
  ASSERT_TRUE(why);
  EXPECT_EQ(why->obstacle, Obstacle::gpus);
  EXPECT_EQ(why->nodes, kFewLayers * 13 + 3);
  EXPECT_FALSE(obviously_infeasible(full_costs_on({2, 2, 1e6}), small_request()));
}

}  // namespace
}  // namespace weir::plan
