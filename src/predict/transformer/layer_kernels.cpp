// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/layer_kernels.h"

#include <algorithm>
#include <cmath>

#include "predict/kernels/attention_backend.h"
#include "predict/kernels/text_pieces.h"

namespace weir::predict {
namespace {

std::int64_t whole_size(double size) {
  return std::max<std::int64_t>(1, std::llround(std::ceil(size)));
}

// Calls of one part of the network, with weights in bf16.
class PartCalls {
 public:
  // Forward and backward of operators on rows.
  void rows(const char* op, const char* gradient, const char* dtype, std::int64_t rows,
            std::int64_t columns, std::int64_t times = 1) {
    ops_.forward_rows(op, dtype, rows, columns, times);
    ops_.backward_rows(gradient, dtype, rows, columns, times);
  }

  void norm(bool is_gated, std::int64_t rows_of_norm, std::int64_t hidden, std::int64_t times) {
    if (is_gated) {
      rows("rmsnorm", "rmsnorm_bwd", "bf16", rows_of_norm, hidden, times);
      ops_.parameters(hidden, 1, times);
    } else {
      rows("ln", "ln_bwd", "bf16", rows_of_norm, hidden, times);
      ops_.parameters(2 * hidden, 2, times);
    }
  }

  // With weights in the format of the product: nothing is cast, no bias.
  void product(std::int64_t tokens, std::int64_t in, std::int64_t out, std::int64_t times = 1,
               bool owns_weight = true) {
    batched(TrainingPhase::forward, "mm", "nt", {1, tokens, in, out}, times);
    batched(TrainingPhase::backward, "mm", "tn", {1, out, tokens, in}, times);
    batched(TrainingPhase::backward, "mm", "nn", {1, tokens, out, in}, times);
    if (owns_weight) ops_.parameters(in * out, 1, times);
  }

  void batched(TrainingPhase phase, const char* op, const char* layout, const KernelSizes& sizes,
               std::int64_t times = 1) {
    ops_.call(phase, {KernelFamily::gemm, op, "bf16", layout, sizes}, times);
  }

  TrainingOpsBuilder& builder() { return ops_; }

  TrainingOps finish() { return ops_.without_step(); }

