// SPDX-License-Identifier: Apache-2.0
//
// The rule of the Aceso artifact for what a stage computes again: nothing if it fits; otherwise the
// kind of operator with the largest activations, then the next, until it fits or no kind is left. When
// a kind saves more than is missing, only its first operators are taken. Each operator taken takes its successor
// with it: an activation is saved only between two operators that are both computed again.
#pragma once

#include <span>

#include "domain/training_plan.h"
#include "predict/training/iteration_costs.h"

namespace weir::predict {

// Sets `recompute` of every operator. Returns whether the stage fits in `limit_mib`.
bool derive_recompute(const IterationCosts& costs, int first, std::span<PlanOp> ops, int microbatch,
                      StagePlace place, double limit_mib);

}  // namespace weir::predict
