// SPDX-License-Identifier: Apache-2.0
//
// A training plan with its predicted cost, as it is to be shown: what text, JSON and the page are made from. Stages,
// operators and layers count from 0 in all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/training_plan_json.h"
#include "plan/training/advice.h"
#include "plan/training/plan_path.h"
#include "predict/training/iteration_costs.h"

namespace weir::report {

// How a plan was found.
struct SearchFigures {
  double lower_bound_ms = 0;  // no plan of the space searched is faster
  std::optional<double> seconds;
  std::uint64_t evaluations = 0;
  bool is_complete = false;
  bool is_cut_short = false;  // by its budget or the user
};

struct PlanView {
  const predict::IterationCosts& costs;
  const formats::PlanDocument& document;
  const predict::PlanCost& cost;
  std::optional<SearchFigures> search{};  // nothing for a plan that came from a file
  std::optional<double> grid_ms{};        // the best plan with all stages alike
  std::vector<plan::Advice> advice{};     // empty when nobody asked
  std::vector<plan::PlanStep> path{};     // from a naive plan to this one; likewise

  const TrainingPlan& plan() const { return document.plan; }
  int microbatches() const { return document.plan.batch / document.plan.microbatch; }
  double samples_per_s() const { return document.plan.batch / cost.iteration_ms * 1000.0; }
  // Of one GPU; nothing when nobody gave one.
  std::optional<double> limit_mib() const { return document.memory_limit_mib; }
};

}  // namespace weir::report
