// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/known_networks.h"

namespace weir::predict {
namespace {

class TextNetwork {
 public:
  TextNetwork(const TransformerShape& shape, std::int64_t batch)
      : shape_{shape},
        batch_{batch},
        tokens_{batch * shape.length},
        size_{shape.hidden / shape.heads} {}

  TrainingOps gpt() {
    embed_with_places();
    dropout("fp32");
    const std::int64_t layers = shape_.layers;
    norm(2 * layers + 1);
    attention_block(layers, 1);
    inner_block(layers);
    join(2 * layers);
    head(false, true);
    return ops_.finish();
  }

  TrainingOps bert() {
    embed_with_places();
    norm(1);
    dropout("fp32");
    const std::int64_t layers = shape_.layers;
    attention_block(layers, 0);
    inner_block(layers);
    join(2 * layers);
    norm(2 * layers);
    // The layer before the words: its norm takes float32.
    ops_.linear({.rows = tokens_, .in = shape_.hidden, .out = shape_.hidden});
    activation("gelu", "gelu_bwd", shape_.hidden, 1);
    ops_.forward_rows("cast_up", "bf16", tokens_, shape_.hidden);
    ops_.backward_rows("cast_down", "bf16", tokens_, shape_.hidden);
    norm(1);
    head(true, true);
    return ops_.finish();
  }

  TrainingOps llama() {
    const std::int64_t layers = shape_.layers;
    const std::int64_t hidden = shape_.hidden;
    const std::int64_t kv = shape_.kv_heads * size_;
    embed(shape_.vocabulary);
    rms_norm(2 * layers + 1);
    plain_linear(hidden, hidden, true, layers);
    plain_linear(hidden, kv, true, 2 * layers);
    rotate(shape_.heads, layers);
    rotate(shape_.kv_heads, layers);
    attention(shape_.kv_heads, 1, layers);
    plain_linear(hidden, hidden, false, layers);
    plain_linear(hidden, shape_.inner, true, 2 * layers);
    activation("silu", "silu_bwd", shape_.inner, layers);
    ops_.forward_rows("mul", "bf16", tokens_, shape_.inner, layers);
    ops_.backward_rows("mul", "bf16", tokens_, shape_.inner, 2 * layers);
    plain_linear(shape_.inner, hidden, false, layers);
    join(2 * layers);
    // Inputs of several layers at once collect gradients of each.
    ops_.backward_rows("add_inplace", "fp32", tokens_, hidden, 3 * layers);
    head(false, false);
    return ops_.finish();
  }

 private:
  void embed(std::int64_t vocabulary) {
    ops_.forward_rows("embedding", "fp32", tokens_, shape_.hidden);
    ops_.backward_rows("embedding_bwd", "fp32", tokens_, shape_.hidden);
    ops_.parameters(vocabulary * shape_.hidden, 1);
  }

  void embed_with_places() {
    embed(shape_.vocabulary);
    ops_.forward_rows("embedding", "fp32", shape_.length, shape_.hidden);
    ops_.forward_rows("mul_row", "fp32", tokens_,
                      shape_.hidden);  // adds the places: as much traffic
    ops_.backward_rows("sum_rows", "fp32", batch_, shape_.length * shape_.hidden);
    ops_.backward_rows("embedding", "fp32", shape_.length, shape_.hidden);
    ops_.parameters(shape_.length * shape_.hidden, 1);
  }

  void dropout(const char* dtype, std::int64_t times = 1) {
    ops_.forward_rows("dropout", dtype, tokens_, shape_.hidden, times);
    ops_.backward_rows("dropout_bwd", dtype, tokens_, shape_.hidden, times);
  }

  void norm(std::int64_t times) {
    ops_.forward_rows("ln", "fp32", tokens_, shape_.hidden, times);
    ops_.backward_rows("ln_bwd", "fp32", tokens_, shape_.hidden, times);
    ops_.parameters(2 * shape_.hidden, 2, times);
  }

  void rms_norm(std::int64_t times) {
    ops_.forward_rows("rmsnorm", "fp32", tokens_, shape_.hidden, times);
    ops_.backward_rows("rmsnorm_bwd", "fp32", tokens_, shape_.hidden, times);
    ops_.parameters(shape_.hidden, 1, times);
  }

  void plain_linear(std::int64_t in, std::int64_t out, bool casts_input, std::int64_t times) {
    ops_.linear({.rows = tokens_, .in = in, .out = out, .bias = false, .casts_input = casts_input},
                times);
  }

