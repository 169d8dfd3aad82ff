// SPDX-License-Identifier: Apache-2.0
//
// Attention over a long sequence on a grid of d_hp x d_cp GPUs (LoongTrain): all-to-all turns the split of the
// sequence into one of heads inside groups of d_hp, key/value blocks travel around rings of d_cp. Rings have two
// levels: windows of w ranks, and an outer ring of d_cp / w windows that has a whole window's time to send.
//
// All sizes are per layer and GPU, 2-byte elements, exact in integers when d_hp d_cp divides the sequence:
//   Size(q) = 2 S D / d_sp      Size(kv) = 4 S D / d_sp x max(H_kv, d_hp) / H      d_sp = d_hp d_cp
//   all-to-all forward sends (d_hp-1)/d_hp (2 Size(q) + Size(kv)); the ring (d_cp-1) Size(kv)
//   T_ring = sum over outer steps j of max((w-1) max(Tc, Ti) + Tc, To unless j is the last)
// Ti, To: one block inside the window and between windows; Tc: one block's computing. Source: arXiv 2406.18485 and
// docs/models/transformer.md.
//
// Backward, the gradients dK and dV travel behind the blocks: after each step to the next rank of the window, w times, the
// last of which brings them back to where the window began, then to the next window: d_cp + d_cp/w sends of Size(kv) (two
// bytes an element) beside the d_cp-1 of blocks. A send hides behind the next step's computing. Between windows both hops have
// one step to hide behind, because the window's first result is added to what arrives. After the last step nothing is
// left to hide behind: the gradients are needed before anything else of the layer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "domain/transformer_model.h"
#include "predict/transformer/collective_time.h"

namespace weir::predict {

struct AttentionGrid {
  int head = 1;               // d_hp
  int context = 1;            // d_cp
  int window = 1;             // w, divides context
  bool is_head_first = true;  // ranks of one all-to-all are neighbours; otherwise those of one ring

  int gpus() const { return head * context; }
  int windows() const { return context / window; }
  // How the ranks of one all-to-all, and of one ring, lie.
  RankGroup head_group() const { return {head, is_head_first ? 1 : context}; }
  RankGroup context_group() const { return {context, is_head_first ? head : 1}; }
  friend bool operator==(const AttentionGrid&, const AttentionGrid&) = default;
};

struct AttentionVolume {
  std::int64_t query_bytes = 0;
  std::int64_t kv_bytes = 0;
  std::int64_t all_to_all_sent = 0;  // forward
  std::int64_t ring_sent = 0;        // forward
  std::int64_t ring_sent_backward =
      0;                      // blocks and gradients; in a window of one, or of all, some to itself
  double flops_per_step = 0;  // forward, causal
};
// Of one sequence. Requires: check_grid has no objection.
AttentionVolume attention_volume(const TransformerModel& model, std::int64_t sequence,
                                 const AttentionGrid& grid);

// Whether heads and sequence can be split so: H % d_hp == 0; d_hp divides H_kv or is a multiple of it (then KV heads are
// copied); the sequence divides into 2 d_sp chunks when there is a ring; d_hp is even when both degrees are above 1.
bool is_possible(const TransformerModel& model, std::int64_t sequence, const AttentionGrid& grid);

// The two chunks, of 2 d_sp equal ones, that rank (h, c) loads so that causal work is the same on every rank.
std::pair<int, int> token_chunks(const AttentionGrid& grid, int h, int c);

// Sends of dK and dV by one rank, inside windows and between them; where a window is one rank, or all, to itself.
struct GradientSends {
  int inner = 0;
  int outer = 0;
};
GradientSends gradient_sends(const AttentionGrid& grid);

// Seconds of one pass around the ring. `step` is Tc; `inner` and `outer` are Ti and To.
double ring_seconds(const AttentionGrid& grid, double step, double inner, double outer);

// The backward pass: hops of one block, or of its gradients, and of both at once. A hop to itself takes 0.
struct RingHops {
  double inner = 0;
  double inner_both = 0;
  double outer = 0;
  double outer_both = 0;

  double way_home() const { return inner + outer; }  // of the gradients after the last step
};
double ring_backward_seconds(const AttentionGrid& grid, double step, const RingHops& hops);
// Ti and To of `bytes`, by where the ranks lie.
double inner_hop_seconds(const Fabric& fabric, const AttentionGrid& grid, double bytes);
double outer_hop_seconds(const Fabric& fabric, const AttentionGrid& grid, double bytes);

}  // namespace weir::predict
