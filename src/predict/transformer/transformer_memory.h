// SPDX-License-Identifier: Apache-2.0
//
// What one GPU of the fullest stage has to hold. The formulas are those of InternEvo's simulator (bf16, Adam with
// fp32 state), written for any width of the MLP and any number of key/value heads:
//   weights and gradients   2 + 2 bytes an element, optimizer 12
//   activations of a layer  b s h c / sp under isp and fsp, c = 10 + 4 (q + kv)/h + 8 m/h (gated; 4 m/h plain), q and kv the width of
//                           queries and of keys (max(H_kv, d_hp) heads): 118/3 for MHA with m = 8/3 h; msp b s h (4 + (c-4)/sp);
//                           mtp b s h (10 + (c-10)/tp); without flash attention 5 a s / h more, divided by the split
//   times the layers of all microbatches in flight; recomputed layers keep 2 b s h / sp, selective++ also attention's result
//   always                  norm output, head input, logits, backward peak, rotary table, buffer for the pipeline
//   sharded weights         those of a layer gathered, and of the next where they are gathered ahead: 2 bytes an element; a
//                           pool holds as much again for the gradients on their way out, and wastes less
// Beyond that simulator, for other programs (runtime_traits.h): the vocabulary is sharded as everything else, its matrix is
// gathered like a layer, logits take what the loss makes of them, and of a pipeline the first stage has the most
// microbatches, the last one the logits: the fuller of both counts.
//   peak = max(all of it, weights + gradients + 5/3 optimizer (Adam's temporaries))
// `needed` is what the GPU must have: the peak with one recomputed layer alive, the allocator's waste and what CUDA, NCCL
// and gradient buckets take.
#pragma once

#include "predict/transformer/runtime_traits.h"
#include "predict/transformer/transformer_plan.h"

namespace weir::predict {

struct TransformerMemory {  // bytes
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // kept by the layers
  double working = 0;      // everything else that is alive at the worst time
  double pool = 0;         // gathered weights
  double recomputed = 0;   // one layer, while it is computed again

  double at_backward() const {
    return weights + gradients + optimizer + activations + working + pool;
  }
  double at_update() const { return weights + gradients + optimizer * 5 / 3; }
  double peak() const { return at_backward() > at_update() ? at_backward() : at_update(); }
  double needed = 0;
};

// So many parts are embedding and head cut into before anything is sharded.
int vocabulary_split(const RuntimeTraits& runtime, const TransformerPlan& plan);

// Requires: broken_rules has no objection.
TransformerMemory transformer_memory(const TransformerModel& model, std::int64_t sequence,
                                     const RuntimeTraits& runtime, const TransformerPlan& plan);

}  // namespace weir::predict
