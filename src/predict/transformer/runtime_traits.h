// SPDX-License-Identifier: Apache-2.0
//
// How the training program works, as far as it matters for time and memory.
#pragma once

namespace weir::predict {

struct RuntimeTraits {
  bool has_flash = true;  // attention without keeping scores; needed for rings
  bool has_broadcast_update =
      false;  // each shard's owner broadcasts it (InternEvo), instead of one all-gather
  bool reduces_whole = false;   // gradients all-reduced even where optimizer state is sharded
  bool hides_gradients = true;  // reduced behind the last backward pass
  double gradient_bytes = 2;    // an element, on the wire
  double attention_rate = 1;    // of the GPU type's flash attention
  double streaming =
      1;  // bytes of norms, additions and activations, times those of fused operators
  bool autocasts =
      false;  // float32 weights and residual, cast for every product (PyTorch's autocast)
  double optimizer_bytes = 34;  // read and written by the update, an element
  // A logit while the loss goes backward: log-probabilities, their gradient and the logits' own, all in float32. Programs
  // that never leave 16 bits have 2.
  double logit_bytes = 12;
  // Ranks that share a sequence have a part of the embedding and of the head each, which is not sharded besides
  // (InternEvo). Elsewhere each has the whole of both, or the shard that it has of everything.
  bool splits_vocabulary = false;
};

RuntimeTraits modern_runtime();
RuntimeTraits internevo_2023();
RuntimeTraits megatron_2021();     // scores kept, gradients after the backward pass
RuntimeTraits autocast_runtime();  // PyTorch without any fusing: what `weir predict --gpu` has

}  // namespace weir::predict
