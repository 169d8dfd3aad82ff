// SPDX-License-Identifier: Apache-2.0
#include "plan/training/explain_path.h"

#include <gtest/gtest.h>

#include "plan/training/alleviation.h"
#include "plan/training/small_problem_testing.h"

namespace weir::plan {
namespace {

std::optional<PlanAnswer> exact(const SmallProblem& problem) {
  SearchBudget budget;
  auto answer = search_plan(problem.costs, problem.request, budget);
  if (!answer) return std::nullopt;
  return std::move(*answer);
}

void expect_leads_to(const std::vector<PlanStep>& path, const predict::PlanCost& cost) {
  ASSERT_FALSE(path.empty());
  for (std::size_t i = 1; i < path.size(); ++i) {
    EXPECT_DOUBLE_EQ(path[i].from_ms, path[i - 1].to_ms);
    EXPECT_EQ(path[i].fits_before, path[i - 1].fits_after);
  }
  for (const PlanStep& step : path) EXPECT_FALSE(step.change.empty());
  EXPECT_DOUBLE_EQ(path.back().to_ms, cost.iteration_ms);
  EXPECT_TRUE(path.back().fits_after);
}

TEST(ExplainPath, EndsAtThePlanOfTheExactSearch) {
  int explained = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const SmallProblem problem = small_problem(
        seed, seed % 2 == 0 ? predict::CostModel::published : predict::CostModel::full);
    const auto answer = exact(problem);
    if (!answer) continue;
    SCOPED_TRACE(seed);
    const auto path = explain_path(problem.costs, problem.request, answer->plan);
    if (path.empty()) continue;  // now and then nothing is better than the naive plan
    expect_leads_to(path, answer->cost);
    ++explained;
  }
  EXPECT_GT(explained, 15);
}

TEST(ExplainPath, EndsAtAPlanThatMixesLayouts) {
  for (const std::uint64_t seed : {2u, 5u, 8u, 11u}) {
    SmallProblem problem = small_problem(seed);
    problem.request.mixes_layouts = true;
    const auto answer = exact(problem);
    if (!answer) continue;
    SCOPED_TRACE(seed);
    expect_leads_to(explain_path(problem.costs, problem.request, answer->plan), answer->cost);
  }
}

TEST(ExplainPath, HasNoStepWhereTheNaivePlanWasChosen) {
  const SmallProblem problem = small_problem(0);
  SearchBudget budget;
  const auto answer = alleviate(problem.costs, problem.request, budget);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(explain_path(problem.costs, problem.request, answer->start).empty());
}

TEST(ExplainPath, ReachesAPlanThatTheRequestWouldNotAllowInOneStep) {
  SmallProblem problem = small_problem(0);
  const auto answer = exact(problem);
  ASSERT_TRUE(answer);
  std::erase(problem.request.microbatches, answer->plan.microbatch);
  const auto path = explain_path(problem.costs, problem.request, answer->plan);
  ASSERT_EQ(path.size(), 1u);
  EXPECT_DOUBLE_EQ(path.back().to_ms, answer->cost.iteration_ms);
}

}  // namespace
}  // namespace weir::plan
