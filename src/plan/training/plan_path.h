// SPDX-License-Identifier: Apache-2.0
//
// How one plan becomes another: a list of steps, each a change to a whole, legal plan, with the stage that was the
// bottleneck before it, what that stage was short of, and what the change did to it. For people: a search or an
// explanation makes the plans, this file puts their differences into words and numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "domain/training_plan.h"
#include "predict/training/iteration_costs.h"

namespace weir::plan {

// What a bottleneck has most of, compared with the other stages; memory when it is over the limit.
enum class PlanResource : unsigned char { compute, communication, recomputation, memory };
std::string_view name_of(PlanResource resource);

struct PlanStep {
  double from_ms = 0;  // one iteration before the step
  double to_ms = 0;
  bool fits_before = true;  // in memory, on every stage
  bool fits_after = true;
  int stage = 0;  // the bottleneck before the step, counted from 0
  PlanResource resource = PlanResource::compute;
  std::string change;        // "3 operators from stage 1 to stage 2"
  double stage_from_ms = 0;  // the iteration as the bottleneck saw it before
  double stage_to_ms = 0;    // as the same stage sees it afterwards
  double memory_from_mib = 0;
  double memory_to_mib = 0;
};

// A plan on the way, with what it costs.
struct PathPlan {
  TrainingPlan plan;
  predict::PlanCost cost;
};

// What is different, in words. Empty for equal plans. Requires: the plans hold the same operators.
std::string change_in_words(const TrainingPlan& before, const TrainingPlan& after);

// Requires: as many stages before as after.
PlanStep plan_step(const predict::IterationCosts& costs, const PathPlan& before,
                   const PathPlan& after);

// The steps between plans that follow each other; equal neighbours make no step.
std::vector<PlanStep> plan_path(const predict::IterationCosts& costs,
                                const std::vector<PathPlan>& plans);

}  // namespace weir::plan
