// SPDX-License-Identifier: Apache-2.0
//
// The fastest plan for a model on a cluster. For each microbatch size a pipeline is searched on coarse cuts first,
// then around the best cuts, then on all cuts (pipeline_dp.h); sizes that cannot beat the best plan
// are skipped. A last pass with relaxed memory proves how far from the best the answer can be.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/result.h"
#include "domain/training_plan.h"
#include "plan/training/search_budget.h"
#include "plan/training/stage_option.h"
#include "predict/training/iteration_costs.h"

namespace weir::plan {

struct PlanRequest {
  int batch = 0;
  std::vector<int> microbatches;  // allowed, for a stage and for one of its replicas
  RecomputeRule recompute = RecomputeRule::own;
  bool mixes_layouts = false;  // operators of a stage may be spread differently
  bool stages_may_straddle_nodes = false;
  std::optional<int> stages;
};

// What a search tells while it runs; times in milliseconds.
struct SearchNews {
  std::string what;  // "coarse cuts, microbatch 2"
  double best_ms = 0;
  double bound_ms = 0;
};

struct PlanAnswer {
  TrainingPlan plan;
  predict::PlanCost cost;
  double lower_bound_ms = 0;  // no plan of the space searched is faster
  bool is_complete = false;   // the search came to its end: nothing in the space is better
  std::uint64_t evaluations = 0;
};

// Nothing found: the error is ErrorCode::infeasible and says which constraint is in the way and what would mend it;
// bad input for a request that contradicts itself.
Result<PlanAnswer> search_plan(const predict::IterationCosts& costs, const PlanRequest& request,
                               SearchBudget& budget,
                               const std::function<void(const SearchNews&)>& tell = {});

// The options of a stage at a microbatch: each layout that was measured and fits in a node.
std::vector<std::unique_ptr<StageOption>> stage_options(const predict::IterationCosts& costs,
                                                        const PlanRequest& request, int microbatch);

}  // namespace weir::plan
