// SPDX-License-Identifier: Apache-2.0
#include "plan/training/uniform_stage.h"

#include <gtest/gtest.h>

#include "plan/training/random_stage_testing.h"

namespace weir::plan {
namespace {

using predict::CostModel;
using predict::IterationCosts;

struct Counts {
  int moves = 0;
  int recomputing = 0;
  int impossible = 0;
};

// The option at [first, end) against the sum over all operators of the stage it returns.
void expect_like_full_evaluation(const IterationCosts& costs, UniformStage& option,
                                 const RandomStage& stage, double limit, Counts& counts) {
  ++counts.moves;
  const auto& place = stage.place;
  const auto plain = costs.stage(stage.first, ops_of(stage), stage.microbatch, place);
  const StageBase base = option.base(stage.first, stage.end, place);
  expect_same(base.busy, plain.time.forward + plain.time.backward, "busy");
  expect_same(base.reshard, plain.time.reshard_forward + plain.time.reshard_backward, "reshard");
  expect_same(base.links, plain.time.receive + plain.time.send, "links");
  expect_same(base.finish, plain.time.finish(), "finish");
  expect_same(option.work_us(stage.first, stage.end), base.busy + base.reshard, "work");
  expect_same(option.missing_mib(stage.first, stage.end, place.stages_behind),
              plain.memory.total() - limit, "missing");

  const double recompute = option.recompute_us(stage.first, stage.end, place.stages_behind);
  EXPECT_LE(option.least_recompute_us(stage.first, stage.end, place.stages_behind),
            recompute * (1 + kShare));
  if (recompute == kImpossible) {
    ++counts.impossible;
    return;
  }
  counts.recomputing += recompute > 0 ? 1 : 0;
  const PlanStage made = option.stage(stage.first, stage.end, place.stages_behind);
  EXPECT_EQ(made.gpus, stage.layout.tp * stage.layout.dp);
  const auto cost = costs.stage(stage.first, made.ops, stage.microbatch, place);
  expect_same(recompute, cost.time.recompute, "recompute");
  EXPECT_LE(cost.memory.total(), limit + 1e-6);
  const int microbatches = 1 + place.stages_behind * 3;
  const StageSpan span = stage_span(base, recompute, microbatches, costs.hides_transfers());
  expect_same(span.traverse, cost.time.traverse, "traverse");
  expect_same(span.steady, cost.time.pace * (microbatches - 1) + cost.time.finish(), "steady");
}

Counts look_at_random_stages(CostModel model, RecomputeRule rule, std::uint64_t models,
                             int stages) {
  Counts counts;
  for (std::uint64_t seed = 0; seed < models; ++seed) {
    SeededRng rng{seed};
    const IterationCosts costs = random_model(rng, model);
    RandomStage stage = random_stage(rng, costs);
    const double limit = tight_limit(rng, costs, stage);
    UniformStage option{costs, stage.layout, stage.microbatch, limit, rule};
    for (int i = 0; i < stages; ++i) {
      SCOPED_TRACE(to_string(costs, stage) + fmt::format(", seed {} stage {}", seed, i));
      expect_like_full_evaluation(costs, option, stage, limit, counts);
      if (testing::Test::HasFailure()) return counts;
      place_anywhere(rng, costs, stage);
    }
  }
  EXPECT_GT(counts.recomputing, counts.moves / 20);
  EXPECT_GT(counts.impossible, counts.moves / 20);
  return counts;
}

TEST(UniformStage, EqualsTheFullEvaluationInThePublishedModelWithTheDerivedRule) {
  EXPECT_EQ(look_at_random_stages(CostModel::published, RecomputeRule::derived, 300, 100).moves,
            30'000);
}

TEST(UniformStage, EqualsTheFullEvaluationInTheFullModelWithTheDerivedRule) {
  EXPECT_EQ(look_at_random_stages(CostModel::full, RecomputeRule::derived, 300, 100).moves, 30'000);
}

TEST(UniformStage, EqualsTheFullEvaluationInThePublishedModelWithItsOwnChoice) {
  EXPECT_EQ(look_at_random_stages(CostModel::published, RecomputeRule::own, 200, 100).moves,
            20'000);
}

TEST(UniformStage, EqualsTheFullEvaluationInTheFullModelWithItsOwnChoice) {
  EXPECT_EQ(look_at_random_stages(CostModel::full, RecomputeRule::own, 200, 100).moves, 20'000);
}

// A plan of stages spread alike, changed one cut or one layout at a time.
struct MovedStage {
  int end = 0;
  std::size_t option = 0;
};

TEST(UniformStage, PlansAddUpAfterEveryMove) {
  int moves = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SeededRng rng{seed};
    const CostModel model = seed % 2 == 0 ? CostModel::published : CostModel::full;
    const IterationCosts costs = random_model(rng, model, 1500);
    constexpr int kMicrobatch = 4;
    std::vector<std::unique_ptr<UniformStage>> options;
    for (int i = 0; i < 5; ++i) {
      options.push_back(std::make_unique<UniformStage>(
          costs, random_layout(rng, costs, kMicrobatch), kMicrobatch, costs.cluster().memory_mib,
          seed % 3 == 0 ? RecomputeRule::derived : RecomputeRule::own));
    }
    std::vector<MovedStage> made;
    for (int i = 1; i <= 4; ++i) {
      made.push_back({costs.ops().size() * i / 4, rng.below(options.size())});
    }
    for (int move = 0; move < 50; ++move, ++moves) {
      const std::size_t which = rng.below(4);
      made[which].option = rng.below(options.size());
      if (which < 3) {
        const int least = which == 0 ? 1 : made[which - 1].end + 1;
        made[which].end = some_int(rng, least, made[which + 1].end - 1);
      }
      TrainingPlan plan{.batch = 64, .microbatch = kMicrobatch, .stages = {}};
      for (int i = 0, first = 0; i < 4; ++i) {
        const auto& stage = made[static_cast<std::size_t>(i)];
        plan.stages.push_back(options[stage.option]->stage(first, stage.end, 3 - i));
        first = stage.end;
      }
      double steady = 0;
      double traverse = 0;
      for (int i = 0, first = 0; i < 4; ++i) {
        const auto& stage = made[static_cast<std::size_t>(i)];
        UniformStage& option = *options[stage.option];
        const auto place = predict::place_of(plan, static_cast<std::size_t>(i), costs.cluster());
        const double recompute = option.recompute_us(first, stage.end, 3 - i);
        const StageSpan span = stage_span(option.base(first, stage.end, place), recompute,
                                          64 / kMicrobatch, model == CostModel::full);
        steady = std::max(steady, span.steady);
        traverse += span.traverse;
        first = stage.end;
      }
      if (traverse == kImpossible) continue;
      expect_same((steady + traverse) / 1000, costs.plan_unchecked(plan).iteration_ms, "iteration");
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " move " << move;
    }
  }
  EXPECT_EQ(moves, 5000);
}

TEST(UniformStage, ItsOwnChoiceIsNeverSlowerThanTheDerivedRule) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SeededRng rng{seed};
    const IterationCosts costs = random_model(rng, CostModel::published);
    RandomStage stage = random_stage(rng, costs);
    const double limit = tight_limit(rng, costs, stage);
    UniformStage own{costs, stage.layout, stage.microbatch, limit, RecomputeRule::own};
    UniformStage derived{costs, stage.layout, stage.microbatch, limit, RecomputeRule::derived};
    for (int i = 0; i < 30; ++i) {
      EXPECT_LE(own.recompute_us(stage.first, stage.end, stage.place.stages_behind),
                derived.recompute_us(stage.first, stage.end, stage.place.stages_behind));
      place_anywhere(rng, costs, stage);
    }
  }
}

TEST(UniformStage, WorkDoesNotShrinkWhenAStageGrowsAtEitherEnd) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SeededRng rng{seed};
    const IterationCosts costs = random_model(rng, CostModel::full);
    const RandomStage stage = random_stage(rng, costs);
    const UniformStage option{costs, stage.layout, stage.microbatch, 1e9, RecomputeRule::derived};
    for (int first = stage.first; first > 0; --first) {
      EXPECT_GE(option.work_us(first - 1, stage.end), option.work_us(first, stage.end));
    }
    for (int end = stage.end; end < costs.ops().size(); ++end) {
      EXPECT_GE(option.work_us(stage.first, end + 1), option.work_us(stage.first, end));
    }
  }
}

}  // namespace
}  // namespace weir::plan
