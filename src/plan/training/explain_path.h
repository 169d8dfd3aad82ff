// SPDX-License-Identifier: Apache-2.0
//
// Why a plan looks as it does: the way to it from the naive plan with as many stages (naive_plan.h), whoever found it. First
// microbatch, GPUs and layouts are taken over from the chosen plan, what helps most first, with operators evened out after each change; then
// its cuts; then what its stages do in detail. Every plan on the way is legal and costed as a whole.
#pragma once

#include <vector>

#include "plan/training/plan_path.h"
#include "plan/training/plan_search.h"

namespace weir::plan {

// The last step ends at `chosen`. Empty when the naive plan is the chosen one, or no naive plan was measured.
// Requires: `chosen` keeps the rules of check_plan.h.
std::vector<PlanStep> explain_path(const predict::IterationCosts& costs, const PlanRequest& request,
                                   const TrainingPlan& chosen);

}  // namespace weir::plan
