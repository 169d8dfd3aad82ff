// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/layer_kernels.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "domain/transformer_model.h"
#include "predict/kernels/kernel_work.h"
#include "predict/kernels/text_networks.h"

namespace weir::predict {
namespace {

using CallCounts = std::map<std::pair<TrainingPhase, std::string>, std::int64_t>;

void add_counts(const TrainingOps& ops, std::int64_t times, CallCounts& counts) {
  for (const TrainingOp& op : ops.ops) {
    if (op.phase != TrainingPhase::optimizer)
      counts[{op.phase, to_string(op.call)}] += times * op.count;
  }
}

// A whole network on one GPU, put together from its parts.
struct WholeNetwork {
  CallCounts counts;
  std::int64_t parameters = 0;
  std::int64_t tensors = 0;

  void add(const TrainingOps& ops, std::int64_t times = 1) {
    add_counts(ops, times, counts);
    parameters += times * ops.parameters;
    tensors += times * ops.tensors;
  }
};

WholeNetwork autocast_network(const TransformerModel& model, std::int64_t batch,
                              std::int64_t length) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double rows = number(batch * length);
  const LayerShape layer{.rows = rows,
                         .norm_rows = rows,
                         .hidden = number(model.hidden),
                         .heads = number(model.heads),
                         .kv_heads = number(model.kv_heads),
                         .head_dim = number(model.head_dim),
                         .ffn = number(model.ffn),
                         .is_gated = model.is_gated};
  const AttentionShape attention{.samples = number(batch),
                                 .heads = number(model.heads),
                                 .kv_heads = number(model.kv_heads),
                                 .tokens = number(length),
                                 .head_dim = number(model.head_dim)};
  const VocabularyShape vocabulary{.rows = rows,
                                   .samples = number(batch),
                                   .hidden = number(model.hidden),
                                   .vocab = number(model.vocab),
                                   .is_gated = model.is_gated,
                                   .is_tied = model.has_tied_embeddings};
  WholeNetwork network;
  network.add(layer_calls(layer, true), model.layers);
  network.add(attention_calls(attention, true), model.layers);
  network.add(head_calls(vocabulary, true));
  network.add(embedding_calls(vocabulary, true));
  return network;
}

void expect_same(const WholeNetwork& parts, const TrainingOps& network) {
  CallCounts counts;
  add_counts(network, 1, counts);
  EXPECT_EQ(parts.counts, counts);
  EXPECT_EQ(parts.parameters, network.parameters);
  EXPECT_EQ(parts.tensors, network.tensors);
}

TEST(LayerKernels, OfAutocastOnOneGpuAreThoseOfTheKnownNetworks) {
  const TransformerModel gpt{.name = "gpt2",
                             .layers = 24,
                             .hidden = 1024,
                             .heads = 16,
                             .kv_heads = 16,
                             .head_dim = 64,
                             .ffn = 4096,
                             .is_gated = false,
                             .vocab = 50257,
                             .has_tied_embeddings = true};
  expect_same(autocast_network(gpt, 8, 1024), transformer_ops(gpt, 8, 1024));
  const TransformerModel llama{.name = "llama",
                               .layers = 16,
                               .hidden = 2048,
                               .heads = 32,
                               .kv_heads = 8,
                               .head_dim = 64,
                               .ffn = 8192,
                               .is_gated = true,
                               .vocab = 32000};
  expect_same(autocast_network(llama, 3, 512), transformer_ops(llama, 3, 512));
}

// One before attention, one before the inner layer, forward and backward, whoever trains.
TEST(LayerKernels, OfALayerHaveTwoNorms) {
  for (const bool is_gated : {false, true}) {
    const LayerShape layer{.rows = 1024,
                           .norm_rows = 1024,
                           .hidden = 512,
                           .heads = 8,
                           .kv_heads = 8,
                           .head_dim = 64,
                           .ffn = 2048,
                           .is_gated = is_gated};
    const std::string norm = is_gated ? "rmsnorm" : "ln";
    std::map<std::string, std::int64_t> counts;
    for (const TrainingOp& op : layer_calls(layer, false).ops) counts[op.call.op] += op.count;
    EXPECT_EQ(counts[norm], 2) << norm;
    EXPECT_EQ(counts[norm + "_bwd"], 2) << norm;
  }
}

double product_flops(const TrainingOps& ops, TrainingPhase phase) {
  double flops = 0;
  for (const TrainingOp& op : ops.ops) {
    if (op.phase == phase && op.call.family == KernelFamily::gemm)
      flops += static_cast<double>(op.count) * kernel_work(op.call).flops;
  }
  return flops;
}

LayerShape any_layer() {
  const auto size = [](int least, int most) {
    return static_cast<double>(*rc::gen::inRange(least, most));
  };
  LayerShape shape;
  shape.rows = 8 * size(1, 500);
  shape.norm_rows = shape.rows;
  shape.kv_heads = 8 * size(1, 4);
  shape.heads = shape.kv_heads * size(1, 5);
  shape.head_dim = 32 * size(1, 5);
  shape.hidden = shape.heads * shape.head_dim;
  shape.ffn = 64 * size(1, 100);
  shape.is_gated = *rc::gen::arbitrary<bool>();
  return shape;
}

// Each multiplication once forward and twice backward, whoever trains.
RC_GTEST_PROP(LayerKernelsProperty, MultiplyWithEveryParameterOnce, ()) {
  const LayerShape shape = any_layer();
  TransformerModel model;
  model.hidden = static_cast<std::int64_t>(shape.hidden);
  model.heads = static_cast<std::int64_t>(shape.heads);
  model.kv_heads = static_cast<std::int64_t>(shape.kv_heads);
  model.head_dim = static_cast<std::int64_t>(shape.head_dim);
  model.ffn = static_cast<std::int64_t>(shape.ffn);
  model.is_gated = shape.is_gated;
  const double matrices = static_cast<double>(model.layer_elements() - 2 * model.hidden);
  for (const bool autocasts : {false, true}) {
    const TrainingOps ops = layer_calls(shape, autocasts);
    const double forward = product_flops(ops, TrainingPhase::forward);
    RC_ASSERT(forward == 2 * shape.rows * matrices);
    RC_ASSERT(product_flops(ops, TrainingPhase::backward) == 2 * forward);
  }
}

// Tensor parallelism and a split of the tokens divide the work exactly.
RC_GTEST_PROP(LayerKernelsProperty, DivideTheProductsAmongGpus, ()) {
  const LayerShape whole = any_layer();
  const double ways = *rc::gen::elementOf(std::vector{2, 4, 8});
  LayerShape tensor = whole;
  tensor.heads /= ways;
  tensor.kv_heads /= ways;
  tensor.ffn /= ways;
  LayerShape tokens = whole;
  tokens.rows /= ways;
  tokens.norm_rows /= ways;
  for (const bool autocasts : {false, true}) {
    for (const TrainingPhase phase : {TrainingPhase::forward, TrainingPhase::backward}) {
      const double all = product_flops(layer_calls(whole, autocasts), phase);
      RC_ASSERT(product_flops(layer_calls(tensor, autocasts), phase) * ways == all);
      RC_ASSERT(product_flops(layer_calls(tokens, autocasts), phase) * ways == all);
    }
  }
}

double attention_flops(const AttentionShape& shape) {
  return kernel_work(attention_calls(shape, true).ops.at(0).call).flops;
}

TEST(LayerKernels, OfARingAddUpToTheCausalSquare) {
  const AttentionShape whole{
      .samples = 2, .heads = 8, .kv_heads = 2, .tokens = 1 << 16, .head_dim = 128};
  for (const double context : {2.0, 8.0, 64.0}) {
    AttentionShape step = whole;
    step.tokens /= context;
    step.is_ring_step = true;
    // Each of `context` GPUs has as many steps.
    EXPECT_NEAR(context * context * attention_flops(step) / attention_flops(whole), 1, 1e-4);
  }
}

TEST(LayerKernels, OfARingAddTheResultsOfItsSteps) {
  AttentionShape shape{.samples = 2, .heads = 8, .kv_heads = 2, .tokens = 1024, .head_dim = 64};
  EXPECT_EQ(attention_calls(shape, true).ops.size(), 2U);
  shape.is_ring_step = true;
  double forward = 0;
  double backward = 0;
  for (const TrainingOp& op : attention_calls(shape, true).ops) {
    if (op.call.op != "add_mixed") continue;
    (op.phase == TrainingPhase::forward ? forward : backward) +=
        static_cast<double>(op.count * op.call.sizes[0] * op.call.sizes[1]);
  }
  EXPECT_EQ(forward, 2 * 1024 * 8 * 64);             // the output
  EXPECT_EQ(backward, 2 * 1024 * (8 + 2 * 2) * 64);  // gradients of queries, keys and values
}

TEST(LayerKernels, OfKeptScoresLookAtTheWholeSquare) {
  const AttentionShape shape{
      .samples = 4, .heads = 8, .kv_heads = 8, .tokens = 2048, .head_dim = 128};
  const TrainingOps ops = attention_calls(shape, false);
  const double forward = product_flops(ops, TrainingPhase::forward);
  EXPECT_NEAR(forward / attention_flops(shape), 2, 1e-3);
  EXPECT_EQ(product_flops(ops, TrainingPhase::backward), 2 * forward);
}

TEST(LayerKernels, OfExpertsAreOneProductEach) {
  LayerShape dense{.rows = 4096,
                   .norm_rows = 4096,
                   .hidden = 1024,
                   .heads = 16,
                   .kv_heads = 16,
                   .head_dim = 64,
                   .ffn = 4096,
                   .is_gated = true};
  LayerShape sparse = dense;
  sparse.experts = 8;
  sparse.experts_per_token = 1;
  // Eight experts with an eighth of the tokens each: as many multiplications, eight times the launches.
  const TrainingOps one = layer_calls(dense, false);
  const TrainingOps eight = layer_calls(sparse, false);
  EXPECT_EQ(product_flops(eight, TrainingPhase::forward),
            product_flops(one, TrainingPhase::forward));
  EXPECT_EQ(eight.tensors, one.tensors + 7 * 2);
}

TEST(LayerKernels, OfATiedHeadAddBothGradients) {
  const VocabularyShape tied{
      .rows = 512, .samples = 1, .hidden = 64, .vocab = 1000, .is_tied = true};
  VocabularyShape own = tied;
  own.is_tied = false;
  for (const bool autocasts : {false, true}) {
    const TrainingOps joined = head_calls(tied, autocasts);
    const TrainingOps apart = head_calls(own, autocasts);
    EXPECT_EQ(joined.ops.size(), apart.ops.size() + 1);
    EXPECT_EQ(apart.parameters - joined.parameters, 64 * 1000);
  }
}

TEST(LayerKernels, OfAnUpdateCoverEveryElement) {
  double elements = 0;
  for (const TrainingOp& op : update_calls(1.25e9).ops) {
    EXPECT_EQ(op.call.op, "adamw");
    elements += static_cast<double>(op.count * op.call.sizes[0] * op.call.sizes[1]);
  }
  EXPECT_NEAR(elements, 1.25e9, 100);
}

}  // namespace
}  // namespace weir::predict
