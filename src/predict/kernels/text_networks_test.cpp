// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/text_networks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "predict/kernels/kernel_work.h"
#include "predict/kernels/known_networks.h"

namespace weir::predict {
namespace {

struct NetworkWork {
  const char* name;
  std::size_t entries;
  std::int64_t calls;
  double flops;
  double bytes;
};

NetworkWork work_of(const char* name, const TrainingOps& ops) {
  NetworkWork work{name, ops.ops.size(), 0, 0, 0};
  for (const TrainingOp& op : ops.ops) {
    const KernelWork one = kernel_work(op.call);
    work.calls += op.count;
    work.flops += one.flops * static_cast<double>(op.count);
    work.bytes += one.all_bytes() * static_cast<double>(op.count);
  }
  return work;
}

// Whole numbers below 2^53, so the sums are exact in any order. They were right against the H200's profiles, operator by
// operator; whoever changes a builder for another network must not change these.
TEST(TextNetworks, NamedOnesHaveTheWorkTheyWereJudgedWith) {
  for (const NetworkWork& known : {NetworkWork{"bert-base", 72, 717, 1106929499308, 12485199064},
                                   {"gpt2-medium", 64, 1372, 7061555625984, 52936112128},
                                   {"llama-1b", 64, 1389, 9758789012992, 78303262720},
                                   {"bert-mini", 71, 324, 153082171564, 3276755160},
                                   {"gpt-mini", 65, 361, 482384075776, 6505114624},
                                   {"llama-mini", 64, 444, 418396712704, 7773494272}}) {
    const NetworkWork now = work_of(known.name, *known_network(known.name, 3));
    EXPECT_EQ(now.entries, known.entries) << known.name;
    EXPECT_EQ(now.calls, known.calls) << known.name;
    EXPECT_EQ(now.flops, known.flops) << known.name;
    EXPECT_EQ(now.bytes, known.bytes) << known.name;
  }
}

TransformerModel decoder(const std::string& name, bool is_gated) {
  TransformerModel model;
  model.name = name;
  model.layers = 4;
  model.hidden = 512;
  model.heads = 8;
  model.kv_heads = 4;
  model.head_dim = 64;
  model.ffn = 1536;
  model.is_gated = is_gated;
  model.vocab = 32000;
  return model;
}

std::int64_t calls_of(const TrainingOps& ops, TrainingPhase phase, const std::string& op) {
  std::int64_t count = 0;
  for (const TrainingOp& one : ops.ops)
    if (one.phase == phase && one.call.op == op) count += one.count;
  return count;
}

// Matrices, norms (and biases, which the dimensions do not count) of a decoder: what PyTorch would hold.
TEST(TextNetworks, HaveTheParametersOfTheirArchitecture) {
  const std::int64_t h = 512, q = 512, kv = 256, m = 1536;
  const TransformerModel llama = decoder("llama", true);
  EXPECT_EQ(transformer_ops(llama, 2, 128).parameters, llama.elements());
  EXPECT_EQ(transformer_ops(llama, 2, 128).tensors, 2 + 1 + 4 * (7 + 2));
  EXPECT_EQ(transformer_ops(decoder("internlm2", true), 2, 128).parameters, llama.elements());
  EXPECT_EQ(transformer_ops(decoder("internlm2", true), 2, 128).tensors, 2 + 1 + 4 * (5 + 2));
  EXPECT_EQ(transformer_ops(decoder("qwen2", true), 2, 128).parameters,
            llama.elements() + 4 * (q + 2 * kv));
  EXPECT_EQ(transformer_ops(decoder("qwen3", true), 2, 128).parameters,
            llama.elements() + 4 * 2 * 64);
  const std::int64_t gpt_layer =
      h * (q + 2 * kv) + (q + 2 * kv) + q * h + h + 2 * h * m + m + h + 4 * h;
  EXPECT_EQ(transformer_ops(decoder("gpt_neox", false), 2, 128).parameters,
            4 * gpt_layer + 2 * 32000 * h + 2 * h);
  TransformerModel gpt = decoder("gpt2", false);
  gpt.has_tied_embeddings = true;
  EXPECT_EQ(transformer_ops(gpt, 2, 128).parameters, 4 * gpt_layer + (32000 + 128) * h + 2 * h);
}

TEST(TextNetworks, ArchitecturesDifferWhereTheyShould) {
  const auto forward = [](const TransformerModel& model, const char* op) {
    return calls_of(transformer_ops(model, 2, 128), TrainingPhase::forward, op);
  };
  EXPECT_EQ(forward(decoder("gpt2", false), "dropout"), 1 + 2 * 4);
  EXPECT_EQ(forward(decoder("gpt_neox", false), "dropout"), 0);
  EXPECT_EQ(forward(decoder("gpt2", false), "mul_heads"), 0);
  EXPECT_EQ(forward(decoder("gpt_neox", false), "mul_heads"), 4 * 2 * 2);
  EXPECT_EQ(forward(decoder("llama", true), "mul_heads"), 4 * 2 * 2);
  EXPECT_EQ(forward(decoder("llama", true), "linear"), 0);
  EXPECT_EQ(forward(decoder("qwen2", true), "linear"), 4 * 3);
  EXPECT_EQ(forward(decoder("llama", true), "mm"), 4 * 7 + 1);
  EXPECT_EQ(forward(decoder("internlm2", true), "mm"), 4 * 5 + 1);
  EXPECT_EQ(forward(decoder("qwen3", true), "pow2"), 4 * 2);
  EXPECT_EQ(forward(decoder("llama", true), "pow2"), 0);
  // Typed dimensions without a name: as their inner layer is.
  EXPECT_EQ(transformer_ops(decoder("transformer", true), 2, 128),
            transformer_ops(decoder("llama", true), 2, 128));
  EXPECT_EQ(transformer_ops(decoder("transformer", false), 2, 128),
            transformer_ops(decoder("gpt2", false), 2, 128));
}

TransformerModel any_decoder() {
  TransformerModel model;
  model.name = *rc::gen::element<std::string>("gpt2", "gpt_neox", "llama", "mistral", "qwen2",
                                              "qwen3", "internlm2", "transformer");
  model.is_gated = model.name.starts_with("gpt") ? false
                   : model.name == "transformer" ? *rc::gen::arbitrary<bool>()
                                                 : true;
  model.layers = *rc::gen::inRange<std::int64_t>(1, 40);
  model.head_dim = 8 * *rc::gen::inRange<std::int64_t>(1, 17);
  model.kv_heads = *rc::gen::inRange<std::int64_t>(1, 9);
  model.heads = model.kv_heads * *rc::gen::inRange<std::int64_t>(1, 5);
  model.hidden = 8 * *rc::gen::inRange<std::int64_t>(1, 600);
  model.ffn = *rc::gen::inRange<std::int64_t>(1, 20000);
  model.vocab = *rc::gen::inRange<std::int64_t>(2, 200000);
  model.has_tied_embeddings = *rc::gen::arbitrary<bool>();
  return model;
}

RC_GTEST_PROP(TextNetworksProperties, TheWholeIsItsPartsAndTheStep, ()) {
  const TransformerModel model = any_decoder();
  const auto batch = *rc::gen::inRange<std::int64_t>(1, 65);
  const auto length = *rc::gen::inRange<std::int64_t>(1, 5000);
  const TransformerParts parts = transformer_parts(model, batch, length);
  const TrainingOps whole = transformer_ops(model, batch, length);
  RC_ASSERT(whole.parameters == parts.embedding.parameters + model.layers * parts.layer.parameters +
                                    parts.head.parameters);
  RC_ASSERT(whole.tensors ==
            parts.embedding.tensors + model.layers * parts.layer.tensors + parts.head.tensors);
  const auto flops = [](const TrainingOps& ops) { return work_of("", ops).flops; };
  double of_parts = flops(parts.embedding) +
                    static_cast<double>(model.layers) * flops(parts.layer) + flops(parts.head);
  for (const TrainingOp& op : whole.ops) {
    RC_ASSERT(op.count >= 1);
    if (op.phase == TrainingPhase::optimizer)
      of_parts += kernel_work(op.call).flops * static_cast<double>(op.count);
  }
  RC_ASSERT(std::abs(flops(whole) - of_parts) <= 1e-9 * of_parts);
  for (const TrainingOps* part : {&parts.embedding, &parts.layer, &parts.head})
    RC_ASSERT(std::none_of(part->ops.begin(), part->ops.end(), [](const TrainingOp& op) {
      return op.phase == TrainingPhase::optimizer;
    }));
}

// Matrix products do 6 FLOPs for each weight and token: 2 forward, 4 backward.
RC_GTEST_PROP(TextNetworksProperties, ProductsDoSixFlopsForEachWeightAndToken, ()) {
  const TransformerModel model = any_decoder();
  const auto batch = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto length = *rc::gen::inRange<std::int64_t>(1, 500);
  double flops = 0;
  for (const TrainingOp& op : transformer_ops(model, batch, length).ops)
    if (op.call.family == KernelFamily::gemm)
      flops += kernel_work(op.call).flops * static_cast<double>(op.count);
  const auto weights = static_cast<double>(
      model.layers * (model.layer_elements() - 2 * model.hidden) + model.vocab_elements());
  RC_ASSERT(std::abs(flops / (6 * weights * static_cast<double>(batch * length)) - 1) < 1e-9);
}

}  // namespace
}  // namespace weir::predict
