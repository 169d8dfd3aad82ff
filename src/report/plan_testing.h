// SPDX-License-Identifier: Apache-2.0
//
// For tests: a plan with its cost on a profile that a test can add up by hand, or on a random one.
#pragma once

#include <utility>

#include "predict/training/profile_testing.h"
#include "report/plan_view.h"

namespace weir::report {

// A plan of equal stages, each on one GPU, with everything that a view refers to.
struct TestPlan {
  predict::IterationCosts costs;
  formats::PlanDocument document;
  predict::PlanCost cost;
  PlanView view() const { return {costs, document, cost}; }
};

inline TestPlan test_plan(OpProfile profile, predict::CostModel model, int layers, int stages,
                          int batch) {
  predict::IterationCosts costs =
      predict::test_costs(std::move(profile), layers, {1, stages, 0}, model);
  formats::PlanDocument document;
  document.database = costs.profile().database;
  document.model = costs.profile().model;
  document.size = costs.profile().size;
  document.cost_model = "full";
  document.plan.batch = batch;
  document.plan.microbatch = 1;
  const int ops = costs.ops().size();
  for (int stage = 0; stage < stages; ++stage) {
    const int count = ops * (stage + 1) / stages - ops * stage / stages;
    document.plan.stages.push_back(
        {1, std::vector<PlanOp>(static_cast<std::size_t>(count), PlanOp{})});
  }
  predict::PlanCost cost = costs.plan_unchecked(document.plan);
  return {std::move(costs), std::move(document), std::move(cost)};
}

}  // namespace weir::report
