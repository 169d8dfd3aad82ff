// SPDX-License-Identifier: Apache-2.0
//
// Puts a task where the node loses the least value for the tasks to come. With v_m the value of a
// task of shape m and V that of the rest of a node (node_value.h), all in micro-GPU:
//
//   loss(m, n) = V_before - V_after - v_m             value the node loses beyond the task's own
//              + 0.3 * size_m * (P_t - min P)         scarce GPU models
//              + 0.03 * (E_after - E_before)          CPU that idle GPUs will need (cpu_shortage.h)
//
// v_m = size_m - pi_m, pi_m the demand price of the configuration programme at 100 % load without
// model sets (configuration_lp.h); a shape that is not expected has pi = 0.
// P_t = sum over the model sets S that accept the node's model t of
//       (share of the GPU demand that asks for S) * C / C_S,
// C the cluster's GPU capacity and C_S that of the models in S, at least 2 % of C.
//
// The level of a choice is floor((loss + 30 milli) / 40 milli); the lowest level wins, ties go to
// the first node in the fixed order and within a node to the lowest-numbered GPU. Where the
// constants come from, and what each brings, is in docs/models/fragmentation.md.
//
// The 30 milli are load-bearing. Most losses are 0 plus the CPU term, which for one GPU lies
// between -30 and +30 milli. If a level began at 0, the slightest CPU gain would win over every
// tie, tasks would spread over empty nodes, and tasks of eight GPUs would find none (a
// prototype on multigpu50: 83.7 % allocated instead of 97.8 %).
//
// Promise: a score is a pure function of node and shape, from integers only.
// Cost: setting up solves a linear programme, a few ms on the openb lists; the worst seen with
// hundreds of random shapes was 2 s. A score takes 50 to 100 ns once the memo is warm.
// Limits: memory is not looked at; at most kMostPricedShapes shapes have a price.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "schedule/place/cpu_shortage.h"
#include "schedule/place/node_value.h"
#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class ExpectedValuePolicy final : public PlacementPolicy {
 public:
  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
  bool uses_target() const override { return true; }
};

class ExpectedValueScorer final : public NodeScorer {
 public:
  // The time to price shapes grows with more than the square of their number; beyond these, the
  // ones that ask for the least GPU go without. The openb lists have up to 45.
  static constexpr std::size_t kMostPricedShapes = 256;

  explicit ExpectedValueScorer(const Outlook& outlook, const NodeValueOptions& options = {});

  Score score(const NodeState& node, const Shape& shape) const override;
  GpuMask choose_gpus(const NodeState& node, const Shape& shape, std::uint64_t draw) const override;

  // The definition, in micro-GPU; score() finds the least over all GPUs quicker.
  // Requires: is_valid_choice(node, shape, gpus).
  std::int64_t loss(const NodeState& node, const Shape& shape, GpuMask gpus) const;

  static std::int64_t level(std::int64_t loss);
  // One byte holds the levels -64..190, one score each; seen on the openb lists: -41..164. Beyond,
  // scores saturate. At the low end that makes the very worst nodes equal, which matters only when
  // there is no other; at the high end the very best, each of which is a bargain.
  static Score score_of(std::int64_t level);

 private:
  // The choice with the lowest level. `gpu` is for shares; other tasks take the first whole GPUs.
  struct Choice {
    std::int64_t level = 0;
    int gpu = 0;
  };
  Choice best_choice(const NodeState& node, const Shape& shape) const;
  Choice best_share(const NodeState& node, const Shape& shape) const;
  std::int64_t level_of_whole(const NodeState& node, const Shape& shape) const;

  std::int64_t task_value(const Shape& shape) const;
  // Of the loss, what does not depend on the GPUs: all but V.
  std::int64_t fixed_loss(const NodeState& node, const Shape& shape) const;

  std::unordered_map<Shape, std::int64_t> task_values_;  // v by shape without memory and models
  std::vector<std::int64_t> scarcity_;  // by model: parts per 2^20 of a task's size
  CpuShortage shortage_;
  // A memo: look-ups extend it, scores don't depend on it. So a scorer serves one thread, which is
  // that of the placer it belongs to.
  mutable NodeValue node_value_;
};

}  // namespace weir::schedule
