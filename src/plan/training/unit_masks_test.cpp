// SPDX-License-Identifier: Apache-2.0
#include "plan/training/unit_masks.h"

#include <gtest/gtest.h>

#include "plan/training/random_stage_testing.h"
#include "predict/training/derived_recompute.h"

namespace weir::plan {
namespace {

using predict::CostModel;
using predict::IterationCosts;

constexpr double kMaskTolerance = 1e-7;
constexpr std::uint64_t kModels = 400;
constexpr int kStagesOfAModel = 60;

// Equal masks for several units in a row, so that runs form.
UnitMasks random_masks(SeededRng& rng, const IterationCosts& costs, const RandomStage& stage) {
  UnitMasks masks{costs, rows_of(costs, stage), stage.first, stage.end};
  const auto& unit_of = costs.ops().unit_of;
  int unit = unit_of[static_cast<std::size_t>(stage.first)];
  const int end = unit_of[static_cast<std::size_t>(stage.end - 1)] + 1;
  while (unit < end) {
    const int copies = some_int(rng, 1, 4);
    const std::uint64_t dense = rng.below(3) == 0 ? ~std::uint64_t{0} : rng.next();
    masks.assign(unit, std::min(end, unit + copies), rng.next() | dense);
    unit += copies;
  }
  return masks;
}

void expect_sums_of_the_operators(CostModel model) {
  for (std::uint64_t seed = 0; seed < kModels; ++seed) {
    SeededRng rng{seed};
    const IterationCosts costs = random_model(rng, model);
    for (int i = 0; i < kStagesOfAModel; ++i) {
      const RandomStage stage = random_stage(rng, costs);
      const UnitMasks masks = random_masks(rng, costs, stage);
      std::vector<PlanOp> ops = ops_of(stage);
      masks.write(ops);
      SCOPED_TRACE(to_string(costs, stage) + fmt::format(", seed {} stage {}", seed, i));
      const auto cost = costs.stage(stage.first, ops, stage.microbatch, stage.place);
      ASSERT_NEAR(masks.recompute_us(), cost.time.recompute, kMaskTolerance);
      ASSERT_NEAR(masks.saved_mib(),
                  costs.saved_by_recomputing_mib(stage.first, ops, stage.microbatch),
                  kMaskTolerance);
      ASSERT_NEAR(masks.peak_mib(), costs.peak_recomputed_mib(stage.first, ops, stage.microbatch),
                  kMaskTolerance);
    }
  }
}

TEST(UnitMasks, SumsEqualThoseOfTheOperatorsOneByOneInThePublishedModel) {
  expect_sums_of_the_operators(CostModel::published);
}

TEST(UnitMasks, SumsEqualThoseOfTheOperatorsOneByOneInTheFullModel) {
  expect_sums_of_the_operators(CostModel::full);
}

TEST(UnitMasks, WhatIsSetIsWhatIsWritten) {
  for (std::uint64_t seed = 0; seed < kModels; ++seed) {
    SeededRng rng{seed};
    const IterationCosts costs = random_model(rng, CostModel::published);
    const RandomStage stage = random_stage(rng, costs);
    UnitMasks masks{costs, rows_of(costs, stage), stage.first, stage.end};
    std::vector<PlanOp> expected = ops_of(stage);
    for (int i = 0; i < 20; ++i) {
      const int units = static_cast<int>(costs.ops().units.size());
      const int first = some_int(rng, 0, units - 1);
      const int end = some_int(rng, first, units);
      const int offset = some_int(rng, 0, 20);
      masks.set(first, end, offset);
      for (int unit = first; unit < end; ++unit) {
        const auto& it = costs.ops().units[static_cast<std::size_t>(unit)];
        const int op = it.first + offset - stage.first;
        if (offset >= it.size || op < 0 || op >= stage.size()) continue;
        expected[static_cast<std::size_t>(op)].recompute = true;
      }
      std::vector<PlanOp> ops = ops_of(stage);
      masks.write(ops);
      ASSERT_EQ(ops, expected) << to_string(costs, stage) << " seed " << seed;
    }
  }
}

TEST(UnitMasks, AThousandEqualLayersAreThreeRuns) {
  const IterationCosts costs =
      predict::test_costs(predict::random_gpt_profile(1), 1000, {1, 4, 1e6}, CostModel::published);
  const UnitMasks masks{costs, costs.rows({1, 1, 0}), 0, costs.ops().size()};
  EXPECT_EQ(masks.runs().size(), 3U);
}

TEST(DeriveMasks, EqualsTheRuleOperatorByOperator) {
  int fitting = 0;
  int not_fitting = 0;
  for (const CostModel model : {CostModel::published, CostModel::full}) {
    for (std::uint64_t seed = 0; seed < kModels; ++seed) {
      SeededRng rng{seed};
      const IterationCosts costs = random_model(rng, model);
      for (int i = 0; i < kStagesOfAModel; ++i) {
        const RandomStage stage = random_stage(rng, costs);
        const double limit = tight_limit(rng, costs, stage);
        SCOPED_TRACE(to_string(costs, stage) + fmt::format(", seed {} stage {}", seed, i));
        std::vector<PlanOp> expected = ops_of(stage);
        const double missing = memory_of(costs, stage, expected) - limit;
        if (missing <= 0) continue;
        const bool fits = predict::derive_recompute(costs, stage.first, expected, stage.microbatch,
                                                    stage.place, limit);
        UnitMasks masks{costs, rows_of(costs, stage), stage.first, stage.end};
        ASSERT_EQ(derive_masks(costs, rows_of(costs, stage), masks, stage.end,
                               stage.place.stages_behind, missing),
                  fits);
        std::vector<PlanOp> ops = ops_of(stage);
        masks.write(ops);
        ASSERT_EQ(ops, expected);
        ++(fits ? fitting : not_fitting);
      }
    }
  }
  EXPECT_GT(fitting, 500);
  EXPECT_GT(not_fitting, 500);
}

}  // namespace
}  // namespace weir::plan
