// SPDX-License-Identifier: Apache-2.0
#include "plan/training/mixed_stage.h"

#include <gtest/gtest.h>

#include "plan/training/random_stage_testing.h"
#include "plan/training/uniform_stage.h"

namespace weir::plan {
namespace {

using predict::CostModel;
using predict::IterationCosts;

// One model, its stages of some GPUs and microbatch, and a limit that is tight for one of them.
struct MixedCase {
  IterationCosts costs;
  RandomStage stage;
  double limit = 0;
  std::vector<int> allowed{1, 2, 4};
};

MixedCase mixed_case(std::uint64_t seed, CostModel model) {
  SeededRng rng{seed};
  MixedCase it{.costs = random_model(rng, model), .stage = {}};
  it.stage = random_stage(rng, it.costs);
  it.limit = std::max(1.0, tight_limit(rng, it.costs, it.stage));
  return it;
}

MixedStages stages_of(const MixedCase& it, RecomputeRule rule) {
  return {
      it.costs, it.stage.layout.tp * it.stage.layout.dp, it.stage.microbatch, it.allowed, it.limit,
      rule};
}

StageSpan span_of(const predict::StageCost& cost, int microbatches) {
  return {cost.time.pace * (microbatches - 1) + cost.time.finish(), cost.time.traverse};
}

void expect_like_full_evaluation(CostModel model, RecomputeRule rule) {
  int recomputing = 0;
  int mixed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    MixedCase it = mixed_case(seed, model);
    SeededRng rng{seed};
    MixedStages stages = stages_of(it, rule);
    const auto options = stages.options();
    if (options.empty()) continue;
    for (int i = 0; i < 40; ++i) {
      place_anywhere(rng, it.costs, it.stage);
      const auto& [first, end, microbatch, layout, place] = it.stage;
      StageOption& option = *options[rng.below(options.size())];
      SCOPED_TRACE(to_string(it.costs, it.stage) + fmt::format(", seed {} stage {}", seed, i));
      const StageBase base = option.base(first, end, place);
      const double recompute = option.recompute_us(first, end, place.stages_behind);
      EXPECT_LE(option.least_recompute_us(first, end, place.stages_behind),
                recompute * (1 + kShare));
      EXPECT_LE(option.work_us(first, end), (base.busy + base.reshard) * (1 + kShare));
      if (recompute == kImpossible) continue;
      recomputing += recompute > 0 ? 1 : 0;
      const PlanStage made = option.stage(first, end, place.stages_behind);
      for (const PlanOp& op : made.ops) mixed += op.tp != made.ops.front().tp ? 1 : 0;
      const auto cost = it.costs.stage(first, made.ops, microbatch, place);
      expect_same(base.busy, cost.time.forward + cost.time.backward, "busy");
      expect_same(base.reshard, cost.time.reshard_forward + cost.time.reshard_backward, "reshard");
      expect_same(base.links, cost.time.receive + cost.time.send, "links");
      expect_same(base.finish, cost.time.finish(), "finish");
      expect_same(recompute, cost.time.recompute, "recompute");
      EXPECT_LE(cost.memory.total(), it.limit + 1e-6);
      const StageSpan span = stage_span(base, recompute, 9, model == CostModel::full);
      expect_same(span.steady, span_of(cost, 9).steady, "steady");
      expect_same(span.traverse, span_of(cost, 9).traverse, "traverse");
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(recomputing, 100);
  EXPECT_GT(mixed, 100);
}

TEST(MixedStage, EqualsTheFullEvaluationInThePublishedModel) {
  expect_like_full_evaluation(CostModel::published, RecomputeRule::derived);
  expect_like_full_evaluation(CostModel::published, RecomputeRule::own);
}

TEST(MixedStage, EqualsTheFullEvaluationInTheFullModel) {
  expect_like_full_evaluation(CostModel::full, RecomputeRule::derived);
  expect_like_full_evaluation(CostModel::full, RecomputeRule::own);
}

// Random layouts and random recomputation, and what the options choose.
void expect_bound_holds(CostModel model) {
  int fitting = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    MixedCase it = mixed_case(seed, model);
    SeededRng rng{seed};
    MixedStages stages = stages_of(it, RecomputeRule::derived);
    const auto bound = stages.bound();
    ASSERT_NE(bound, nullptr);
    for (int i = 0; i < 40; ++i) {
      place_anywhere(rng, it.costs, it.stage);
      const auto& [first, end, microbatch, layout, place] = it.stage;
      SCOPED_TRACE(to_string(it.costs, it.stage) + fmt::format(", seed {} stage {}", seed, i));
      std::vector<PlanOp> ops = ops_of(it.stage);
      const std::uint64_t dense = 1 + rng.below(4);
      for (PlanOp& op : ops) op.recompute = rng.below(dense) == 0;
      if (rng.below(2) == 0) {
        UniformStage uniform{it.costs, layout, microbatch, it.limit, RecomputeRule::derived};
        ops = uniform.stage(first, end, place.stages_behind).ops;
      } else if (rng.below(2) == 0) {
        const auto options = stages.options();
        if (!options.empty()) {
          ops = options[rng.below(options.size())]->stage(first, end, place.stages_behind).ops;
        }
      }
      const auto cost = it.costs.stage(first, ops, microbatch, place);
      if (cost.memory.total() > it.limit) continue;
      ++fitting;
      for (const int microbatches : {1, 2, 100}) {
        const StageSpan least =
            stage_span(bound->base(first, end, place),
                       bound->least_recompute_us(first, end, place.stages_behind), microbatches,
                       model == CostModel::full);
        const StageSpan found = span_of(cost, microbatches);
        ASSERT_LE(least.steady, found.steady * (1 + kShare) + 1e-6);
        ASSERT_LE(least.traverse, found.traverse * (1 + kShare) + 1e-6);
      }
    }
  }
  EXPECT_GT(fitting, 500);
}

// Every layout that all operators of a stage may share, on two GPUs.
const std::vector<StageLayout> kOnTwoGpus{{2, 1, 0}, {2, 1, 1}, {1, 2, 0}};

// The bound against the stages spread alike, with the derived rule.
void expect_not_above_uniform_stages(const IterationCosts& costs, RandomStage stage, double limit,
                                     int& fitting) {
  MixedStages stages{costs, 2, stage.microbatch, {1, 2, 4}, limit, RecomputeRule::derived};
  const auto bound = stages.bound();
  const StageSpan least =
      stage_span(bound->base(stage.first, stage.end, stage.place),
                 bound->least_recompute_us(stage.first, stage.end, stage.place.stages_behind), 9,
                 costs.hides_transfers());
  for (const StageLayout& layout : kOnTwoGpus) {
    stage.layout = layout;
    UniformStage uniform{costs, layout, stage.microbatch, limit, RecomputeRule::derived};
    if (uniform.recompute_us(stage.first, stage.end, stage.place.stages_behind) == kImpossible) {
      continue;
    }
    ++fitting;
    const PlanStage made = uniform.stage(stage.first, stage.end, stage.place.stages_behind);
    const StageSpan found =
        span_of(costs.stage(stage.first, made.ops, stage.microbatch, stage.place), 9);
    ASSERT_LE(least.steady, found.steady * (1 + kShare) + 1e-6) << to_string(costs, stage);
    ASSERT_LE(least.traverse, found.traverse * (1 + kShare) + 1e-6) << to_string(costs, stage);
  }
}

TEST(MixedBound, HoldsWhereLinksAreSlowerThanTheStage) {
  int fitting = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SeededRng rng{seed};
    OpProfile profile = predict::random_gpt_profile(seed);
    for (LinkSpeed& link : profile.inside_node) link.gb_per_s /= 1000;
    for (auto& table : profile.collectives) {  // so cheap that the fastest path lays out anew
      for (auto& entry : table.second) entry.second = 0.005;
    }
    const auto costs = predict::test_costs(profile, 2, {1, 4, 0}, CostModel::full);
    RandomStage stage{.microbatch = 2};
    place_anywhere(rng, costs, stage);
    stage.place.input_crosses = stage.place.output_crosses = false;
    expect_not_above_uniform_stages(costs, stage, 1e9, fitting);
  }
  EXPECT_GT(fitting, 200);
}

TEST(MixedBound, HoldsWhereTheDerivedRuleTakesTheEndOfTheModel) {
  int fitting = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SeededRng rng{seed};
    const auto costs =
        predict::test_costs(predict::random_gpt_profile(seed), 2, {1, 4, 0}, CostModel::published);
    RandomStage stage{.microbatch = 2};
    stage.end = costs.ops().size();
    stage.first = stage.end - 2;
    stage.place.stages_behind = some_int(rng, 1, 4);
    stage.layout = kOnTwoGpus[rng.below(kOnTwoGpus.size())];
    const double limit = std::max(1.0, tight_limit(rng, costs, stage));
    expect_not_above_uniform_stages(costs, stage, limit, fitting);
  }
  EXPECT_GT(fitting, 200);
}

TEST(MixedBound, IsNotAboveAnyStageThatFitsInThePublishedModel) {
  expect_bound_holds(CostModel::published);
}

TEST(MixedBound, IsNotAboveAnyStageThatFitsInTheFullModel) {
  expect_bound_holds(CostModel::full);
}

}  // namespace
}  // namespace weir::plan
