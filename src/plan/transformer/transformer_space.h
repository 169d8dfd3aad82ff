// SPDX-License-Identifier: Apache-2.0
//
// Every plan for a transformer on so many GPUs, in a fixed order. A structure is a plan without shards: how the GPUs are
// cut into stages, replicas and sequence splits, the attention grid, what is computed again, microbatches. On each
// structure the shards of weights, gradients and optimizer state are chosen: gradients as coarse as the weights or as
// fine as the optimizer state. With them: whether what moves is hidden, which holds two layers gathered instead of one,
// and whether gathered weights have a memory pool.
//
// Space: pp up to the layers, all stages counted as long as the longest; interleaving up to 8 pieces, where stages are
// alike; microbatches up to 64 samples, of short ones up to 262,144 tokens; msp, mtp and fsp only inside a node; rings
// need flash attention; selective recomputation only without flash attention, where it saves something.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "predict/transformer/transformer_time.h"

namespace weir::plan {

// What somebody has decided already: "tp=8,pp=4,recompute=full".
struct TransformerPins {
  std::optional<predict::ParallelMode> mode;
  std::optional<int> tp;  // split of mtp, msp, fsp; 1 allows isp, too
  std::optional<int> sp;  // split of isp
  std::optional<int> hp;
  std::optional<int> cp;
  std::optional<int> window;
  std::optional<bool> is_head_first;
  std::optional<int> dp;
  std::optional<int> pp;
  std::optional<int> interleave;
  std::optional<int> wp;
  std::optional<int> zp;
  std::optional<predict::Recompute> recompute;
  std::optional<bool> overlaps;  // off: nothing is gathered or scattered, or nothing behind it
  std::optional<bool> has_memory_pool;
  std::optional<int> micro_batch;
  std::optional<int> micro_count;
  friend bool operator==(const TransformerPins&, const TransformerPins&) = default;
};

// Which attention grids count.
enum class AttentionFamily : std::uint8_t {
  any,
  ulysses,  // heads only, no KV head twice
  ring,     // context only, one ring
  usp,      // heads and context, one ring, no KV head twice
};

struct TransformerRequest {
  predict::TransformerTask task;
  int gpus = 1;
  double memory_bytes = 0;  // of one GPU, without the margin
  double margin_bytes = 0;  // kept free beside them: whoever needs more memory needs it on top
  TransformerPins pins;
  AttentionFamily family = AttentionFamily::any;
  // When set, only plans for which it is true: those that a trainer can run.
  std::function<bool(const predict::TransformerPlan&)> can_run;
};

bool fits_pins(const TransformerPins& pins, const predict::TransformerPlan& plan);
bool is_of_family(AttentionFamily family, const TransformerModel& model,
                  const predict::TransformerPlan& plan);

// Plans with all shards 1. Pins other than wp, zp, overlap and pool hold; `can_run` is not asked.
std::vector<predict::TransformerPlan> structures(const TransformerRequest& request);
// The plan with the shards it has: what moves hidden or not, gathered weights in a pool or not, as far as pins allow.
void add_variants(const TransformerPins& pins, predict::TransformerPlan plan,
                  std::vector<predict::TransformerPlan>& plans);
// The structure with every choice of shards that the pins allow. Of those with equal shards the overlapping ones come first.
std::vector<predict::TransformerPlan> sharded(const TransformerRequest& request,
                                              const predict::TransformerPlan& structure);

// Ascending.
std::vector<int> divisors(std::int64_t number);

}  // namespace weir::plan