  void activation(const char* op, const char* gradient, std::int64_t columns, std::int64_t times) {
    ops_.forward_rows(op, "bf16", tokens_, columns, times);
    ops_.backward_rows(gradient, "bf16", tokens_, columns, times);
  }

  void attention(std::int64_t kv_heads, std::int64_t causal, std::int64_t times) {
    const KernelSizes sizes = {batch_,        shape_.heads, kv_heads, shape_.length,
                               shape_.length, size_,        causal};
    ops_.call(TrainingPhase::forward, {KernelFamily::attention, "sdpa", "bf16", "fwd/cudnn", sizes},
              times);
    ops_.call(TrainingPhase::backward,
              {KernelFamily::attention, "sdpa", "bf16", "bwd/cudnn", sizes}, times);
  }

  void attention_block(std::int64_t times, std::int64_t causal) {
    const std::int64_t hidden = shape_.hidden;
    ops_.linear({.rows = tokens_, .in = hidden, .out = 3 * hidden}, times);
    attention(shape_.heads, causal, times);
    // Gradients of the three parts are put side by side, then into the order of the projection.
    ops_.backward_rows("cat_heads", "bf16", 3 * tokens_ * shape_.heads, size_, times);
    ops_.backward_rows("copy_heads", "bf16", 3 * tokens_ * shape_.heads, size_, times);
    ops_.linear({.rows = tokens_, .in = hidden, .out = hidden, .casts_input = false}, times);
    dropout("bf16", times);
  }

  void inner_block(std::int64_t times) {
    const std::int64_t hidden = shape_.hidden;
    ops_.linear({.rows = tokens_, .in = hidden, .out = 4 * hidden}, times);
    activation("gelu", "gelu_bwd", 4 * hidden, times);
    ops_.linear({.rows = tokens_, .in = 4 * hidden, .out = hidden, .casts_input = false}, times);
    dropout("bf16", times);
  }

  // The end of a half block: added to float32; backward, cut to bf16 for the half and added where both meet.
  void join(std::int64_t times) {
    ops_.forward_rows("add_mixed", "bf16", tokens_, shape_.hidden, times);
    ops_.backward_rows("cast_down", "bf16", tokens_, shape_.hidden, times);
    ops_.backward_rows("add_inplace", "fp32", tokens_, shape_.hidden, times);
  }

  // Rotary positions of one of queries and keys: x cos + (-x2, x1) sin.
  void rotate(std::int64_t heads, std::int64_t times) {
    const std::int64_t rows = tokens_ * heads;
    ops_.forward_rows("mul_heads", "bf16", rows, size_, 2 * times);
    ops_.forward_rows("copy_heads", "bf16", rows, size_ / 2, times);  // changes the sign of a half
    ops_.forward_rows("cat_heads", "bf16", rows, size_, times);
    ops_.forward_rows("add_heads", "bf16", rows, size_, times);
    ops_.backward_rows("mul_heads", "bf16", rows, size_, 2 * times);
    ops_.backward_rows("copy_heads", "bf16", rows, size_ / 2, times);
    ops_.backward_rows("cat_heads", "bf16", rows, size_, times);
    ops_.backward_rows("add_heads", "bf16", rows, size_, times);
  }

  void head(bool bias, bool is_tied) {
    ops_.linear({.rows = tokens_,
                 .in = shape_.hidden,
                 .out = shape_.vocabulary,
                 .bias = bias,
                 .owns_weight = !is_tied});
    if (is_tied) ops_.backward_rows("add_inplace", "fp32", shape_.vocabulary, shape_.hidden);
    ops_.cross_entropy(tokens_, shape_.vocabulary);
  }

  TrainingOpsBuilder ops_;
  TransformerShape shape_;
  std::int64_t batch_;
  std::int64_t tokens_;
  std::int64_t size_;  // of a head
};

}  // namespace

TrainingOps gpt_ops(const TransformerShape& shape, std::int64_t batch) {
  return TextNetwork{shape, batch}.gpt();
}

TrainingOps bert_ops(const TransformerShape& shape, std::int64_t batch) {
  return TextNetwork{shape, batch}.bert();
}

TrainingOps llama_ops(const TransformerShape& shape, std::int64_t batch) {
  return TextNetwork{shape, batch}.llama();
}

}  // namespace weir::predict
