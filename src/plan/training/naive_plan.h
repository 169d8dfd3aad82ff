// SPDX-License-Identifier: Apache-2.0
//
// Where a search or an explanation begins: GPUs doubled from the first stage on until all are used, operators split evenly by
// their number, as much tensor parallelism as there are GPUs, the smallest microbatch.
#pragma once

#include <optional>
#include <vector>

#include "plan/training/plan_search.h"
#include "plan/training/uniform_stage.h"

namespace weir::plan {

struct NaivePlan {
  int microbatch = 0;
  std::vector<int> cuts;  // where each stage begins, and the end of the last
  std::vector<StageLayout> layouts;
};

// Whether stages on so many GPUs can follow each other: together all GPUs, none on two nodes unless the request allows it.
bool is_legal(const PlanCluster& cluster, const PlanRequest& request, const std::vector<int>& gpus);

// Nothing when doubling does not end at the number of GPUs, or a stage would lie on two nodes.
std::optional<std::vector<int>> doubled_gpus(const PlanCluster& cluster, const PlanRequest& request,
                                             int stages);

// With stages on so many GPUs. Nothing when no allowed microbatch was measured for all of them.
std::optional<NaivePlan> naive_plan(const predict::IterationCosts& costs,
                                    const PlanRequest& request, const std::vector<int>& gpus);

}  // namespace weir::plan
