// SPDX-License-Identifier: Apache-2.0
//
// How much of a node's free GPU the expected tasks could not use (FGD, USENIX ATC 2023, section 3
// of our docs/models/fragmentation.md). For node n with free shares R[g], T their sum, and expected
// shape m with count p_m:
//
//   F_n(m) = T                          if m is CPU-only, or does not accept the model, or does not fit
//   F_n(m) = sum of R[g] < m.gpu_share  otherwise
//   F_n    = sum over m of p_m F_n(m) / W, where W is the sum of p_m
//
// Memory is left out: it filters but does not fragment.
//
// Because tasks with several GPUs always ask for whole ones, W F_n splits into one term per GPU:
//
//   W F_n = sum_g R[g] (W - U[L][R[g]]) - 1000 f V[L][f]
//
// where L is the number of distinct CPU requests that still fit, f the number of whole free GPUs,
// U[L][r] the count of one-GPU shapes accepted by the model with CPU up to level L and share <= r,
// and V[L][f] the same of shapes with 2..f GPUs. So a look-up per GPU replaces a loop over all
// shapes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "domain/target_workload.h"
#include "schedule/node_state.h"

namespace weir::schedule {

// The definition, shape by shape; the fast form is checked against it. In milli-GPU.
std::int64_t fragment_for(const NodeState& node, const Shape& expected);

class Fragmentation {
 public:
  // Weights by shape, parallel to target.shapes: target.shapes[i].count unless a policy weighs them
  // otherwise. `total` is W.
  Fragmentation(const TargetWorkload& target, const std::vector<std::int64_t>& weights,
                std::int64_t total);
  explicit Fragmentation(const TargetWorkload& target);

  std::int64_t total_weight() const { return total_; }

  // W F_n, exact. Unit: milli-GPU times weight.
  std::int64_t weighted(const NodeState& node) const;

  // W (F_before - F_after) for placing one task on the node; for a share, on its best GPU.
  // Requires: fits(node, shape).
  std::int64_t gain(const NodeState& node, const Shape& shape) const;
  // The same for one given GPU. Requires: shape.shares_gpu() and the GPU has room.
  std::int64_t gain_on(const NodeState& node, const Shape& shape, int gpu) const;

 private:
  // Everything that depends on (model, CPU level): one row of the tables.
  struct Row {
    const std::int64_t* lost;   // by share rank: W - U
    const std::int64_t* whole;  // by whole free GPUs f: 1000 f V
  };
  Row row(GpuModelId model, MilliCpu cpu) const;
  std::size_t cpu_level(MilliCpu cpu) const;
  std::int64_t lost_on(const Row& row, std::int64_t free) const {
    return free * row.lost[share_rank_[static_cast<std::size_t>(free)]];
  }
  std::int64_t lost_on_all(const Row& row, const NodeState& node) const;
  void find_levels_and_ranks(const TargetWorkload& target);
  void fill_tables(const TargetWorkload& target, const std::vector<std::int64_t>& weights);

  std::int64_t total_ = 0;
  std::vector<std::int64_t> cpu_steps_;           // distinct CPU requests, ascending
  std::vector<std::uint32_t> level_hint_;         // by whole cores: levels below them
  std::array<std::uint16_t, 1001> share_rank_{};  // distinct shares <= r
  std::size_t ranks_ = 1;
  // Models that no shape names are alike: they share the tables of group 0.
  std::array<std::uint8_t, kMaxGpuModels> group_{};
  std::vector<std::int64_t> lost_;   // [group][level][rank]
  std::vector<std::int64_t> whole_;  // [group][level][f]
};

}  // namespace weir::schedule
