// SPDX-License-Identifier: Apache-2.0
#include "plan/training/op_balance.h"

#include <gtest/gtest.h>

#include "plan/training/plan_moves.h"
#include "plan/training/small_problem_testing.h"

namespace weir::plan {
namespace {

TEST(OpBalance, NoStageIsSlowerThanTheGoalThatWasMet) {
  int met = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SmallProblem problem = small_problem(seed);
    SearchBudget budget;
    DraftBook book{problem.costs, problem.request, budget};
    OpBalance balance{book};
    const auto start = start_of(book, 4);
    ASSERT_TRUE(start);
    const auto even = balance.even_out(start->draft);
    if (!even) continue;
    const double steady = book.cost(*even).steady;
    EXPECT_LT(steady, kImpossible);
    if (start->cost.fits()) {
      EXPECT_LE(steady, start->cost.steady * 1.01) << seed;
    }
    for (const double share : {0.9, 1.0, 1.1}) {
      const auto again = balance.even_out(start->draft, steady * share);
      met += again.has_value() ? 1 : 0;
      EXPECT_LE(again ? book.cost(*again).steady : 0, steady * share) << seed;
    }
  }
  EXPECT_GT(met, 10);
}

TEST(OpBalance, SmallMovesNeverMakeAPlanSlower) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SmallProblem problem = small_problem(seed);
    SearchBudget budget;
    DraftBook book{problem.costs, problem.request, budget};
    PlanMoves moves{book};
    const auto start = start_of(book, 4);
    ASSERT_TRUE(start);
    const CostedDraft settled = moves.settle(start->draft, kImpossible);
    if (!settled.cost.fits()) continue;
    const CostedDraft polished = moves.balance().polish(settled);
    EXPECT_LE(polished.cost.iteration(), settled.cost.iteration());
    expect_sound(book, polished);
  }
}

}  // namespace
}  // namespace weir::plan