 private:
  TrainingOpsBuilder ops_;
};

TextShare share_of(const LayerShape& shape) {
  return {.rows = whole_size(shape.rows),
          .norm_rows = whole_size(shape.norm_rows),
          .hidden = whole_size(shape.hidden),
          .heads = whole_size(shape.heads),
          .kv_heads = whole_size(shape.kv_heads),
          .head_dim = whole_size(shape.head_dim),
          .ffn = whole_size(shape.ffn),
          .experts = whole_size(shape.experts),
          .mlp_rows = whole_size(shape.rows * shape.experts_per_token / shape.experts),
          .active_rows = whole_size(shape.rows * shape.experts_per_token)};
}

// Of the ends of a network: tokens and their width are all that counts.
TextShare share_of(const VocabularyShape& shape) {
  const std::int64_t rows = whole_size(shape.rows);
  return {.rows = rows, .norm_rows = rows, .hidden = whole_size(shape.hidden)};
}

TrainingOps bf16_layer(const TextShare& size, bool is_gated) {
  PartCalls calls;
  const std::int64_t joined_heads = size.heads + 2 * size.kv_heads;
  calls.norm(is_gated, size.norm_rows, size.hidden, 2);
  calls.product(size.rows, size.hidden, joined_heads * size.head_dim);
  // Gradients of queries, keys and values are put side by side, then into the order of the projection.
  calls.builder().backward_rows("cat_heads", "bf16", size.rows * joined_heads, size.head_dim);
  calls.builder().backward_rows("copy_heads", "bf16", size.rows * joined_heads, size.head_dim);
  if (is_gated)
    calls.rows("copy_heads", "copy_heads", "bf16", size.rows * (size.heads + size.kv_heads),
               size.head_dim);
  calls.product(size.rows, size.heads * size.head_dim, size.hidden);
  calls.rows("add", "add_inplace", "bf16", size.norm_rows, size.hidden, 2);
  calls.product(size.mlp_rows, size.hidden, (is_gated ? 2 : 1) * size.ffn, size.experts);
  if (is_gated) {
    calls.rows("mul", "silu_bwd", "bf16", size.active_rows, size.ffn);
    calls.builder().backward_rows("copy", "bf16", size.active_rows, size.ffn);
  } else {
    calls.rows("gelu", "gelu_bwd", "bf16", size.active_rows, size.ffn);
  }
  calls.product(size.mlp_rows, size.ffn, size.hidden, size.experts);
  return calls.finish();
}

// Scores that are kept: two batched products with a softmax between.
TrainingOps score_calls(std::int64_t blocks, std::int64_t tokens, std::int64_t head_dim) {
  PartCalls calls;
  const KernelSizes to_scores{blocks, tokens, head_dim, tokens};
  const KernelSizes from_scores{blocks, tokens, tokens, head_dim};
  calls.batched(TrainingPhase::forward, "bmm", "nt", to_scores);
  calls.batched(TrainingPhase::forward, "bmm", "nn", from_scores);
  calls.batched(TrainingPhase::backward, "bmm", "nt", to_scores);
  calls.batched(TrainingPhase::backward, "bmm", "nn", from_scores);
  calls.batched(TrainingPhase::backward, "bmm", "tn", from_scores, 2);
  calls.rows("softmax", "softmax_bwd", "bf16", blocks * tokens, tokens);
  calls.rows("dropout", "dropout_bwd", "bf16", blocks * tokens, tokens);
  return calls.finish();
}

}  // namespace

TrainingOps layer_calls(const LayerShape& shape, bool autocasts) {
  const TextShare share = share_of(shape);
  return autocasts ? decoder_layer(share, decoder_style("", shape.is_gated))
                   : bf16_layer(share, shape.is_gated);
}

TrainingOps attention_calls(const AttentionShape& shape, bool has_flash) {
  const std::int64_t samples = whole_size(shape.samples);
  const std::int64_t heads = whole_size(shape.heads);
  const std::int64_t tokens = whole_size(shape.tokens);
  if (!has_flash) return score_calls(samples * heads, tokens, whole_size(shape.head_dim));
  // A step of a ring looks at half of the keys, or has half of the queries: without a mask.
  const std::int64_t keys = shape.is_ring_step ? whole_size(shape.tokens / 2) : tokens;
  const KernelSizes sizes{samples,
                          heads,
                          whole_size(shape.kv_heads),
                          tokens,
                          keys,
                          whole_size(shape.head_dim),
                          shape.is_ring_step ? 0 : 1};
  PartCalls calls;
  calls.builder().call(TrainingPhase::forward, usual_attention("fwd", sizes));
  calls.builder().call(TrainingPhase::backward, usual_attention("bwd", sizes));
  if (shape.is_ring_step) {
    // Each step's results are added to those of the steps before, in float32.
    const std::int64_t head_dim = whole_size(shape.head_dim);
    const std::int64_t query_rows = samples * tokens * heads;
    const std::int64_t kv_rows = samples * tokens * whole_size(shape.kv_heads);
    calls.rows("add_mixed", "add_mixed", "bf16", query_rows, head_dim);
    calls.builder().backward_rows("add_mixed", "bf16", kv_rows, head_dim, 2);
  }
  return calls.finish();
}

TrainingOps head_calls(const VocabularyShape& shape, bool autocasts) {
  const TextShare share = share_of(shape);
  const std::int64_t vocab = whole_size(shape.vocab);
  if (autocasts) {
    TextPieces pieces{share};
    if (shape.is_gated)
      pieces.rms_norm(1);
    else
      pieces.layer_norm(1);
    pieces.words(vocab, shape.is_tied, false);
    return pieces.take();
  }
  PartCalls calls;
  calls.norm(shape.is_gated, share.rows, share.hidden, 1);
  calls.product(share.rows, share.hidden, vocab, 1, !shape.is_tied);
  if (shape.is_tied) calls.builder().backward_rows("add_inplace", "bf16", vocab, share.hidden);
  calls.rows("log_softmax", "log_softmax_bwd", "bf16", share.rows, vocab);
  calls.builder().forward_rows("mean_cols", "fp32", 1, share.rows);  // picks one of each row
  calls.builder().backward_rows("fill", "bf16", share.rows, vocab);  // its gradient: zeros but one
  return calls.finish();
}

TrainingOps embedding_calls(const VocabularyShape& shape, bool autocasts) {
  const TextShare share = share_of(shape);
  const std::int64_t vocab = whole_size(shape.vocab);
  if (autocasts) {
    TextPieces pieces{share};
    pieces.embed(vocab);
    if (decoder_style("", shape.is_gated).has_places) {
      pieces.add_places(whole_size(shape.samples), whole_size(shape.rows / shape.samples));
      pieces.dropout("fp32");
    }
    return pieces.take();
  }
  PartCalls calls;
  calls.rows("embedding", "embedding_bwd", "bf16", share.rows, share.hidden);
  calls.builder().parameters(vocab * share.hidden, 1);
  return calls.finish();
}

TrainingOps update_calls(double elements) {
  TrainingOpsBuilder step;
  step.parameters(whole_size(elements), 1);
  return step.finish();
}

}  // namespace weir::predict
