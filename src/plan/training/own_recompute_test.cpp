// SPDX-License-Identifier: Apache-2.0
#include "plan/training/own_recompute.h"

#include <gtest/gtest.h>

#include "plan/training/random_stage_testing.h"
#include "plan/training/stage_option.h"

namespace weir::plan {
namespace {

using predict::CostModel;
using predict::IterationCosts;

constexpr int kMostOps = 10;  // of a stage of which every set is tried

struct OwnRecomputeCase {
  IterationCosts costs;
  RandomStage stage;
  double limit = 0;
  double missing = 0;
};

OwnRecomputeCase own_recompute_case(std::uint64_t seed, CostModel model, int most_ops) {
  SeededRng rng{seed};
  OwnRecomputeCase it{.costs = random_model(rng, model), .stage = {}};
  it.stage = random_stage(rng, it.costs);
  it.stage.end = std::min(it.stage.end, it.stage.first + most_ops);
  it.limit = tight_limit(rng, it.costs, it.stage);
  it.missing = memory_of(it.costs, it.stage, ops_of(it.stage)) - it.limit;
  return it;
}

struct Least {
  double any_us = kImpossible;      // over all sets that fit
  double allowed_us = kImpossible;  // without operators that are never computed again
};

Least least_of_all_sets(const OwnRecomputeCase& it) {
  Least least;
  std::vector<PlanOp> ops = ops_of(it.stage);
  for (std::uint64_t set = 0; set < (std::uint64_t{1} << ops.size()); ++set) {
    bool is_allowed = true;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ops[i].recompute = ((set >> i) & 1U) != 0;
      const auto& traits = it.costs.ops().traits_of(it.stage.first + static_cast<int>(i));
      is_allowed = is_allowed && !(ops[i].recompute && traits.never_recomputed);
    }
    const auto cost = it.costs.stage(it.stage.first, ops, it.stage.microbatch, it.stage.place);
    if (cost.memory.total() > it.limit) continue;
    least.any_us = std::min(least.any_us, cost.time.recompute);
    if (is_allowed) least.allowed_us = std::min(least.allowed_us, cost.time.recompute);
  }
  return least;
}

TEST(OwnRecompute, OfAShortStageIsTheBestSetAndNoLessThanItsBound) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const CostModel model = seed % 2 == 0 ? CostModel::published : CostModel::full;
    const OwnRecomputeCase it = own_recompute_case(seed, model, kMostOps);
    if (it.missing <= 0) continue;
    SCOPED_TRACE(to_string(it.costs, it.stage) + fmt::format(", seed {}", seed));
    OwnRecompute own{it.costs, rows_of(it.costs, it.stage)};
    const int behind = it.stage.place.stages_behind;
    const Least least = least_of_all_sets(it);
    const double found = own.recompute_us(it.stage.first, it.stage.end, behind, it.missing);
    EXPECT_LE(own.bound_us(it.stage.first, it.stage.end, behind, it.missing), least.any_us + 1e-6);
    if (least.allowed_us < kImpossible) {
      EXPECT_NEAR(found, least.allowed_us, 1e-6);
    } else {
      EXPECT_EQ(found, kImpossible);
    }
    compared += found < kImpossible ? 1 : 0;
  }
  EXPECT_GT(compared, 100);
}

TEST(OwnRecompute, ItsChoiceFitsAndCostsWhatItSays) {
  int chosen = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const CostModel model = seed % 2 == 0 ? CostModel::published : CostModel::full;
    const OwnRecomputeCase it = own_recompute_case(seed, model, 1000);
    if (it.missing <= 0) continue;
    SCOPED_TRACE(to_string(it.costs, it.stage) + fmt::format(", seed {}", seed));
    OwnRecompute own{it.costs, rows_of(it.costs, it.stage)};
    const int behind = it.stage.place.stages_behind;
    const double us = own.recompute_us(it.stage.first, it.stage.end, behind, it.missing);
    if (us == kImpossible) continue;
    ++chosen;
    std::vector<PlanOp> ops = ops_of(it.stage);
    own.choose(it.stage.first, it.stage.end, behind, it.missing, ops);
    const auto cost = it.costs.stage(it.stage.first, ops, it.stage.microbatch, it.stage.place);
    ASSERT_NEAR(us, cost.time.recompute, 1e-6);
    ASSERT_LE(cost.memory.total(), it.limit + 1e-6);
  }
  EXPECT_GT(chosen, 500);
}

}  // namespace
}  // namespace weir::plan
