// SPDX-License-Identifier: Apache-2.0
#include "plan/training/plan_moves.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/training/small_problem_testing.h"

namespace weir::plan {
namespace {

TEST(PlanMoves, KeepTheRulesOfAPlanWhateverFollowsWhat) {
  int made = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const SmallProblem problem = small_problem(
        seed, seed % 2 == 0 ? predict::CostModel::published : predict::CostModel::full);
    SearchBudget budget;
    DraftBook book{problem.costs, problem.request, budget};
    PlanMoves moves{book};
    SeededRng rng{seed};
    auto now = start_of(book, some_int(rng, 1, problem.costs.cluster().gpus()));
    for (int i = 0; now && i < 30; ++i) {
      const Move move = kMoves[rng.below(kMoves.size())];
      const auto next = moves.apply(move, *now, some_int(rng, 0, now->draft.count() - 1),
                                    rng.below(2) == 0 ? kImpossible : now->cost.steady);
      for (const CostedDraft& it : next) expect_sound(book, it);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " move " << static_cast<int>(move);
      made += static_cast<int>(next.size());
      if (!next.empty()) now = next[rng.below(next.size())];
    }
  }
  EXPECT_GT(made, 1000);
}

TEST(PlanMoves, TradedGpusAreThoseOfTwoStages) {
  const SmallProblem problem = small_problem(0);
  SearchBudget budget;
  DraftBook book{problem.costs, problem.request, budget};
  PlanMoves moves{book};
  const auto start = start_of(book, 3);
  ASSERT_TRUE(start);
  for (const CostedDraft& it : moves.trade_gpus(*start, kImpossible)) {
    expect_sound(book, it);
    int different = 0;
    for (int i = 0; i < 3; ++i) different += book.gpus(it.draft, i) != book.gpus(start->draft, i);
    EXPECT_EQ(different, 2);
  }
}

// A bottleneck with recomputation: what saves memory first, then what only saves time.
TEST(MoveGroups, BeginWithWhatRelievesTheLargestShare) {
  const std::vector<StageLoad> loads{{.compute = 10, .recomputation = 5, .time = 15},
                                     {.compute = 10, .recomputation = 0, .time = 10}};
  const auto groups = move_groups(loads, 0);
  ASSERT_FALSE(groups.empty());
  EXPECT_EQ(groups.front().front(), Move::hand_over_ops);
  for (const Move move : groups.front()) {
    EXPECT_LT(effect_on(move, PlanResource::recomputation), 0);
    EXPECT_LE(effect_on(move, PlanResource::memory), 0);
  }
}

TEST(MoveGroups, HaveEveryMoveOnce) {
  const std::vector<StageLoad> loads{{.compute = 3, .communication = 4, .time = 7},
                                     {.compute = 5, .communication = 1, .time = 6}};
  std::vector<Move> all;
  for (const auto& group : move_groups(loads, 0)) all.insert(all.end(), group.begin(), group.end());
  std::ranges::sort(all);
  EXPECT_TRUE(std::ranges::equal(all, kMoves));
}

TEST(MoveGroups, OverTheMemoryLimitThereIsOnlyWhatSavesMemory) {
  const std::vector<StageLoad> loads{{.compute = 3, .over_mib = 100}, {.compute = 5}};
  const auto groups = move_groups(loads, 0);
  ASSERT_EQ(groups.size(), 1u);
  for (const Move move : groups.front()) EXPECT_LT(effect_of(move).memory, 0);
}

}  // namespace
}  // namespace weir::plan
