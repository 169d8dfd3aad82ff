// SPDX-License-Identifier: Apache-2.0
#include "plan/transformer/transformer_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::plan {
namespace {

using testing::ElementsAre;

TransformerRequest seven_billion(double memory_gib) {
  TransformerRequest request;
  TransformerModel& model = request.task.model;
  model.layers = 32;
  model.hidden = 4096;
  model.heads = model.kv_heads = 32;
  model.head_dim = 128;
  model.ffn = 11008;
  model.is_gated = true;
  model.vocab = 32000;
  request.task.sequence = 4096;
  request.task.batch = 64;
  request.task.gpu = *predict::find_gpu_type("A100-80G");
  request.task.fabric = predict::usual_fabric(request.task.gpu, 8);
  request.task.runtime = predict::modern_runtime();
  request.gpus = 16;
  request.memory_bytes = memory_gib * 1024 * 1024 * 1024;
  return request;
}

TEST(TransformerCurve, SizesAreThoseThatASchedulerGives) {
  EXPECT_THAT(sizes_of_a_pool(8, 32), ElementsAre(1, 2, 4, 8, 16, 32));
  EXPECT_THAT(sizes_of_a_pool(6, 32), ElementsAre(1, 2, 4)) << "6, 12 and 24 are no powers of two";
  EXPECT_THAT(sizes_of_a_pool(1, 4), ElementsAre(1, 2, 4));
}

TEST(TransformerCurve, HasTheBestPlanAtEachSizeAndNoSizeThatDoesNotFit) {
  const TransformerRequest request = seven_billion(80);
  const auto sizes = plan_sizes(request, sizes_of_a_pool(8, 16));
  ASSERT_EQ(sizes.size(), 5U);
  EXPECT_FALSE(sizes[0].best) << "7 billion parameters need more than one GPU";
  const Curve curve = planned_curve(sizes);
  EXPECT_EQ(curve.origin(), CurveOrigin::planned);
  EXPECT_EQ(curve.rate_at(1).value, 0);
  for (const PlannedSize& size : sizes) {
    if (!size.best) continue;
    const auto alone = search_transformer([&] {
      TransformerRequest one = request;
      one.gpus = size.gpus;
      one.task.fabric.gpus_per_node = std::min(8, size.gpus);
      return one;
    }());
    const double seconds = alone.best.front().time.iteration;
    EXPECT_NEAR(static_cast<double>(curve.rate_at(size.gpus).value), 1e6 / seconds, 1);
  }
  // Twice the GPUs are faster, and not more than twice as fast but for memory they bring.
  EXPECT_GT(curve.rate_at(16).value, curve.rate_at(8).value);
  EXPECT_LT(curve.rate_at(16).value, 22 * curve.rate_at(8).value / 10);
}

TEST(TransformerCurve, TellsMemoryFromABatchThatDoesNotDivide) {
  const auto sizes = plan_sizes(seven_billion(80), std::vector{1, 4, 37});
  EXPECT_GT(sizes[0].least_memory, 80.0 * 1024 * 1024 * 1024);
  EXPECT_TRUE(sizes[1].best);
  EXPECT_FALSE(sizes[2].best);
  EXPECT_EQ(sizes[2].least_memory, 0)
      << "neither 64 samples nor 32 layers can be divided among 37 GPUs";
}

TEST(TransformerCurve, IsEmptyWhereNothingFits) {
  const auto sizes = plan_sizes(seven_billion(8), sizes_of_a_pool(8, 16));
  EXPECT_TRUE(planned_curve(sizes).empty());
}

}  // namespace
}  // namespace weir::plan
