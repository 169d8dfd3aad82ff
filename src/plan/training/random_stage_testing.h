// SPDX-License-Identifier: Apache-2.0
//
// For tests: stages of random models, spread alike over their GPUs.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "domain/seeded_rng.h"
#include "plan/training/uniform_stage.h"
#include "predict/training/profile_testing.h"

namespace weir::plan {

// What two ways to add up the same numbers may differ by, as a share of them.
inline constexpr double kShare = 1e-9;

inline void expect_same(double found, double expected, const char* what) {
  EXPECT_NEAR(found, expected, 1e-6 + kShare * std::abs(expected)) << what;
}

inline int some_int(SeededRng& rng, int least, int most) {
  return least + static_cast<int>(rng.below(static_cast<std::uint64_t>(most - least + 1)));
}

struct RandomStage {
  int first = 0;
  int end = 0;
  int microbatch = 1;
  StageLayout layout;
  predict::StagePlace place;
  int size() const { return end - first; }
};

// A GPT, a T5 or a residual network of a few units, or a network without blocks.
inline predict::IterationCosts random_model(SeededRng& rng, predict::CostModel model,
                                            double memory_mib = 0) {
  const PlanCluster cluster{2, 4, memory_mib};
  const std::uint64_t seed = rng.next();
  switch (rng.below(4)) {
    case 0:
      return predict::test_costs(predict::random_gpt_profile(seed), some_int(rng, 1, 7), cluster,
                                 model);
    case 1:
      return predict::test_costs(predict::random_t5_profile(seed), some_int(rng, 1, 4), cluster,
                                 model);
    case 2:
      return predict::test_costs(predict::random_resnet_profile(seed, some_int(rng, 1, 5)), 0,
                                 cluster, model);
    default:
      return predict::test_costs(
          predict::random_profile_of("resnet", std::vector<std::string>(70, "conv"), seed), 0,
          cluster, model);
  }
}

inline StageLayout random_layout(SeededRng& rng, const predict::IterationCosts& costs,
                                 int microbatch) {
  for (;;) {
    const StageLayout layout{1 << some_int(rng, 0, 2), 1 << some_int(rng, 0, 2),
                             some_int(rng, 0, 1)};
    if (layout.tp * layout.dp > costs.cluster().gpus_per_node || microbatch % layout.dp != 0)
      continue;
    if (costs.has(microbatch / layout.dp, layout.tp, layout.dim)) return layout;
  }
}

// Operators [first, end) anywhere in the model.
inline void place_anywhere(SeededRng& rng, const predict::IterationCosts& costs,
                           RandomStage& stage) {
  stage.first = some_int(rng, 0, costs.ops().size() - 1);
  stage.end = some_int(rng, stage.first + 1, costs.ops().size());
  stage.place = {some_int(rng, 0, 5), rng.below(2) == 0, rng.below(2) == 0};
}

inline RandomStage random_stage(SeededRng& rng, const predict::IterationCosts& costs) {
  RandomStage stage;
  stage.microbatch = 1 << some_int(rng, 0, 2);
  stage.layout = random_layout(rng, costs, stage.microbatch);
  place_anywhere(rng, costs, stage);
  return stage;
}

inline const OpMeasure* rows_of(const predict::IterationCosts& costs, const RandomStage& stage) {
  return costs.rows({stage.microbatch / stage.layout.dp, stage.layout.tp, stage.layout.dim});
}

// Nothing computed again.
inline std::vector<PlanOp> ops_of(const RandomStage& stage) {
  const PlanOp op{.tp = static_cast<std::int16_t>(stage.layout.tp),
                  .dp = static_cast<std::int16_t>(stage.layout.dp),
                  .dim = static_cast<std::int8_t>(stage.layout.dim)};
  return std::vector<PlanOp>(static_cast<std::size_t>(stage.size()), op);
}

inline double memory_of(const predict::IterationCosts& costs, const RandomStage& stage,
                        std::span<const PlanOp> ops) {
  return costs.stage(stage.first, ops, stage.microbatch, stage.place).memory.total();
}

// A limit at which something must be computed again, mostly.
inline double tight_limit(SeededRng& rng, const predict::IterationCosts& costs,
                          const RandomStage& stage) {
  std::vector<PlanOp> ops = ops_of(stage);
  const double most = memory_of(costs, stage, ops);
  for (PlanOp& op : ops) op.recompute = true;
  const double least = std::min(most, memory_of(costs, stage, ops));
  return least + (most - least) * (1.1 * rng.uniform() - 0.05);
}

// "gpt: operators 3 to 17, tp 2 dp 1 dim 0 ..." for a failed test.
inline std::string to_string(const predict::IterationCosts& costs, const RandomStage& stage) {
  return fmt::format("{}, {} operators: [{}, {}) microbatch {} tp {} dp {} dim {} behind {}",
                     costs.profile().model, costs.ops().size(), stage.first, stage.end,
                     stage.microbatch, stage.layout.tp, stage.layout.dp, stage.layout.dim,
                     stage.place.stages_behind);
}

}  // namespace weir::plan
