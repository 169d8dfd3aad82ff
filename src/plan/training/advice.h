// SPDX-License-Identifier: Apache-2.0
//
// What would make an iteration faster than the plan that was found: more memory, faster links, one more node. Each
// is searched anew, within a budget, so a gain is what is found at least.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/training_plan.h"
#include "plan/training/plan_search.h"

namespace weir::plan {

struct Advice {
  std::string change;                // "10 % more memory: 13,200 MiB on each GPU"
  std::optional<double> at_most_ms;  // an iteration then; nothing when no plan is known
  std::string obstacle;              // why nothing is known
  bool is_complete = false;          // the search came to its end: there is no larger gain
};

// `budget` holds for each search of its own.
std::vector<Advice> what_would_help(const predict::IterationCosts& costs,
                                    const PlanRequest& request, const TrainingPlan& plan,
                                    const SearchBudget& budget);

}  // namespace weir::plan
