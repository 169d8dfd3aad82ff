// SPDX-License-Identifier: Apache-2.0
#include "domain/transformer_model.h"

#include <gtest/gtest.h>

#include "predict/transformer/published_runs_testing.h"

namespace weir::predict {
namespace {

TEST(TransformerModel, CountsTheParametersOfLlama2) {
  // 32 (2 x 4096 + 4 x 4096^2 + 3 x 4096 x 11008) + 4096 + 2 x 32000 x 4096
  EXPECT_EQ(llama2_7b().elements(), 6'738'415'616);
  // Grouped: each layer has 2 x 4096 x (4096 - 1024) fewer.
  EXPECT_EQ(llama2_7b(8).elements(), 6'738'415'616 - 32LL * 2 * 4096 * 3072);
}

TEST(TransformerModel, CountsThePublishedSizesOfGpt) {
  EXPECT_NEAR(static_cast<double>(gpt_like(24, 2304, 24).elements()) / 1e9, 1.65, 0.01);
  EXPECT_NEAR(static_cast<double>(gpt_like(96, 12'288, 96).elements()) / 1e9, 174.6, 0.1);
  EXPECT_NEAR(static_cast<double>(gpt_like(128, 25'600, 160).elements()) / 1e9, 1008, 1);
}

TEST(TransformerModel, HoldsAllExpertsAndUsesSome) {
  TransformerModel mixtral = llama_like(32, 4096, 32, 8, 14'336, 32'000);
  mixtral.experts = 8;
  mixtral.experts_per_token = 2;
  EXPECT_NEAR(static_cast<double>(mixtral.elements()) / 1e9, 46.7, 0.1);
  EXPECT_NEAR(
      static_cast<double>(32 * mixtral.active_layer_elements() + 2 * mixtral.vocab_elements()) /
          1e9,
      12.9, 0.1);
}

TEST(TransformerModel, CountsFlopsAsTwoForEveryParameterAndTheScores) {
  const TransformerModel model = llama2_7b();
  const double dense =
      2.0 * static_cast<double>(32 * model.layer_elements() + model.vocab_elements());
  EXPECT_DOUBLE_EQ(forward_flops(model, 1, 0), dense);
  EXPECT_DOUBLE_EQ(forward_flops(model, 1, 4096), dense + 2.0 * 32 * 4096 * 4096);
}

}  // namespace
}  // namespace weir::predict
