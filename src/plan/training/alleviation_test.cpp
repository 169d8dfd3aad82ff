// SPDX-License-Identifier: Apache-2.0
#include "plan/training/alleviation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/training/naive_plan.h"
#include "plan/training/small_problem_testing.h"
#include "predict/training/check_plan.h"

namespace weir::plan {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeeds = 6;
#else
constexpr std::uint64_t kSeeds = 30;
#endif
constexpr std::uint64_t kEnough = 2'000'000;

Result<AlleviationAnswer> search(const SmallProblem& problem, std::uint64_t evaluations = kEnough) {
  SearchBudget budget;
  budget.evaluations = evaluations;
  return alleviate(problem.costs, problem.request, budget);
}

double ms_after(const SmallProblem& problem, std::uint64_t evaluations) {
  const auto answer = search(problem, evaluations);
  return answer ? answer->best.cost.iteration_ms : kImpossible;
}

TEST(Alleviation, AnswersWithAPlanThatKeepsTheRulesAndFits) {
  int answers = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const SmallProblem problem = small_problem(seed);
    const auto answer = search(problem);
    if (!answer) continue;
    ++answers;
    EXPECT_TRUE(predict::check_plan(answer->best.plan, problem.costs).empty()) << seed;
    EXPECT_LE(answer->best.cost.largest_memory_mib, problem.costs.cluster().memory_mib + 1e-6);
    EXPECT_LE(answer->best.lower_bound_ms, answer->best.cost.iteration_ms);
    EXPECT_DOUBLE_EQ(answer->best.cost.iteration_ms,
                     problem.costs.plan_unchecked(answer->best.plan).iteration_ms);
  }
  EXPECT_GT(answers, static_cast<int>(kSeeds) / 2);
}

// The exact search over the same plans is never slower, and seldom much faster.
TEST(Alleviation, ComesCloseToTheExactSearch) {
  std::vector<double> gaps;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const SmallProblem problem = small_problem(
        seed, seed % 2 == 0 ? predict::CostModel::published : predict::CostModel::full);
    SearchBudget budget;
    const auto exact = search_plan(problem.costs, problem.request, budget);
    const auto answer = search(problem, 20 * kEnough);
    ASSERT_EQ(exact.has_value(), answer.has_value()) << seed;
    if (!exact) continue;
    gaps.push_back(answer->best.cost.iteration_ms / exact->cost.iteration_ms - 1);
    EXPECT_GT(gaps.back(), -1e-9) << seed;
    EXPECT_LT(gaps.back(), 0.02) << seed;
  }
  std::ranges::sort(gaps);
  ASSERT_FALSE(gaps.empty());
  EXPECT_LT(gaps[gaps.size() * 3 / 4], 1e-9);
}

TEST(Alleviation, GivesTheSameAnswerEveryTime) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const SmallProblem problem = small_problem(seed);
    const auto one = search(problem, 50'000);
    const auto other = search(problem, 50'000);
    ASSERT_EQ(one.has_value(), other.has_value());
    if (!one) continue;
    EXPECT_EQ(one->best.plan, other->best.plan);
    EXPECT_EQ(one->best.evaluations, other->best.evaluations);
    EXPECT_EQ(one->path.size(), other->path.size());
  }
}

TEST(Alleviation, IsNeverWorseAfterMoreEvaluations) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const SmallProblem problem = small_problem(seed);
    double before = kImpossible;
    for (std::uint64_t evaluations = 50; evaluations < 300'000; evaluations *= 2) {
      const double now = ms_after(problem, evaluations);
      EXPECT_LE(now, before) << seed << " after " << evaluations;
      before = now;
    }
  }
}

TEST(Alleviation, StopsWhereTheBudgetEnds) {
  const SmallProblem problem = small_problem(1);
  SearchBudget budget;
  budget.evaluations = 5'000;
  const auto answer = alleviate(problem.costs, problem.request, budget);
  EXPECT_EQ(budget.used(), 5'000u);
}

TEST(Alleviation, ThePathLeadsFromTheNaivePlanToTheAnswer) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const SmallProblem problem = small_problem(seed);
    const auto answer = search(problem);
    if (!answer) continue;
    const auto stages = static_cast<int>(answer->start.stages.size());
    const auto gpus = doubled_gpus(problem.costs.cluster(), problem.request, stages);
    ASSERT_TRUE(gpus);
    const auto naive = naive_plan(problem.costs, problem.request, *gpus);
    ASSERT_TRUE(naive);
    EXPECT_EQ(answer->start.microbatch, naive->microbatch);
    for (std::size_t i = 0; i < gpus->size(); ++i) {
      EXPECT_EQ(answer->start.stages[i].gpus, (*gpus)[i]);
      EXPECT_EQ(static_cast<int>(answer->start.stages[i].ops.size()),
                naive->cuts[i + 1] - naive->cuts[i]);
    }
    double now = problem.costs.plan_unchecked(answer->start).iteration_ms;
    for (const PlanStep& step : answer->path) {
      EXPECT_DOUBLE_EQ(step.from_ms, now);
      EXPECT_FALSE(step.change.empty());
      EXPECT_LE(step.stage_to_ms, step.to_ms);
      now = step.to_ms;
    }
    EXPECT_DOUBLE_EQ(now, answer->best.cost.iteration_ms);
    EXPECT_TRUE(answer->path.empty() || answer->path.back().fits_after);
  }
}

TEST(Alleviation, KeepsToTheNumberOfStagesAskedFor) {
  SmallProblem problem = small_problem(0);
  problem.request.stages = 3;
  const auto answer = search(problem);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->best.plan.stages.size(), 3u);
}

TEST(Alleviation, SaysThatNothingFits) {
  const SmallProblem fits = small_problem(0);
  PlanCluster cluster = fits.costs.cluster();
  cluster.memory_mib = 1;
  const auto costs = predict::test_costs(fits.costs.profile(), fits.costs.ops().layers, cluster,
                                         predict::CostModel::published);
  SearchBudget budget;
  const auto answer = alleviate(costs, fits.request, budget);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::infeasible);
}

}  // namespace
}  // namespace weir::plan
