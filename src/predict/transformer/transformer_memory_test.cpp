// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/transformer_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "predict/transformer/published_runs_testing.h"

namespace weir::predict {
namespace {

TEST(TransformerMemory, IsThatOfTheSimulatorForMultiHeadAttention) {
  // h 4096, L 32, m 11008 (not quite 8/3 h), b 1, s 4096, sp 8, dp 8, wp 8, zp 4: by hand.
  const TransformerModel model = internlm_7b();
  TransformerPlan plan;
  plan.grid = {8, 1, 1};
  plan.replicas = 8;
  plan.weight_shards = plan.gradient_shards = 8;
  plan.optimizer_shards = 32;
  plan.has_memory_pool = true;
  const TransformerMemory memory = transformer_memory(model, 4096, internevo_2023(), plan);
  const double layer = 2 * 4096.0 + 4 * 4096.0 * 4096 + 3 * 4096.0 * 11'008;
  const double vocab = 2 * 103'168.0 * 4096 / 8;
  EXPECT_DOUBLE_EQ(memory.weights, 2 * (32 * layer / 8 + vocab));
  EXPECT_DOUBLE_EQ(memory.gradients, memory.weights);
  EXPECT_DOUBLE_EQ(memory.optimizer, 12 * (32 * layer / 32 + vocab / 2));
  // 118/3 when m is exactly 8/3 h.
  const double tensor = 4096.0 * 4096;
  EXPECT_NEAR(memory.activations, 32 * 118.0 / 3 * tensor / 8, 0.01 * memory.activations);
  EXPECT_DOUBLE_EQ(memory.working, 4 * tensor / 8 + 2 * tensor / 8 + 2 * 4096.0 * 103'168 / 8 +
                                       4 * tensor * (1 + 1.0 / 8) + 2 * 4096.0 * 103'168 / 8 +
                                       2.0 * 4096 * 128);
  EXPECT_DOUBLE_EQ(memory.pool, 8 * (4 * tensor + 3 * 4096.0 * 11'008));
}

TEST(TransformerMemory, IsThatOfKorthikantiForGpt) {
  // Their table 2: s b h (34 + 5 a s / h) alone, (10 + 24/t + 5as/ht) tensor parallel, (34/t + 5as/ht) with the
  // sequence split, for which InternEvo takes 4 + 30/t.
  const TransformerModel model = gpt_like(1, 6144, 64);
  const double tensor = 2048.0 * 6144;
  const double scores = 5.0 * 64 * 2048 / 6144;
  TransformerPlan plan;
  plan.mode = ParallelMode::mtp;
  EXPECT_DOUBLE_EQ(transformer_memory(model, 2048, megatron_2021(), plan).activations,
                   tensor * (34 + scores));
  plan.grid.head = 8;
  EXPECT_DOUBLE_EQ(transformer_memory(model, 2048, megatron_2021(), plan).activations,
                   tensor * (10 + 24.0 / 8 + scores / 8));
  plan.recompute = Recompute::selective;
  EXPECT_DOUBLE_EQ(transformer_memory(model, 2048, megatron_2021(), plan).activations,
                   tensor * (10 + 24.0 / 8));
  plan.mode = ParallelMode::msp;
  EXPECT_DOUBLE_EQ(transformer_memory(model, 2048, megatron_2021(), plan).activations,
                   tensor * (4 + 30.0 / 8));
}

TEST(TransformerMemory, UnderAutocastWeightsAndGradientsAreFloat32) {
  const TransformerModel model = llama2_7b();
  const double elements = 32 * static_cast<double>(model.layer_elements()) +
                          2 * static_cast<double>(model.vocab_elements());
  TransformerPlan plan;
  plan.replicas = 8;
  plan.optimizer_shards = 8;
  const auto memory = [&] { return transformer_memory(model, 4096, autocast_runtime(), plan); };
  // Their casts for products stay until the backward pass.
  EXPECT_DOUBLE_EQ(memory().weights, (4 + 2) * elements);
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * elements);
  EXPECT_DOUBLE_EQ(memory().optimizer, 8 * elements / 8);
  plan.weight_shards = plan.gradient_shards = 8;
  EXPECT_DOUBLE_EQ(memory().weights, 4 * elements / 8);
  EXPECT_DOUBLE_EQ(memory().gradients, 4 * elements / 8);
}

TEST(TransformerMemory, KeepsOnlyWhatRecomputationNeeds) {
  TransformerPlan plan;
  plan.grid = {8, 8, 1};
  const std::int64_t sequence = 1 << 20;
  const double tokens = (1 << 20) / 64.0;
  plan.recompute = Recompute::full;
  EXPECT_DOUBLE_EQ(transformer_memory(llama2_7b(), sequence, modern_runtime(), plan).activations,
                   32 * 2 * tokens * 4096);
  plan.recompute = Recompute::plus;
  EXPECT_DOUBLE_EQ(transformer_memory(llama2_7b(), sequence, modern_runtime(), plan).activations,
                   32 * (4 * tokens * 4096 + 4 * tokens * 32));
}

TEST(TransformerMemory, CountsTheMicrobatchesInFlight) {
  TransformerPlan plan;
  plan.mode = ParallelMode::msp;
  plan.stages = 4;
  plan.micro_count = 2;
  const double two = transformer_memory(llama2_7b(), 4096, modern_runtime(), plan).activations;
  plan.micro_count = 16;
  EXPECT_DOUBLE_EQ(transformer_memory(llama2_7b(), 4096, modern_runtime(), plan).activations,
                   2 * two);
  plan.interleave = 2;  // 1 + (p-1)/(p v)
  EXPECT_DOUBLE_EQ(transformer_memory(llama2_7b(), 4096, modern_runtime(), plan).activations,
                   2 * two * 1.375);
}

// Two layers of Llama 405B's dimensions in bf16 are 12.8 GB, whoever shards them; one when nothing is gathered ahead.
TEST(TransformerMemory, HoldsTheLayersThatAreGathered) {
  const TransformerModel model = llama_like(126, 16'384, 128, 8, 53'248, 128'256);
  TransformerPlan plan;
  plan.replicas = 64;
  for (const ParallelMode mode : {ParallelMode::isp, ParallelMode::mtp}) {
    plan.mode = mode;
    plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 1;
    EXPECT_EQ(transformer_memory(model, 4096, modern_runtime(), plan).pool, 0);
    plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 64;
    EXPECT_NEAR(transformer_memory(model, 4096, modern_runtime(), plan).pool, 12.8e9, 0.1e9);
    plan.hides_weights = false;
    EXPECT_NEAR(transformer_memory(model, 4096, modern_runtime(), plan).pool, 6.4e9, 0.05e9);
    plan.hides_weights = true;
  }
  plan.grid.head = 8;  // each has a part of the layer
  EXPECT_NEAR(transformer_memory(model, 4096, modern_runtime(), plan).pool, 1.6e9, 0.02e9);
}

// Eight key/value heads for 32 ranks: four copies of each, so that a layer keeps as much as with 32.
TEST(TransformerMemory, KeepsCopiedKeyValueHeads) {
  TransformerPlan plan;
  const auto kept = [&](std::int64_t kv_heads) {
    return transformer_memory(llama2_7b(kv_heads), 1 << 16, modern_runtime(), plan).activations;
  };
  plan.grid.head = 8;
  EXPECT_DOUBLE_EQ(kept(32) - kept(8), 32 * 4 * 0.75 * 65'536 * 4096 / 8);
  plan.grid.head = 16;
  EXPECT_DOUBLE_EQ(kept(32) - kept(8), 32 * 4 * 0.5 * 65'536 * 4096 / 16);
  plan.grid.head = 32;
  EXPECT_DOUBLE_EQ(kept(32), kept(8));
}

// 4,096 tokens of 103,168 logits at 12 bytes beside 32 layers' activations.
TEST(TransformerMemory, HoldsTheLogitsThatTheLossMakes) {
  const TransformerModel model = internlm_7b();
  const TransformerPlan plan;
  const double narrow = transformer_memory(model, 4096, internevo_2023(), plan).working;
  const double wide = transformer_memory(model, 4096, modern_runtime(), plan).working;
  EXPECT_DOUBLE_EQ(wide - narrow, 10 * 4096.0 * 103'168);
}

// The first of four stages has four microbatches in flight and no logits, the last one microbatch and all logits.
TEST(TransformerMemory, IsThatOfTheFullerEndOfAPipeline) {
  TransformerModel model = internlm_7b();
  TransformerPlan plan;
  plan.mode = ParallelMode::msp;
  plan.stages = 4;
  plan.micro_count = 8;
  const double one = transformer_memory(model, 4096, modern_runtime(), plan).activations / 4;
  const double working = transformer_memory(model, 4096, modern_runtime(), plan).working;
  model.vocab *= 20;
  const TransformerMemory last = transformer_memory(model, 4096, modern_runtime(), plan);
  EXPECT_DOUBLE_EQ(last.activations, one);
  EXPECT_DOUBLE_EQ(last.working - working, 14 * 4096.0 * static_cast<double>(model.vocab));
}

// Who shares a sequence under isp has the whole vocabulary, or its shard; InternEvo cuts it.
TEST(TransformerMemory, HasTheVocabularyOncePerShard) {
  const TransformerModel model = internlm_7b();
  TransformerPlan plan;
  plan.grid = {1, 8, 1};
  plan.replicas = 2;
  const double layers = 32 * (2 * 4096.0 + 4 * 4096.0 * 4096 + 3 * 4096.0 * 11'008);
  const double vocab = 2 * 103'168.0 * 4096;
  const auto memory = [&](const RuntimeTraits& runtime) {
    return transformer_memory(model, 1 << 15, runtime, plan);
  };
  EXPECT_DOUBLE_EQ(memory(modern_runtime()).weights, 2 * (layers + vocab));
  EXPECT_DOUBLE_EQ(memory(modern_runtime()).optimizer, 12 * (layers + vocab));
  EXPECT_DOUBLE_EQ(memory(internevo_2023()).weights, 2 * (layers + vocab / 8));
  EXPECT_DOUBLE_EQ(memory(internevo_2023()).optimizer, 12 * (layers + vocab / 8));
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 16;
  EXPECT_DOUBLE_EQ(memory(modern_runtime()).weights, 2 * (layers + vocab) / 16);
  EXPECT_DOUBLE_EQ(memory(internevo_2023()).optimizer, 12 * (layers / 16 + vocab / 8 / 2));
}

// Of a small model with a large vocabulary that is more than a layer.
TEST(TransformerMemory, GathersTheVocabularyLikeALayer) {
  const TransformerModel model = llama_like(24, 896, 14, 2, 4864, 151'936);
  TransformerPlan plan;
  plan.replicas = 8;
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 8;
  plan.hides_weights = false;
  EXPECT_DOUBLE_EQ(transformer_memory(model, 4096, modern_runtime(), plan).pool,
                   2 * 896.0 * 151'936);
  EXPECT_LT(transformer_memory(model, 4096, internevo_2023(), plan).pool, 2 * 896.0 * 151'936 / 8);
}

// Qwen3 0.6B: 16 heads of 128 in a width of 1,024.
TEST(TransformerMemory, KeepsQueriesAsWideAsTheirHeads) {
  TransformerModel model = llama_like(28, 1024, 16, 8, 3072, 1000);
  const TransformerPlan plan;
  const double narrow = transformer_memory(model, 4096, modern_runtime(), plan).activations;
  model.head_dim = 128;
  EXPECT_DOUBLE_EQ(transformer_memory(model, 4096, modern_runtime(), plan).activations - narrow,
                   28 * 4096.0 * 4 * (16 + 8) * 64);
}

// P9: every degree of sharding and of splitting only ever saves; but for weights that are sharded for the first time: then
// some of them have to be gathered, and where a stage has few layers that is more than what is saved.
RC_GTEST_PROP(TransformerMemoryProperty, NeverGrowsWithShardsOrSplit, ()) {
  const auto power = [](int most) { return 1 << *rc::gen::inRange(0, most + 1); };
  TransformerPlan plan;
  plan.mode = *rc::gen::elementOf(
      std::vector{ParallelMode::isp, ParallelMode::msp, ParallelMode::mtp, ParallelMode::fsp});
  plan.recompute = *rc::gen::elementOf(
      std::vector{Recompute::none, Recompute::selective, Recompute::full, Recompute::plus});
  plan.grid.head = power(3);
  if (plan.mode == ParallelMode::isp) plan.grid.context = power(3);
  plan.replicas = power(4);
  plan.stages = power(3);
  plan.micro_batch = power(2);
  plan.micro_count = power(4);
  plan.weight_shards = power(2);
  plan.gradient_shards = plan.weight_shards * power(2);
  plan.optimizer_shards = plan.gradient_shards * power(2);
  plan.hides_weights = *rc::gen::arbitrary<bool>();
  plan.has_memory_pool = plan.mode == ParallelMode::isp && plan.weight_shards > 1 &&
                         plan.hides_weights && *rc::gen::arbitrary<bool>();
  RuntimeTraits runtime =
      *rc::gen::elementOf(std::vector{modern_runtime(), internevo_2023(), megatron_2021()});
  runtime.has_flash = *rc::gen::arbitrary<bool>();
  const TransformerModel model = llama2_7b(8);
  const auto needed = [&](const TransformerPlan& other) {
    return transformer_memory(model, 1 << 15, runtime, other).needed;
  };
  const double before = needed(plan);
  TransformerPlan more = plan;
  more.optimizer_shards *= 2;
  RC_ASSERT(needed(more) <= before);
  more.gradient_shards *= 2;
  RC_ASSERT(needed(more) <= before);
  more.weight_shards *= 2;
  const auto memory_of = [&](const TransformerPlan& other) {
    return transformer_memory(model, 1 << 15, runtime, other);
  };
  const double gathered = memory_of(more).pool - memory_of(plan).pool;
  RC_ASSERT(gathered == 0 || plan.weight_shards == 1);
  const double saved = memory_of(plan).weights - memory_of(more).weights;
  RC_ASSERT(needed(more) <= before || gathered > saved);
  more = plan;
  more.grid.head *= 2;
  RC_ASSERT(needed(more) <= before);
  if (plan.mode == ParallelMode::isp) {
    more = plan;
    more.grid.context *= 2;
    RC_ASSERT(needed(more) <= before);
  }
  more = plan;
  more.micro_batch *= 2;
  RC_ASSERT(needed(more) >= before);
}

TEST(TransformerPlan, EnforcesTheOrderOfShards) {
  const TransformerModel model = llama2_7b();
  TransformerPlan plan;
  plan.grid = {8, 1, 1};
  plan.replicas = 8;
  const auto broken = [&] { return to_string(broken_rules(model, 4096, 64, 8, plan)); };
  EXPECT_EQ(broken(), "");
  plan.weight_shards = 8;
  EXPECT_EQ(broken(), "gradient shards is \"1\", expected a multiple of wp, 8\n");
  plan.gradient_shards = 16;
  plan.optimizer_shards = 8;
  EXPECT_EQ(broken(),
            "optimizer shards is \"8\", expected a multiple of the gradient shards, 16\n");
  plan.optimizer_shards = 48;
  EXPECT_EQ(
      broken(),
      "optimizer shards is \"48\", expected a divisor of the 64 ranks with the same weights\n");
  plan.optimizer_shards = 64;
  EXPECT_EQ(broken(), "");
  plan.has_memory_pool = true;
  EXPECT_EQ(broken(), "");
  plan.weight_shards = 1;
  EXPECT_EQ(broken(),
            "pool is \"on\", expected off where no weights are gathered ahead under isp\n");
  plan.weight_shards = 8;
  plan.has_memory_pool = false;
  plan.mode = ParallelMode::msp;  // then tensor parallel ranks hold different weights
  EXPECT_EQ(
      broken(),
      "optimizer shards is \"64\", expected a divisor of the 8 ranks with the same weights\n");
}

TEST(TransformerPlan, NamesEveryRuleThatIsBroken) {
  TransformerPlan plan;
  plan.mode = ParallelMode::mtp;
  plan.grid.head = 3;
  plan.stages = 40;
  plan.interleave = 2;
  const std::string text = to_string(broken_rules(llama2_7b(), 4096, 64, 8, plan));
  for (const char* part : {"tp is \"3\", expected a divisor of the 32 heads",
                           "pp is \"40\", expected at most the 32 layers", "GPUs", "the batch, 8",
                           "interleave is \"2\""}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

}  // namespace
}  // namespace weir::predict
