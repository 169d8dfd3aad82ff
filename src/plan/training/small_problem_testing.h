// SPDX-License-Identifier: Apache-2.0
//
// For tests: what to plan, small enough for many searches. A random model on 2 x 4 or 1 x 4 GPUs with too little memory to keep
// everything.
#pragma once

#include <optional>

#include "plan/training/naive_plan.h"
#include "plan/training/plan_draft.h"
#include "plan/training/plan_search.h"
#include "plan/training/random_stage_testing.h"
#include "predict/training/check_plan.h"

namespace weir::plan {

struct SmallProblem {
  predict::IterationCosts costs;
  PlanRequest request;
};

inline SmallProblem small_problem(std::uint64_t seed,
                                  predict::CostModel model = predict::CostModel::published) {
  SeededRng rng{seed};
  const std::uint64_t profile_seed = rng.next();
  const OpProfile profile = seed % 3 == 2 ? predict::random_resnet_profile(profile_seed, 3)
                                          : predict::random_gpt_profile(profile_seed);
  const int layers = seed % 3 == 2 ? 0 : some_int(rng, 1, 4);
  PlanCluster cluster = rng.below(2) == 0 ? PlanCluster{1, 4, 0} : PlanCluster{2, 4, 0};
  {
    const auto costs = predict::test_costs(profile, layers, cluster, model);
    const std::vector<PlanOp> ops(static_cast<std::size_t>(costs.ops().size()));
    const double whole = costs.stage(0, ops, 1, {}).memory.total();
    cluster.memory_mib = whole * (0.25 + 0.4 * rng.uniform());
  }
  SmallProblem problem{predict::test_costs(profile, layers, cluster, model), {}};
  problem.request.batch = 64;
  problem.request.microbatches = {1, 2, 4};
  problem.request.recompute = rng.below(2) == 0 ? RecomputeRule::derived : RecomputeRule::own;
  return problem;
}

// The naive plan and what it costs; nothing when there is none.
inline std::optional<CostedDraft> start_of(DraftBook& book, int stages) {
  const auto gpus = doubled_gpus(book.costs().cluster(), book.request(), stages);
  if (!gpus) return std::nullopt;
  const auto naive = naive_plan(book.costs(), book.request(), *gpus);
  if (!naive) return std::nullopt;
  const Draft draft = book.draft(naive->microbatch, naive->cuts, naive->layouts);
  return CostedDraft{draft, book.cost(draft)};
}

// Legal, and the plan it stands for costs the same.
inline void expect_sound(DraftBook& book, const CostedDraft& it) {
  const TrainingPlan plan = book.plan(it.draft);
  const Diagnostics mistakes = predict::check_plan(plan, book.costs());
  EXPECT_TRUE(mistakes.empty()) << to_string(mistakes);
  if (!it.cost.fits()) return;
  const predict::PlanCost cost = book.costs().plan_unchecked(plan);
  EXPECT_NEAR(it.cost.iteration() / 1000, cost.iteration_ms, cost.iteration_ms * 1e-9);
  EXPECT_LE(cost.largest_memory_mib, book.costs().cluster().memory_mib + 1e-6);
}

}  // namespace weir::plan
