// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/text_pieces.h"

#include <algorithm>

#include "predict/kernels/attention_backend.h"

namespace weir::predict {
namespace {

constexpr std::int64_t kPartOfNeoxHead = 4;  // a quarter rotates

void add_queries(TextPieces& pieces, const TextShare& share, const DecoderStyle& style) {
  const std::int64_t queries = share.query_width();
  const std::int64_t keys = share.kv_width();
  if (style.has_one_matrix) {
    pieces.linear(share.hidden, queries + 2 * keys, style.has_query_bias, true);
  } else {
    pieces.linear(share.hidden, queries, style.has_query_bias, true);
    pieces.linear(share.hidden, keys, style.has_query_bias, true, 2);
  }
  if (style.has_query_norm) {
    pieces.head_norm(share.heads);
    pieces.head_norm(share.kv_heads);
  }
  if (style.rotated_part > 0) {
    const std::int64_t size = std::max<std::int64_t>(2, share.head_dim / style.rotated_part);
    pieces.rotate(share.heads, size);
    pieces.rotate(share.kv_heads, size);
  }
}

TrainingOps gpt_layer(const TextShare& share, const DecoderStyle& style) {
  TextPieces pieces{share};
  pieces.layer_norm(2);
  add_queries(pieces, share, style);
  // What was put together of two parts lies heads first, and so does the result.
  if (style.rotated_part > 1)
    pieces.ops().forward_rows("copy_heads", "bf16", share.rows * share.heads, share.head_dim);
  pieces.join_query_gradients(true);
  pieces.linear(share.query_width(), share.hidden, true, false);
  if (style.has_places) pieces.dropout("bf16");
  pieces.inner_linear(share.hidden, share.ffn, true, true);
  pieces.activation("gelu", "gelu_bwd");
  pieces.inner_linear(share.ffn, share.hidden, true, false);
  if (style.has_places) pieces.dropout("bf16");
  if (style.is_parallel) {
    pieces.ops().forward_rows("add", "bf16", share.norm_rows, share.hidden);
    pieces.join(1);
    pieces.collect_gradients(1);
  } else {
    pieces.join(2);
  }
  return pieces.take();
}

TrainingOps llama_layer(const TextShare& share, const DecoderStyle& style) {
  TextPieces pieces{share};
  pieces.rms_norm(2);
  add_queries(pieces, share, style);
  if (style.has_one_matrix) pieces.join_query_gradients(false);
  pieces.linear(share.query_width(), share.hidden, false, false);
  pieces.inner_linear(share.hidden, share.ffn, false, true, 2);
  pieces.activation("silu", "silu_bwd");
  pieces.multiply();
  pieces.inner_linear(share.ffn, share.hidden, false, false);
  pieces.join(2);
  pieces.collect_gradients(style.has_one_matrix ? 1 : 3);
  return pieces.take();
}

}  // namespace

TextShare whole_share(const TransformerModel& model, std::int64_t tokens) {
  return {.rows = tokens,
          .norm_rows = tokens,
          .hidden = model.hidden,
          .heads = model.heads,
          .kv_heads = model.kv_heads,
          .head_dim = model.head_dim,
          .ffn = model.ffn,
          .mlp_rows = tokens,
          .active_rows = tokens};
}

DecoderStyle decoder_style(std::string_view model_type, bool is_gated) {
  DecoderStyle style;
  if (model_type == "gpt_neox") {
    style.is_gpt = style.has_one_matrix = style.has_query_bias = style.is_parallel = true;
    style.rotated_part = kPartOfNeoxHead;
  } else if (!is_gated) {
    style.is_gpt = style.has_places = style.has_one_matrix = style.has_query_bias = true;
  } else {
    style.rotated_part = 1;
    style.has_query_bias = model_type == "qwen2";
    style.has_query_norm = model_type == "qwen3";
    style.has_one_matrix = model_type == "internlm2";
  }
  return style;
}

TrainingOps decoder_layer(const TextShare& share, const DecoderStyle& style) {
  return style.is_gpt ? gpt_layer(share, style) : llama_layer(share, style);
}

void TextPieces::embed(std::int64_t vocab) {
  ops_.forward_rows("embedding", "fp32", share_.rows, share_.hidden);
  ops_.backward_rows("embedding_bwd", "fp32", share_.rows, share_.hidden);
  ops_.parameters(vocab * share_.hidden, 1);
}

void TextPieces::add_places(std::int64_t samples, std::int64_t places) {
  const std::int64_t hidden = share_.hidden;
  ops_.forward_rows("embedding", "fp32", places, hidden);
  ops_.forward_rows("mul_row", "fp32", share_.rows, hidden);  // adds the places: as much traffic
  ops_.backward_rows("sum_rows", "fp32", samples, places * hidden);
  ops_.backward_rows("embedding", "fp32", places, hidden);
  ops_.parameters(places * hidden, 1);
}

void TextPieces::dropout(const char* dtype) {
  ops_.forward_rows("dropout", dtype, share_.norm_rows, share_.hidden);
  ops_.backward_rows("dropout_bwd", dtype, share_.norm_rows, share_.hidden);
}

void TextPieces::layer_norm(std::int64_t times) {
  ops_.forward_rows("ln", "fp32", share_.norm_rows, share_.hidden, times);
  ops_.backward_rows("ln_bwd", "fp32", share_.norm_rows, share_.hidden, times);
  ops_.parameters(2 * share_.hidden, 2, times);
}

void TextPieces::rms_norm(std::int64_t times) {
  ops_.forward_rows("rmsnorm", "fp32", share_.norm_rows, share_.hidden, times);
  ops_.backward_rows("rmsnorm_bwd", "fp32", share_.norm_rows, share_.hidden, times);
  ops_.parameters(share_.hidden, 1, times);
}

void TextPieces::linear(std::int64_t in, std::int64_t out, bool bias, bool casts_input,
                        std::int64_t times) {
  ops_.linear({.rows = share_.rows, .in = in, .out = out, .bias = bias, .casts_input = casts_input},
              times);
}

void TextPieces::inner_linear(std::int64_t in, std::int64_t out, bool bias, bool casts_input,
                              std::int64_t times) {
  ops_.linear(
      {.rows = share_.mlp_rows, .in = in, .out = out, .bias = bias, .casts_input = casts_input},
      times * share_.experts);
}

void TextPieces::activation(const char* op, const char* gradient) {
  ops_.forward_rows(op, "bf16", share_.active_rows, share_.ffn);
  ops_.backward_rows(gradient, "bf16", share_.active_rows, share_.ffn);
}

void TextPieces::multiply() {
  ops_.forward_rows("mul", "bf16", share_.active_rows, share_.ffn);
  ops_.backward_rows("mul", "bf16", share_.active_rows, share_.ffn, 2);
}

void TextPieces::attention(std::int64_t samples, std::int64_t length, bool is_causal) {
  const KernelSizes sizes = {samples, share_.heads,    share_.kv_heads,  length,
                             length,  share_.head_dim, is_causal ? 1 : 0};
  ops_.call(TrainingPhase::forward, usual_attention("fwd", sizes));
  ops_.call(TrainingPhase::backward, usual_attention("bwd", sizes));
}

void TextPieces::join_query_gradients(bool heads_first) {
  const std::int64_t rows = share_.rows * (share_.heads + 2 * share_.kv_heads);
  ops_.backward_rows(heads_first ? "cat_heads" : "cat", "bf16", rows, share_.head_dim);
  if (heads_first) ops_.backward_rows("copy_heads", "bf16", rows, share_.head_dim);
}

void TextPieces::join(std::int64_t times) {
  ops_.forward_rows("add_mixed", "bf16", share_.norm_rows, share_.hidden, times);
  ops_.backward_rows("cast_down", "bf16", share_.norm_rows, share_.hidden, times);
  ops_.backward_rows("add_inplace", "fp32", share_.norm_rows, share_.hidden, times);
}

void TextPieces::rotate(std::int64_t heads, std::int64_t size) {
  const std::int64_t rows = share_.rows * heads;
  const std::int64_t half = std::max<std::int64_t>(1, size / 2);
  ops_.forward_rows("mul_heads", "bf16", rows, size, 2);
  ops_.forward_rows("copy_heads", "bf16", rows, half);  // changes the sign of a half
  ops_.forward_rows("cat_heads", "bf16", rows, size);
  ops_.forward_rows("add_heads", "bf16", rows, size);
  ops_.backward_rows("mul_heads", "bf16", rows, size, 2);
  ops_.backward_rows("copy_heads", "bf16", rows, half);
  ops_.backward_rows("cat_heads", "bf16", rows, size);
  ops_.backward_rows("add_heads", "bf16", rows, size);
  if (size < share_.head_dim) keep_rest(rows, size);
}

void TextPieces::head_norm(std::int64_t heads) {
  const std::int64_t rows = share_.rows * heads;
  const std::int64_t size = share_.head_dim;
  ops_.forward_rows("cast_up", "bf16", rows, size);
  ops_.forward_rows("pow2", "fp32", rows, size);
  ops_.forward_rows("mean_cols", "fp32", rows, size);
  ops_.forward_rows("neg", "fp32", 1, rows, 2);
  ops_.forward_rows("mul_col", "fp32", rows, size);
  ops_.forward_rows("mul_row", "fp32", rows, size);
  ops_.forward_rows("cast_down", "bf16", rows, size);
  ops_.backward_rows("cast_up", "bf16", rows, size);
  ops_.backward_rows("mul", "fp32", rows, size, 3);
  ops_.backward_rows("mul_row", "fp32", rows, size);
  ops_.backward_rows("sum_rows", "fp32", rows, size);
  ops_.backward_rows("mul_col", "fp32", rows, size);
  ops_.backward_rows("mean_cols", "fp32", rows, size);
  ops_.backward_rows("neg", "fp32", 1, rows, 3);
  ops_.backward_rows("scale", "fp32", rows, size, 3);
  ops_.backward_rows("add_inplace", "fp32", rows, size);
  ops_.backward_rows("cast_down", "bf16", rows, size);
  ops_.parameters(size, 1);
}

void TextPieces::collect_gradients(std::int64_t times) {
  ops_.backward_rows("add_inplace", "fp32", share_.norm_rows, share_.hidden, times);
}

void TextPieces::words(std::int64_t vocab, bool is_tied, bool bias) {
  ops_.linear({.rows = share_.rows,
               .in = share_.hidden,
               .out = vocab,
               .bias = bias,
               .owns_weight = !is_tied});
  if (is_tied) ops_.backward_rows("add_inplace", "fp32", vocab, share_.hidden);
  ops_.cross_entropy(share_.rows, vocab);
}

void TextPieces::keep_rest(std::int64_t rows, std::int64_t size) {
  ops_.forward_rows("cat_heads", "bf16", rows, share_.head_dim);
  ops_.backward_rows("fill", "bf16", rows, share_.head_dim, 2);
  ops_.backward_rows("copy_heads", "bf16", rows, size);
  ops_.backward_rows("copy_heads", "bf16", rows, share_.head_dim - size);
  ops_.backward_rows("add_inplace", "bf16", rows, share_.head_dim);
}

}  // namespace weir::predict
