// SPDX-License-Identifier: Apache-2.0
//
// The rules every plan obeys, whoever made it:
//   stages follow each other, none is empty, and together they hold every operator once and use every GPU
//   tp x dp = the stage's GPUs for every operator, all powers of two, tp within a node
//   no stage lies on two nodes (unless allowed)
//   the batch is a multiple of the microbatch, which every dp divides
//   every variant used was measured
#pragma once

#include "domain/diagnostics.h"
#include "domain/training_plan.h"

namespace weir::predict {

class IterationCosts;

struct PlanRules {
  bool stages_may_straddle_nodes = false;
};

Diagnostics check_plan(const TrainingPlan& plan, const IterationCosts& costs, PlanRules rules = {});

}  // namespace weir::predict
