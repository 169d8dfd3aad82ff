// SPDX-License-Identifier: Apache-2.0
#include "predict/training/derived_recompute.h"

#include <gtest/gtest.h>

#include "predict/training/profile_testing.h"

namespace weir::predict {
namespace {

// Activations of 1 MiB but for the score, 40, and gelu, 10.
OpProfile profile() {
  OpProfile profile = plain_profile("gpt", gpt_op_names(), {.activation_mib = 1});
  for (auto& table : profile.tables) {
    table.second[3].activation_mib = 40;
    table.second[11].activation_mib = 10;
  }
  return profile;
}

struct Derived {
  bool fits = false;
  std::vector<int> recomputed;
  friend bool operator==(const Derived&, const Derived&) = default;
  friend void PrintTo(const Derived& derived, std::ostream* out) {
    *out << (derived.fits ? "fits " : "does not fit ")
         << testing::PrintToString(derived.recomputed);
  }
};

// All of three layers on one GPU, `missing` MiB too large.
Derived derive(const OpProfile& of, double missing, int end = 42, StagePlace place = {}) {
  const auto costs = test_costs(of, 3, {1, 1, 1000}, CostModel::published);
  std::vector<PlanOp> ops(static_cast<std::size_t>(end));
  const double limit = costs.stage(0, ops, 1, place).memory.total() - missing;
  for (PlanOp& op : ops) op.recompute = true;  // what was there before does not matter
  Derived derived{.fits = derive_recompute(costs, 0, ops, 1, place, limit), .recomputed = {}};
  for (int op = 0; op < end; ++op) {
    if (ops[static_cast<std::size_t>(op)].recompute) derived.recomputed.push_back(op);
  }
  return derived;
}

TEST(DerivedRecompute, AStageThatFitsComputesNothingAgain) {
  EXPECT_EQ(derive(profile(), 0), (Derived{true, {}}));
}

TEST(DerivedRecompute, TheLargestKindIsTakenWithItsSuccessorAsOftenAsNeeded) {
  // Two stages behind: a score counts for 3 x 40, so two of the three are enough for 130.
  EXPECT_EQ(derive(profile(), 130, 42, {.stages_behind = 2}), (Derived{true, {3, 4, 16, 17}}));
}

TEST(DerivedRecompute, TheNextKindFollowsWhenTheLargestIsNotEnough) {
  // The first score counts for the 25, but its 40 live again at once in the backward pass: nothing is won.
  // Three gelus save 30 and bring back less than the score does.
  EXPECT_EQ(derive(profile(), 25), (Derived{true, {3, 4, 11, 12, 24, 25, 37, 38}}));
}

TEST(DerivedRecompute, WhenNoKindIsLeftTheStageDoesNotFit) {
  EXPECT_FALSE(derive(profile(), 10'000).fits);
}

TEST(DerivedRecompute, OfKindsThatAreEqualTheFirstIsTaken) {
  OpProfile equal = profile();
  for (auto& table : equal.tables) {
    for (OpMeasure& row : table.second) row.activation_mib = 4;
  }
  const Derived derived = derive(equal, 1, 42, {.stages_behind = 2});
  EXPECT_EQ(derived, (Derived{true, {2, 3}}));  // qkv: the layernorm before it starts a block
}

TEST(DerivedRecompute, TheRuleEndsWhenTheLargestKindHasNoSuccessor) {
  // The stage ends with the first score.
  EXPECT_EQ(derive(profile(), 1, 4), (Derived{false, {}}));
}

}  // namespace
}  // namespace weir::predict
