// SPDX-License-Identifier: Apache-2.0
//
// Networks of text, from dimensions to the calls of a training iteration: as a decoder is written in PyTorch with
// scaled_dot_product_attention (tools/collect/models.py), in eager mode under bf16 autocast.
//
//   const TransformerParts parts = transformer_parts(model, batch, length);
//
// is the whole in pieces, for who puts layers on different GPUs: `parts.layer` is one layer, forward and backward.
// `transformer_ops` is embedding + layers x layer + head + the optimizer's step.
#pragma once

#include <cstdint>

#include "domain/transformer_model.h"
#include "predict/kernels/training_ops.h"

namespace weir::predict {

// Without the optimizer's step, which is of the parameters that a GPU holds (TrainingOpsBuilder::optimizer_step). The
// parameters of tied embeddings count in `embedding`.
struct TransformerParts {
  TrainingOps embedding{};
  TrainingOps layer{};
  TrainingOps head{};  // the last norm, the words, the loss
};

// What `model.name` (a config.json's model_type) changes:
//   gpt2       layer norm, biases, learned positions, dropout, one matrix for queries, keys and values
//   gpt_neox   layer norm, biases, positions rotate a quarter of each head, both halves of a layer side by side
//   qwen2      biases of queries, keys and values; qwen3: their norms; internlm2: one matrix for them
//   any other  gated ones as llama: RMS norm, no biases, rotating positions, grouped heads; plain ones as gpt2
// Requires: batch, length >= 1; no mixture of experts (model.experts == 1): routing tokens is not known.
TransformerParts transformer_parts(const TransformerModel& model, std::int64_t batch,
                                   std::int64_t length);
TrainingOps transformer_ops(const TransformerModel& model, std::int64_t batch, std::int64_t length);

// BERT: norm after each half, no mask, a layer before the words.
struct BertShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t vocabulary = 0;
  std::int64_t length = 0;  // tokens of a sample
};
TrainingOps bert_ops(const BertShape& shape, std::int64_t batch);

}  // namespace weir::predict
