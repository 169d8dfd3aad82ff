// SPDX-License-Identifier: Apache-2.0
//
// How long one iteration takes, without running the model: linear layers, attention and streaming operators from the
// GPU's type or from its measured kernels, collectives by latency and bandwidth, put together as InternEvo's simulator does:
//   layer      = max(linear, weights) + 0.1 min(linear, weights) + sequence + attention
//                weights: two all-gathers and a reduce-scatter of the layer when weights are sharded, hidden behind the
//                linear layers (0.1: what they disturb each other); sequence: all-to-alls, or what tensor parallelism exchanges
//   iteration  = micro_count (layers + head with its weights) + (pp-1)/v layers + transfers between stages + gradients not hidden
//                + updated weights to all + optimizer; or what the CPU needs to launch it, where that is known and longer
// Limits: every stage alike, no stragglers, no data loading; docs/models/transformer.md has how far off it is.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "predict/transformer/compute_times.h"
#include "predict/transformer/runtime_traits.h"
#include "predict/transformer/transformer_memory.h"
#include "predict/transformer/transformer_plan.h"

namespace weir::predict {

// What runs where.
struct TransformerTask {
  TransformerModel model;
  std::int64_t sequence = 0;
  std::int64_t batch = 0;  // samples of one iteration
  GpuType gpu;
  Fabric fabric;
  RuntimeTraits runtime;
  std::shared_ptr<const ComputeTimes> compute;  // for this runtime; none: from the GPU's type
};
// "analytic", or the model of kernels that was asked.
std::string compute_source(const TransformerTask& task);

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
  double launching = 0;  // the GPU waits for the CPU
  double iteration = 0;

  double ring_waiting = 0;  // of attention: not computing
  double ring_home = 0;     // of that: gradients on their way home, which nothing hides
  double weights_hidden = 0;
  double gradients_hidden = 0;
  double cpu = 0;     // what its launches take; 0 when not known
  double beyond = 0;  // of computing, by kernels that do more or less than was measured

  // What no other choice of shards can beat.
  double least() const { return std::max(iteration - launching - gradients - update, cpu); }
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
