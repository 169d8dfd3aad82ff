// SPDX-License-Identifier: Apache-2.0
#include "plan/training/megatron_grid.h"

#include <algorithm>
#include <numeric>

namespace weir::plan {

namespace {

using predict::IterationCosts;
using predict::ModelFamily;
using predict::ModelOps;
using predict::ModelUnit;

// Operators of each stage, for every even split of the layers.
using Split = std::vector<int>;

// `units` layers over `stages`; an uneven rest goes to the last stage where `takes_rest`.
std::optional<Split> even(const std::vector<ModelUnit>& units, int stages, bool takes_rest) {
  const auto count = static_cast<int>(units.size());
  if (stages > count || (count % stages != 0 && !takes_rest)) return std::nullopt;
  Split split(static_cast<std::size_t>(stages), 0);
  for (int i = 0; i < count; ++i) {
    const int stage = std::min(i / (count / stages), stages - 1);
    split[static_cast<std::size_t>(stage)] += units[static_cast<std::size_t>(i)].size;
  }
  return split;
}

std::vector<ModelUnit> units_between(const ModelOps& ops, std::size_t first, std::size_t end) {
  return {ops.units.begin() + static_cast<std::ptrdiff_t>(first),
          ops.units.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::vector<Split> splits(const ModelOps& ops, int stages) {
  const std::size_t units = ops.units.size();
  std::vector<Split> all;
  if (ops.family == ModelFamily::t5) {
    const auto layers = static_cast<std::size_t>(ops.layers);
    const auto encoder = units_between(ops, 1, 1 + layers);
    const auto decoder = units_between(ops, 2 + layers, 2 + 2 * layers);
    if (stages == 1) return {{ops.size()}};
    for (int front = 1; front < stages; ++front) {
      auto split = even(encoder, front, false);
      const auto rest = even(decoder, stages - front, false);
      if (!split || !rest) continue;
      split->front() += 1;  // the embedding
      split->back() += 1;   // the encoder's last norm
      const std::size_t first_of_decoder = split->size();
      split->insert(split->end(), rest->begin(), rest->end());
      (*split)[first_of_decoder] += 1;  // the decoder's embedding
      split->back() += 2;
      all.push_back(std::move(*split));
    }
    return all;
  }
  const bool is_resnet = ops.family == ModelFamily::resnet;
  // The operators before the first block, the blocks, and two operators at the end (of a ResNet: in its last block's unit).
  const auto layers = is_resnet ? units_between(ops, 1, units) : units_between(ops, 1, units - 1);
  auto split = even(layers, stages, is_resnet);
  if (!split) return all;
  split->front() += ops.units.front().size;
  if (!is_resnet) split->back() += ops.units.back().size;
  all.push_back(std::move(*split));
  return all;
}

TrainingPlan grid_plan(const IterationCosts& costs, const Split& split, PlanOp op, int batch,
                       int microbatch, bool recomputes) {
  TrainingPlan plan{.batch = batch, .microbatch = microbatch, .stages = {}};
  op.recompute = recomputes;
  for (const int size : split) {
    PlanStage stage;
    stage.gpus = op.tp * op.dp;
    stage.ops.assign(static_cast<std::size_t>(size), op);
    plan.stages.push_back(std::move(stage));
  }
  if (costs.ops().family != ModelFamily::resnet) {
    plan.stages.front().ops.front().recompute = false;
    plan.stages.back().ops.back().recompute = false;
  }
  return plan;
}

}  // namespace

std::optional<GridPlan> megatron_grid(const IterationCosts& costs, int batch,
                                      const std::vector<int>& microbatches) {
  const PlanCluster& cluster = costs.cluster();
  std::optional<GridPlan> best;
  for (int stages = 1; stages <= cluster.gpus(); ++stages) {
    if (cluster.gpus() % stages != 0) continue;
    const int gpus = cluster.gpus() / stages;
    const std::vector<Split> all = splits(costs.ops(), stages);
    for (int tp = 1; tp <= std::min(gpus, cluster.gpus_per_node); tp *= 2) {
      if (gpus % tp != 0) continue;
      const int dp = gpus / tp;
      for (const int microbatch : microbatches) {
        const bool is_allowed =
            microbatch % dp == 0 && batch % microbatch == 0 &&
            std::ranges::find(microbatches, microbatch / dp) != microbatches.end();
        if (!is_allowed || !costs.has(microbatch / dp, tp, 0)) continue;
        const PlanOp op{static_cast<std::int16_t>(tp), static_cast<std::int16_t>(dp), 0, false};
        for (const Split& split : all) {
          for (const bool recomputes : {true, false}) {
            TrainingPlan plan = grid_plan(costs, split, op, batch, microbatch, recomputes);
            predict::PlanCost cost = costs.plan_unchecked(plan);
            const bool fits = cost.largest_memory_mib < cluster.memory_mib;
            if (!fits || (best && cost.iteration_ms >= best->cost.iteration_ms)) continue;
            best = GridPlan{std::move(plan), std::move(cost), stages, tp, dp, recomputes};
          }
        }
      }
    }
  }
  return best;
}

}  // namespace weir::plan
