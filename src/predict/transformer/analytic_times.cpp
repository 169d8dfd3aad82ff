// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/analytic_times.h"

#include "predict/transformer/layer_kernels.h"

namespace weir::predict {
namespace {

constexpr double kBackwardAttention = 2.5;  // five GEMMs for two
// Unfused scores of an element: written, read and written by the softmax, dropout, read again.
constexpr double kScoreBytes = 11;

// A tensor of parameters: its cast, its gradient, its part of the step; in operators, as fitted beside an H200.
constexpr double kCallsOfATensor = 1.5;

// What the CPU calls. How often does not depend on sizes, but on experts: each has products of its own.
struct CallCounts {
  CallCounts() = default;
  explicit CallCounts(const TrainingOps& ops) : tensors{static_cast<double>(ops.tensors)} {
    for (const TrainingOp& op : ops.ops)
      (op.phase == TrainingPhase::backward ? backward : forward) += static_cast<double>(op.count);
  }

  void add_to(ComputeSeconds& seconds, double times = 1) const {
    seconds.forward_calls += times * forward;
    seconds.backward_calls += times * backward;
    seconds.tensors += times * tensors;
  }

  double forward = 0;
  double backward = 0;
  double tensors = 0;
};

struct NetworkCalls {
  NetworkCalls(bool is_gated, bool autocasts) {
    LayerShape shape{.rows = 64,
                     .norm_rows = 64,
                     .hidden = 64,
                     .heads = 2,
                     .kv_heads = 2,
                     .head_dim = 32,
                     .ffn = 64,
                     .is_gated = is_gated};
    layer = CallCounts{layer_calls(shape, autocasts)};
    shape.experts = 2;
    const CallCounts two{layer_calls(shape, autocasts)};
    expert.forward = two.forward - layer.forward;
    expert.backward = two.backward - layer.backward;
    expert.tensors = two.tensors - layer.tensors;
    const VocabularyShape ends{
        .rows = 64, .samples = 1, .hidden = 64, .vocab = 64, .is_gated = is_gated};
    head = CallCounts{head_calls(ends, autocasts)};
    embedding = CallCounts{embedding_calls(ends, autocasts)};
  }

  CallCounts layer{};
  CallCounts expert{};  // each beyond the first
  CallCounts head{};
  CallCounts embedding{};
};

const NetworkCalls& network_calls(bool is_gated, bool autocasts) {
  static const NetworkCalls all[2][2] = {{{false, false}, {false, true}},
                                         {{true, false}, {true, true}}};
  return all[is_gated ? 1 : 0][autocasts ? 1 : 0];
}

const CallCounts& calls_of_attention(bool is_ring_step, bool has_flash) {
  const auto counted = [](bool ring, bool flash) {
    return CallCounts{attention_calls({.samples = 1,
                                       .heads = 2,
                                       .kv_heads = 2,
                                       .tokens = 64,
                                       .head_dim = 32,
                                       .is_ring_step = ring},
                                      flash)};
  };
  static const CallCounts all[2][2] = {{counted(false, false), counted(false, true)},
                                       {counted(true, false), counted(true, true)}};
  return all[is_ring_step ? 1 : 0][has_flash ? 1 : 0];
}

double layer_gemm_seconds(const GpuType& gpu, const LayerShape& shape) {
  const double query = shape.heads * shape.head_dim;
  const double kv = shape.kv_heads * shape.head_dim;
  const double mlp_rows = shape.rows * shape.experts_per_token / shape.experts;
  const double in = shape.is_gated ? 2 : 1;
  const double mlp = gemm_seconds(gpu, mlp_rows, in * shape.ffn, shape.hidden) +
                     gemm_seconds(gpu, mlp_rows, shape.hidden, shape.ffn);
  return gemm_seconds(gpu, shape.rows, query + 2 * kv, shape.hidden) +
         gemm_seconds(gpu, shape.rows, shape.hidden, query) + shape.experts * mlp;
}

// Forward: two norms and two additions, rotary positions, the MLP's activation.
double streamed_layer_bytes(const LayerShape& shape) {
  const double mlp = (shape.is_gated ? 6.0 : 4.0) * shape.ffn * shape.experts_per_token;
  const double rotary = shape.is_gated ? 4.0 * (shape.heads + shape.kv_heads) * shape.head_dim : 0;
  return shape.norm_rows * 20 * shape.hidden + shape.rows * (mlp + rotary);
}

}  // namespace

ComputeSeconds AnalyticTimes::layer(const LayerShape& shape) const {
  const double forward = layer_gemm_seconds(gpu_, shape) +
                         runtime_.streaming * memory_seconds(gpu_, streamed_layer_bytes(shape));
  ComputeSeconds seconds{.forward = forward, .backward = 2 * forward};
  const NetworkCalls& calls = network_calls(shape.is_gated, runtime_.autocasts);
  calls.layer.add_to(seconds);
  calls.expert.add_to(seconds, shape.experts - 1);
  return seconds;
}

ComputeSeconds AnalyticTimes::attention(const AttentionShape& shape) const {
  ComputeSeconds seconds;
  calls_of_attention(shape.is_ring_step, runtime_.has_flash).add_to(seconds);
  if (runtime_.has_flash) {
    const double flops = 2 * shape.samples * shape.tokens * shape.tokens * shape.heads *
                         shape.head_dim / runtime_.attention_rate;
    seconds.forward = attention_forward_seconds(gpu_, flops, shape.tokens);
    seconds.backward = attention_backward_seconds(gpu_, kBackwardAttention * flops, shape.tokens);
    return seconds;
  }
  // Two batched GEMMs over the whole square, and the scores through memory.
  const double blocks = shape.heads * shape.samples;
  const double products = blocks * (gemm_seconds(gpu_, shape.tokens, shape.tokens, shape.head_dim) +
                                    gemm_seconds(gpu_, shape.tokens, shape.head_dim, shape.tokens));
  const double scores = blocks * shape.tokens * shape.tokens;
  seconds.forward = products + memory_seconds(gpu_, kScoreBytes * scores);
  seconds.backward = 2 * seconds.forward;
  return seconds;
}

// Logits, forward and backward, and the passes over them of the loss.
ComputeSeconds AnalyticTimes::head(const VocabularyShape& shape) const {
  const double product = gemm_seconds(gpu_, shape.rows, shape.vocab, shape.hidden);
  const double loss = memory_seconds(gpu_, 8 * shape.rows * shape.vocab);
  ComputeSeconds seconds{.forward = product + loss, .backward = 2 * product + loss};
  network_calls(shape.is_gated, runtime_.autocasts).head.add_to(seconds);
  return seconds;
}

ComputeSeconds AnalyticTimes::embedding(const VocabularyShape& shape) const {
  ComputeSeconds seconds;
  network_calls(shape.is_gated, runtime_.autocasts).embedding.add_to(seconds);
  return seconds;
}

double AnalyticTimes::launch_seconds(double calls, double tensors) const {
  return gpu_.call_us * 1e-6 * (calls + kCallsOfATensor * tensors);
}

ComputeSeconds AnalyticTimes::update(double elements) const {
  return {.forward = memory_seconds(gpu_, runtime_.optimizer_bytes * elements)};
}

}  // namespace weir::predict
