// SPDX-License-Identifier: Apache-2.0
//
// A fast plan by relieving bottlenecks, one after the other (Aceso). For each number of stages there is a naive plan to begin with. The worst
// stage of a plan is found, the moves that relieve it are tried (plan_moves.h), and where no single move helps, chains of them; then
// the next plan, until nothing promising is left. Any number of stages that cannot beat the best plan is left alone.
//
// It proves nothing, unlike plan_search.h, but it tells how it came to its answer. It costs whole plans, so a
// term that is not a sum over stages can be had. Stages are laid out uniformly.
#pragma once

#include <functional>
#include <vector>

#include "domain/result.h"
#include "plan/training/plan_path.h"
#include "plan/training/plan_search.h"
#include "plan/training/search_budget.h"

namespace weir::plan {

struct AlleviationAnswer {
  PlanAnswer best;
  TrainingPlan start;          // where the path begins
  std::vector<PlanStep> path;  // ends at the best plan
};

// Errors as search_plan()'s.
Result<AlleviationAnswer> alleviate(const predict::IterationCosts& costs,
                                    const PlanRequest& request, SearchBudget& budget,
                                    const std::function<void(const SearchNews&)>& tell = {});

}  // namespace weir::plan
