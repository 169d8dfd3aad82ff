// SPDX-License-Identifier: Apache-2.0
//
// What one GPU launches for its part of a transformer, as calls that a kernel model can time: shapes after the split,
// forward and backward. Two kinds of trainer:
//   bf16 weights   one product for queries, keys and values and one for gate and inner layer; norms, additions and the
//                  activation each one kernel. Fused kernels that nobody measured are stood in for by measured ones
//                  that move as many bytes: rotary positions by a copy, a gated activation by a multiplication.
//   autocast       float32 weights and residual, everything cast before a product: the pieces of text_pieces.h. On one GPU
//                  it is the network that `weir predict --gpu` has.
#pragma once

#include "predict/kernels/training_ops.h"
#include "predict/transformer/compute_times.h"

namespace weir::predict {

// Without attention. The optimizer's step is never in these lists.
TrainingOps layer_calls(const LayerShape& shape, bool autocasts);
// With flash attention, or with scores that are kept.
TrainingOps attention_calls(const AttentionShape& shape, bool has_flash);
// The last norm, logits and loss.
TrainingOps head_calls(const VocabularyShape& shape, bool autocasts);
TrainingOps embedding_calls(const VocabularyShape& shape, bool autocasts);
// AdamW over so many float32 elements.
TrainingOps update_calls(double elements);

}  // namespace weir::predict
