// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/kernel_times.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "predict/transformer/analytic_times.h"
#include "predict/transformer/kernel_times_testing.h"
#include "predict/transformer/layer_kernels.h"
#include "predict/transformer/published_runs_testing.h"

namespace weir::predict {
namespace {

const LayerShape kLayer{.rows = 4096,
                        .norm_rows = 4096,
                        .hidden = 2048,
                        .heads = 16,
                        .kv_heads = 16,
                        .head_dim = 128,
                        .ffn = 8192};
const AttentionShape kAttention{
    .samples = 2, .heads = 16, .kv_heads = 16, .tokens = 2048, .head_dim = 128};

TEST(KernelTimes, AddUpTheCallsOfALayer) {
  const auto times = roofline_times(modern_runtime());
  const KernelModel model = roofline_model();
  const KernelPredictor predictor{model};
  double forward = 0;
  double backward = 0;
  double calls = 0;
  const TrainingOps ops = layer_calls(kLayer, false);
  for (const TrainingOp& op : ops.ops) {
    const auto count = static_cast<double>(op.count);
    (op.phase == TrainingPhase::forward ? forward : backward) +=
        count * predictor.predict(op.call).seconds;
    calls += count;
  }
  for (int time = 0; time < 2; ++time) {  // computed, then remembered
    const ComputeSeconds layer = times->layer(kLayer);
    EXPECT_DOUBLE_EQ(layer.forward, forward);
    EXPECT_DOUBLE_EQ(layer.backward, backward);
    EXPECT_EQ(layer.calls(), calls);
    EXPECT_EQ(layer.tensors, static_cast<double>(ops.tensors));
  }
  EXPECT_EQ(times->source(), "kernel model of Roofline 1");
}

// The CPU has the same work whoever times the GPU.
RC_GTEST_PROP(ComputeTimesProperty, AnalyticOnesCallWhatTheKernelsAre, ()) {
  RuntimeTraits runtime = *rc::gen::arbitrary<bool>() ? autocast_runtime() : modern_runtime();
  runtime.has_flash = *rc::gen::arbitrary<bool>();
  const AnalyticTimes analytic{*find_gpu_type("H100-80G"), runtime};
  const auto kernels = roofline_times(runtime);
  const auto size = [] { return static_cast<double>(*rc::gen::inRange(1, 3000)); };
  const bool is_gated = *rc::gen::arbitrary<bool>();
  const LayerShape layer{.rows = size(),
                         .norm_rows = size(),
                         .hidden = size(),
                         .heads = size(),
                         .kv_heads = size(),
                         .head_dim = size(),
                         .ffn = size(),
                         .experts = static_cast<double>(*rc::gen::inRange(1, 9)),
                         .is_gated = is_gated};
  const AttentionShape attention{.samples = size(),
                                 .heads = size(),
                                 .kv_heads = size(),
                                 .tokens = size(),
                                 .head_dim = size(),
                                 .is_ring_step = runtime.has_flash && *rc::gen::arbitrary<bool>()};
  const VocabularyShape ends{
      .rows = size(), .samples = 1, .hidden = size(), .vocab = size(), .is_gated = is_gated};
  const auto expect_same = [](const ComputeSeconds& one, const ComputeSeconds& other) {
    RC_ASSERT(one.forward_calls == other.forward_calls);
    RC_ASSERT(one.backward_calls == other.backward_calls);
    RC_ASSERT(one.tensors == other.tensors);
  };
  expect_same(analytic.layer(layer), kernels->layer(layer));
  expect_same(analytic.attention(attention), kernels->attention(attention));
  expect_same(analytic.head(ends), kernels->head(ends));
  expect_same(analytic.embedding(ends), kernels->embedding(ends));
}

TEST(KernelTimes, SayWhatIsBeyondTheMeasurements) {
  const ComputeSeconds layer = roofline_times(modern_runtime())->layer(kLayer);
  EXPECT_DOUBLE_EQ(layer.beyond, layer.both());  // nothing was measured
}

TEST(KernelTimes, KeepTheTraitsOfTheRuntime) {
  RuntimeTraits slow = modern_runtime();
  slow.attention_rate = 0.5;
  slow.streaming = 2;
  slow.optimizer_bytes = 56;
  const auto plain = roofline_times(modern_runtime());
  const auto slower = roofline_times(slow);
  EXPECT_DOUBLE_EQ(slower->attention(kAttention).both(), 2 * plain->attention(kAttention).both());
  EXPECT_GT(slower->layer(kLayer).both(), plain->layer(kLayer).both());
  EXPECT_LT(slower->layer(kLayer).both(), 2 * plain->layer(kLayer).both());
  EXPECT_NEAR(slower->update(1e9).forward / plain->update(1e9).forward, 56.0 / 34, 1e-3);
  RuntimeTraits kept = modern_runtime();
  kept.has_flash = false;
  EXPECT_GT(roofline_times(kept)->attention(kAttention).both(),
            plain->attention(kAttention).both());
  EXPECT_GT(roofline_times(autocast_runtime())->layer(kLayer).both(),
            1.1 * plain->layer(kLayer).both());
}

TEST(KernelTimes, OfDifferentPartsAreNotMistakenForEachOther) {
  const auto times = roofline_times(modern_runtime());
  const VocabularyShape shape{
      .rows = 4096, .samples = 2, .hidden = 2048, .vocab = 32'000, .is_tied = true};
  const double head = times->head(shape).both();
  const double embedding = times->embedding(shape).both();
  EXPECT_GT(head, 5 * embedding);
  EXPECT_GT(embedding, 0);
  VocabularyShape half = shape;
  half.vocab /= 2;
  EXPECT_LT(times->head(half).both(), 0.6 * head);
  EXPECT_DOUBLE_EQ(times->head(shape).both(), head);
}

TEST(KernelTimes, OfASplitAreThoseOfItsShapes) {
  const auto times = roofline_times(modern_runtime());
  LayerShape half = kLayer;
  half.heads /= 2;
  half.kv_heads /= 2;
  half.ffn /= 2;
  // Norms and additions stay whole.
  EXPECT_GT(times->layer(half).both(), 0.5 * times->layer(kLayer).both());
  EXPECT_LT(times->layer(half).both(), 0.7 * times->layer(kLayer).both());
}

TransformerTask small_task(double probe_microseconds) {
  TransformerTask task = task_on("H200-141G", llama_like(8, 1024, 16, 4, 2816, 32'000), 1024, 16);
  task.compute = roofline_times(task.runtime, probe_microseconds);
  return task;
}

TEST(TransformerTime, IsTheCpusWhereLaunchesTakeLonger) {
  TransformerPlan plan;
  plan.micro_batch = 4;
  plan.micro_count = 4;
  const TransformerTime fast = transformer_time(small_task(0.01), plan);
  EXPECT_EQ(fast.launching, 0);
  EXPECT_LT(fast.cpu, fast.iteration);
  const TransformerTime slow = transformer_time(small_task(100), plan);
  EXPECT_NEAR(slow.cpu, 1e4 * fast.cpu, 1e-9 * slow.cpu);
  EXPECT_DOUBLE_EQ(slow.iteration, slow.cpu);
  EXPECT_DOUBLE_EQ(slow.launching, slow.cpu - fast.iteration);
  // A larger microbatch is launched as often as a small one.
  plan.micro_batch = 16;
  plan.micro_count = 1;
  EXPECT_LT(transformer_time(small_task(100), plan).iteration, 0.5 * slow.iteration);
}

TEST(TransformerTime, LaunchesWhatIsComputedAgain) {
  TransformerPlan plan;
  plan.micro_batch = 16;
  const TransformerTask task = small_task(5);
  const double kept = transformer_time(task, plan).cpu;
  plan.recompute = Recompute::plus;
  const double most = transformer_time(task, plan).cpu;
  plan.recompute = Recompute::full;
  EXPECT_LT(kept, most);
  EXPECT_LT(most, transformer_time(task, plan).cpu);
}

// Eight times the GPUs around a ring compute an eighth each, whoever is asked.
TEST(TransformerTime, DividesAttentionAmongARing) {
  TransformerTask task = task_on("H200-141G", llama2_7b(), 1 << 18, 1);
  for (const bool by_kernels : {false, true}) {
    if (by_kernels) task.compute = roofline_times(task.runtime);
    TransformerPlan plan;
    plan.grid = {8, 1, 1};
    const double alone = transformer_time(task, plan).attention;
    plan.grid = {8, 8, 8};
    const TransformerTime ring = transformer_time(task, plan);
    EXPECT_NEAR((ring.attention - ring.ring_waiting) / alone, 1.0 / 8, 0.01) << by_kernels;
  }
}

TEST(TransformerTime, SaysWhereItsComputeTimesComeFrom) {
  TransformerTask task = small_task(5);
  EXPECT_EQ(compute_source(task), "kernel model of Roofline 1");
  task.compute = nullptr;
  EXPECT_EQ(compute_source(task), "analytic");
}

// No choice of shards is faster than what is said of the structure: the search rules structures out by it.
RC_GTEST_PROP(TransformerTimeProperty, HasALeastThatNoShardsBeat, ()) {
  const auto power = [](int most) { return 1 << *rc::gen::inRange(0, most + 1); };
  TransformerTask task = task_on("H200-141G", llama2_7b(8), 1 << 14, 1);
  if (*rc::gen::arbitrary<bool>())
    task.compute =
        roofline_times(task.runtime, *rc::gen::elementOf(std::vector{0.01, 5.0, 5000.0}));
  TransformerPlan plan;
  plan.mode = *rc::gen::elementOf(
      std::vector{ParallelMode::isp, ParallelMode::mtp, ParallelMode::msp, ParallelMode::fsp});
  plan.grid.head = power(3);
  plan.replicas = power(3);
  plan.stages = power(2);
  plan.micro_batch = power(2);
  plan.micro_count = power(3);
  plan.recompute =
      *rc::gen::elementOf(std::vector{Recompute::none, Recompute::full, Recompute::plus});
  task.batch = plan.batch();
  RC_PRE(broken_rules(task.model, task.sequence, plan.gpus(), plan.batch(), plan).empty());
  const double least = transformer_time(task, plan).least();
  plan.weight_shards = std::min(plan.same_weights(), power(3));
  plan.optimizer_shards = std::min(plan.same_weights(), plan.weight_shards * power(3));
  plan.gradient_shards = *rc::gen::arbitrary<bool>() ? plan.weight_shards : plan.optimizer_shards;
  const TransformerTime time = transformer_time(task, plan);
  RC_ASSERT(least <= time.iteration);
  const double sum = time.linear + time.attention + time.again + time.sequence + time.weights +
                     time.head + time.bubble + time.transfers + time.gradients + time.update +
                     time.launching;
  RC_ASSERT(std::abs(sum - time.iteration) <= 1e-9 * sum);
  RC_ASSERT(time.iteration >= time.cpu);
}

}  // namespace
}  // namespace weir::predict
