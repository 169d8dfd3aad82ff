// SPDX-License-Identifier: Apache-2.0
#include "plan/training/advice.h"

#include <gtest/gtest.h>

#include "predict/training/profile_testing.h"

namespace weir::plan {
namespace {

using predict::CostModel;
using predict::IterationCosts;

constexpr int kLayers = 4;

PlanRequest advised_request() {
  return {.batch = 64, .microbatches = {1, 2, 4}, .recompute = RecomputeRule::own};
}

PlanAnswer answer_of(const IterationCosts& costs) {
  SearchBudget budget;
  auto answer = search_plan(costs, advised_request(), budget);
  if (!answer) ADD_FAILURE() << "no plan";
  return std::move(answer.value());
}

IterationCosts published_costs_on(PlanCluster cluster, bool has_links = true) {
  OpProfile profile = predict::random_gpt_profile(5);
  if (!has_links) profile.between_nodes.clear();
  return predict::test_costs(std::move(profile), kLayers, cluster, CostModel::published);
}

TEST(Advice, EachChangeIsWorthWhatASearchUnderItFinds) {
  const PlanCluster cluster{2, 2, 1500};
  const IterationCosts costs = published_costs_on(cluster);
  const PlanAnswer answer = answer_of(costs);
  const auto advice = what_would_help(costs, advised_request(), answer.plan, SearchBudget{});
  ASSERT_EQ(advice.size(), 3U);
  PlanCluster more_memory = cluster;
  more_memory.memory_mib *= 1.1;
  EXPECT_DOUBLE_EQ(*advice[0].at_most_ms,
                   answer_of(published_costs_on(more_memory)).cost.iteration_ms);
  PlanCluster more_nodes = cluster;
  ++more_nodes.nodes;
  EXPECT_DOUBLE_EQ(*advice[2].at_most_ms,
                   answer_of(published_costs_on(more_nodes)).cost.iteration_ms);
  for (const Advice& entry : advice) EXPECT_TRUE(entry.is_complete);
}

TEST(Advice, MoreOfAnythingIsNeverWorseHoweverShortTheSearch) {
  const IterationCosts costs = published_costs_on({2, 2, 1500});
  const PlanAnswer answer = answer_of(costs);
  SearchBudget hardly_any;
  hardly_any.evaluations = 10;
  const auto advice = what_would_help(costs, advised_request(), answer.plan, hardly_any);
  ASSERT_TRUE(advice[0].at_most_ms && advice[1].at_most_ms);
  EXPECT_LE(*advice[0].at_most_ms, answer.cost.iteration_ms);
  EXPECT_LT(*advice[1].at_most_ms, answer.cost.iteration_ms);
  EXPECT_FALSE(advice[0].is_complete);
}

TEST(Advice, SaysNothingOfNodesWhoseLinksNobodyMeasured) {
  const IterationCosts costs = published_costs_on({1, 4, 1500}, false);
  const auto advice =
      what_would_help(costs, advised_request(), answer_of(costs).plan, SearchBudget{});
  EXPECT_FALSE(advice[2].at_most_ms);
  EXPECT_EQ(advice[2].obstacle, "links between nodes were not measured");
}

}  // namespace
}  // namespace weir::plan
