// SPDX-License-Identifier: Apache-2.0
//
// What people try by hand: the same number of layers, GPUs, tensor and data degree in every stage, recomputation for
// all or none. Every such plan is tried; the best one is the line to beat.
#pragma once

#include <optional>
#include <vector>

#include "domain/training_plan.h"
#include "predict/training/iteration_costs.h"

namespace weir::plan {

struct GridPlan {
  TrainingPlan plan;
  predict::PlanCost cost;
  int stages = 1;
  int tp = 1;
  int dp = 1;
  bool recomputes = false;
};

// Nothing when no plan of the grid fits. Stages may lie on several nodes: the grid knows no nodes.
std::optional<GridPlan> megatron_grid(const predict::IterationCosts& costs, int batch,
                                      const std::vector<int>& microbatches);

}  // namespace weir::plan
