// SPDX-License-Identifier: Apache-2.0
#include "plan/training/plan_search.h"

#include <gtest/gtest.h>

#include "plan/training/exhaustive_testing.h"
#include "plan/training/random_stage_testing.h"
#include "predict/training/check_plan.h"

namespace weir::plan {
namespace {

using predict::CostModel;
using predict::IterationCosts;

struct Problem {
  IterationCosts costs;
  PlanRequest request;
};

IterationCosts with_memory(const OpProfile& profile, int layers, PlanCluster cluster,
                           CostModel model, double memory_mib) {
  cluster.memory_mib = memory_mib;
  return predict::test_costs(profile, layers, cluster, model);
}

// What one GPU would need for everything at microbatch 1.
double whole_model_mib(const IterationCosts& costs) {
  const std::vector<PlanOp> ops(static_cast<std::size_t>(costs.ops().size()));
  return costs.stage(0, ops, 1, {}).memory.total();
}

Problem random_problem(SeededRng& rng, const OpProfile& profile, int layers, CostModel model) {
  const PlanCluster cluster = rng.below(2) == 0 ? PlanCluster{1, 4, 0} : PlanCluster{2, 2, 0};
  const double whole = whole_model_mib(with_memory(profile, layers, cluster, model, 0));
  Problem problem{.costs = with_memory(profile, layers, cluster, model,
                                       whole * (0.2 + 0.7 * rng.uniform() * rng.uniform())),
                  .request = {}};
  problem.request.batch = 4 << some_int(rng, 0, 5);
  problem.request.microbatches = rng.below(2) == 0 ? std::vector{1, 2} : std::vector{2, 4};
  problem.request.recompute = RecomputeRule::derived;
  if (rng.below(5) == 0) problem.request.stages = some_int(rng, 1, 4);
  problem.request.stages_may_straddle_nodes = rng.below(5) == 0;
  return problem;
}

// 16 operators mostly, 29 now and then, or a residual network of 22.
Problem random_problem(std::uint64_t seed, CostModel model) {
  SeededRng rng{seed};
  const std::uint64_t profile_seed = rng.next();
  if (seed % 8 == 7) {
    return random_problem(rng, predict::random_resnet_profile(profile_seed, 2), 0, model);
  }
  return random_problem(rng, predict::random_gpt_profile(profile_seed), seed % 8 == 0 ? 2 : 1,
                        model);
}

struct Found {
  double ms = kImpossible;
  double lower_bound_ms = kImpossible;
  bool is_complete = true;
  std::optional<PlanAnswer> answer;
};

Found search(const Problem& problem,
             std::uint64_t evaluations = std::numeric_limits<std::uint64_t>::max()) {
  SearchBudget budget;
  budget.evaluations = evaluations;
  auto answer = search_plan(problem.costs, problem.request, budget);
  if (!answer) {
    EXPECT_EQ(answer.error().code, ErrorCode::infeasible);
    return {.is_complete = !budget.is_spent()};
  }
  return {answer->cost.iteration_ms, answer->lower_bound_ms, answer->is_complete, *answer};
}

double tried_ms(const Problem& problem, TriedRecompute recompute) {
  return ExhaustiveSearch{problem.costs, problem.request, recompute}.best_ms();
}

void expect_best_of_all_plans(CostModel model, std::uint64_t problems) {
  int feasible = 0;
  int recomputing = 0;
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed, model);
    const double best_ms = tried_ms(problem, TriedRecompute::derived);
    const Found found = search(problem);
    ASSERT_TRUE(found.is_complete);
    if (best_ms == kImpossible) {
      ASSERT_EQ(found.ms, kImpossible);
      continue;
    }
    ++feasible;
    ASSERT_NEAR(found.ms, best_ms, best_ms * kShare);
    ASSERT_LE(found.lower_bound_ms, best_ms * (1 + kShare));
    for (const auto& stage : found.answer->cost.stages) {
      recomputing += stage.time.recompute > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(feasible, static_cast<int>(problems / 2));
  EXPECT_GT(recomputing, static_cast<int>(problems / 5));
}

TEST(PlanSearch, IsTheBestOfAllPlansInThePublishedModel) {
  expect_best_of_all_plans(CostModel::published, 200);
}

TEST(PlanSearch, IsTheBestOfAllPlansInTheFullModel) {
  expect_best_of_all_plans(CostModel::full, 100);
}

TEST(PlanSearch, ItsBoundIsNotAboveTheBestOverAllSetsOfRecomputedOperators) {
  const std::vector<std::string> ops{
      "conv1",           "bn1",           "maxpool",         "block-0-0-conv1", "block-0-0-bn2",
      "block-0-0-conv3", "block-0-1-bn3", "block-0-1-conv1", "block-0-1-relu",  "fc"};
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    SeededRng rng{seed};
    const auto profile = predict::random_profile_of("resnet", ops, seed);
    Problem problem =
        random_problem(rng, profile, 0, seed % 2 == 0 ? CostModel::published : CostModel::full);
    problem.request.recompute = RecomputeRule::own;
    const double best_ms = tried_ms(problem, TriedRecompute::every_set);
    const Found found = search(problem);
    ASSERT_GE(found.ms, best_ms * (1 - kShare));
    if (found.ms == kImpossible) continue;
    ++feasible;
    ASSERT_LE(found.lower_bound_ms, best_ms * (1 + kShare));
    problem.request.mixes_layouts = true;
    const Found mixed = search(problem);
    ASSERT_LE(mixed.ms, found.ms * (1 + kShare));
    ASSERT_LE(mixed.lower_bound_ms, best_ms * (1 + kShare));
  }
  EXPECT_GT(feasible, 20);
}

TEST(PlanSearch, AnswersObeyTheRulesOfPlansAndFit) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = random_problem(seed, seed % 2 == 0 ? CostModel::published : CostModel::full);
    problem.request.recompute = seed % 3 == 0 ? RecomputeRule::derived : RecomputeRule::own;
    problem.request.mixes_layouts = seed % 4 == 0;
    const Found found = search(problem);
    if (!found.answer) continue;
    const TrainingPlan& plan = found.answer->plan;
    const predict::PlanRules rules{problem.request.stages_may_straddle_nodes};
    EXPECT_EQ(to_string(predict::check_plan(plan, problem.costs, rules)), "");
    EXPECT_LE(found.answer->cost.largest_memory_mib, problem.costs.cluster().memory_mib + 1e-6);
    EXPECT_EQ(plan.batch, problem.request.batch);
    EXPECT_EQ(problem.costs.plan_unchecked(plan).iteration_ms, found.ms);
    EXPECT_LE(found.lower_bound_ms, found.ms);
  }
}

