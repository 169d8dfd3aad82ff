// SPDX-License-Identifier: Apache-2.0
//
// How a transformer is trained on many GPUs. Ranks count the sequence split fastest, then replicas, then pipeline stages.
//
//   split     GPUs that share one sequence: tensor parallel (mtp: Megatron; msp, fsp: with the activations between split
//             along the sequence), or sequence parallel (isp: weights whole, tokens split, attention on a grid)
//   shards    of weights, gradients and optimizer state, each a multiple of the one before: never keep a finer copy of
//             something that is needed coarser next. They spread over all ranks with the same weights: the replicas, and
//             under isp also the ranks of one sequence.
#pragma once

#include <cstdint>
#include <string_view>

#include "domain/diagnostics.h"
#include "predict/transformer/attention_grid.h"

namespace weir::predict {

enum class ParallelMode : std::uint8_t { mtp, msp, fsp, isp };
// What is computed again in the backward pass. selective: the attention core. plus: everything but it (its result
// is kept: Selective Checkpoint++).
enum class Recompute : std::uint8_t { none, selective, full, plus };

std::string_view to_string(ParallelMode mode);
std::string_view to_string(Recompute recompute);  // "selective++" for plus

struct TransformerPlan {
  ParallelMode mode = ParallelMode::isp;
  AttentionGrid grid;     // its GPUs are the split; a mode other than isp has all in `head`
  int replicas = 1;       // dp
  int stages = 1;         // pp
  int interleave = 1;     // pieces of the model on each stage
  int weight_shards = 1;  // wp
  int gradient_shards = 1;
  int optimizer_shards = 1;  // wp x zp
  Recompute recompute = Recompute::none;
  int micro_batch = 1;           // samples
  int micro_count = 1;           // accumulated before an update
  bool hides_weights = true;     // gathered behind the linear layers, gradients scattered as well
  bool has_memory_pool = false;  // for the gathered weights; isp, gathered ahead

  int split() const { return grid.gpus(); }
  int gpus() const { return split() * replicas * stages; }
  std::int64_t batch() const {
    return static_cast<std::int64_t>(replicas) * micro_batch * micro_count;
  }
  // Ranks of a stage that hold the same weights before anything is sharded.
  int same_weights() const { return mode == ParallelMode::isp ? split() * replicas : replicas; }
  // What moves with every microbatch moves behind something.
  bool overlaps() const { return hides_weights && gradient_shards > 1; }
  int zero_degree() const { return optimizer_shards / weight_shards; }  // zp
  friend bool operator==(const TransformerPlan&, const TransformerPlan&) = default;
};

// Layers of the longest stage: where the stages do not divide the layers, some have one less.
std::int64_t longest_stage(const TransformerModel& model, const TransformerPlan& plan);

// Every rule that the plan breaks, as "tp is "3", expected a divisor of the 32 heads".
Diagnostics broken_rules(const TransformerModel& model, std::int64_t sequence, int gpus,
                         std::int64_t batch, const TransformerPlan& plan);

}  // namespace weir::predict
