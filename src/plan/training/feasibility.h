// SPDX-License-Identifier: Apache-2.0
//
// Why there is no plan, and the smallest change that would allow one. Short searches with other limits answer it, so
// what is named is enough; a little less might do, too.
#pragma once

#include <optional>

#include "plan/training/plan_search.h"

namespace weir::plan {

struct Infeasibility {
  enum class Obstacle : unsigned char {
    memory,  // with more of it there is a plan
    stages,  // not with so many stages
    gpus,    // the model cannot use so many GPUs with what was measured
    unknown
  };
  Obstacle obstacle = Obstacle::unknown;
  // What is enough when everything else stays as it is.
  std::optional<double> memory_mib;  // to 1 %
  std::optional<int> nodes;
  std::optional<int> gpus_per_node;
  std::optional<int> stages;
};

// What needs no search: more GPUs than the operators can use.
std::optional<Infeasibility> obviously_infeasible(const predict::IterationCosts& costs,
                                                  const PlanRequest& request);

// Requires: search_plan found nothing. `budget` holds for each search of its own; its deadline for all.
Infeasibility why_infeasible(const predict::IterationCosts& costs, const PlanRequest& request,
                             const SearchBudget& budget);

}  // namespace weir::plan