TEST(PlanSearch, TheSameQuestionHasTheSameAnswer) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Found one = search(random_problem(seed, CostModel::published), 2000);
    const Found two = search(random_problem(seed, CostModel::published), 2000);
    EXPECT_EQ(one.ms, two.ms);
    EXPECT_EQ(one.lower_bound_ms, two.lower_bound_ms);
    ASSERT_EQ(one.answer.has_value(), two.answer.has_value());
    if (!one.answer) continue;
    EXPECT_EQ(one.answer->plan, two.answer->plan);
    EXPECT_EQ(one.answer->evaluations, two.answer->evaluations);
  }
}

TEST(PlanSearch, TwiceTheBudgetIsNeverWorseAndACompleteSearchIsOptimal) {
  int incomplete = 0;
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed, CostModel::published);
    const double best_ms = search(problem).ms;
    double before = kImpossible;
    for (std::uint64_t evaluations = 16; evaluations < 100'000; evaluations *= 2) {
      const Found found = search(problem, evaluations);
      EXPECT_LE(found.ms, before);
      EXPECT_TRUE(!found.answer || found.lower_bound_ms <= best_ms * (1 + kShare));
      EXPECT_TRUE(!found.is_complete || found.ms == best_ms);
      incomplete += found.is_complete ? 0 : 1;
      before = found.ms;
    }
    EXPECT_EQ(before, best_ms);
  }
  EXPECT_GT(incomplete, 50);
}

TEST(PlanSearch, AnOperatorThatTakesLongerNeverMakesThePlanFaster) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    SeededRng rng{seed};
    OpProfile profile = predict::random_gpt_profile(seed);
    SeededRng same = rng.fork("problem");
    Problem problem = random_problem(same, profile, 1, CostModel::published);
    const double before = search(problem).ms;
    const std::uint64_t row = rng.below(profile.ops.size());
    for (auto& table : profile.tables) {
      table.second[row].forward_us *= 1.3;
      table.second[row].backward_us *= 1.1;
    }
    problem.costs = with_memory(profile, 1, problem.costs.cluster(), CostModel::published,
                                problem.costs.cluster().memory_mib);
    EXPECT_GE(search(problem).ms, before);
  }
}

TEST(PlanSearch, MoreMemoryIsNeverSlower) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SeededRng rng{seed};
    const OpProfile profile = predict::random_gpt_profile(seed);
    Problem problem = random_problem(rng, profile, 1, CostModel::published);
    problem.request.recompute = RecomputeRule::own;
    double before = kImpossible;
    double bound_before = kImpossible;
    for (int step = 0; step < 12; ++step) {
      SCOPED_TRACE(fmt::format("seed {} step {}", seed, step));
      const double memory = problem.costs.cluster().memory_mib * 1.15;
      problem.costs =
          with_memory(profile, 1, problem.costs.cluster(), CostModel::published, memory);
      const Found found = search(problem);
      EXPECT_LE(found.ms, before);
      EXPECT_LE(found.lower_bound_ms, bound_before);
      before = found.ms;
      bound_before = found.lower_bound_ms;
    }
  }
}

}  // namespace
}  // namespace weir::plan
