// SPDX-License-Identifier: Apache-2.0
//
// How long one iteration takes, without any measurement: linear layers, attention and streaming operators from the
// GPU's type, collectives by latency and bandwidth, put together as InternEvo's simulator does:
//   layer      = max(linear, weights) + 0.1 min(linear, weights) + sequence + attention
//                weights: two all-gathers and a reduce-scatter of the layer when weights are sharded, hidden behind the
//                linear layers (0.1: what they disturb each other); sequence: all-to-alls, or what tensor parallelism exchanges
//   iteration  = micro_count (layers + head) + (pp-1)/v layers + transfers between stages + gradients not hidden
//                + updated weights to all + optimizer
// Limits: every stage alike, no stragglers, no data loading, no host; docs/models/transformer.md has how far off it is.
#pragma once

#include "predict/transformer/transformer_memory.h"
#include "predict/transformer/transformer_plan.h"

namespace weir::predict {

// How the training program works, as far as it matters for time.
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
};
RuntimeTraits modern_runtime();
RuntimeTraits internevo_2023();
RuntimeTraits megatron_2021();  // scores kept, gradients after the backward pass

// What runs where.
struct TransformerTask {
  TransformerModel model;
  std::int64_t sequence = 0;
  std::int64_t batch = 0;  // samples of one iteration
  GpuType gpu;
  Fabric fabric;
  RuntimeTraits runtime;
};

struct
    TransformerTime {  // seconds; the first group is of one iteration on a GPU and adds up to `iteration`
  double linear = 0;     // forward and backward
  double attention = 0;  // computing, with the ring's waiting
  double again = 0;      // computed again
  double sequence = 0;   // all-to-alls or tensor-parallel exchange
  double weights = 0;    // gathering and reducing that linear layers do not hide
  double head = 0;       // logits
  double bubble = 0;
  double transfers = 0;  // between stages
  double gradients = 0;  // not hidden
  double update = 0;     // optimizer, and its result to all
  double iteration = 0;

  double ring_waiting = 0;  // of attention: not computing
  double weights_hidden = 0;
  double gradients_hidden = 0;
};

// Requires: broken_rules has no objection.
TransformerTime transformer_time(const TransformerTask& task, const TransformerPlan& plan);

// Tokens per GPU and second; model flops (no recomputation) per GPU and second over the GPU's rate; flops as
// Narayanan et al. 2021 count them: 96 B s l h^2 (1 + s/6h + V/16lh), which takes full recomputation for granted.
double tokens_per_gpu_second(const TransformerTask& task, const TransformerPlan& plan,
                             double iteration);
double model_flops_utilization(const TransformerTask& task, const TransformerPlan& plan,
                               double iteration);
double narayanan_tflops(const TransformerTask& task, const TransformerPlan& plan, double iteration);

}  // namespace weir::predict
