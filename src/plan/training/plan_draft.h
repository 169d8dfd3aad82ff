// SPDX-License-Identifier: Apache-2.0
//
// A plan in the short form that a search changes thousands of times a second: a microbatch size, and for each stage its operators
// and which option (stage_option.h) it has. What a stage computes again follows from these. DraftBook knows the options,
// says what drafts cost, and writes them out as plans.
#pragma once

#include <algorithm>
#include <compare>
#include <memory>
#include <vector>

#include "domain/training_plan.h"
#include "plan/training/bottleneck.h"
#include "plan/training/plan_search.h"
#include "plan/training/search_budget.h"
#include "plan/training/stage_option.h"
#include "plan/training/uniform_stage.h"

namespace weir::plan {

struct DraftStage {
  int first = 0;
  int end = 0;
  int option = 0;  // of the microbatch size
  friend auto operator<=>(const DraftStage&, const DraftStage&) = default;
};

struct Draft {
  int size = 0;  // which microbatch size of the book
  std::vector<DraftStage> stages;
  int count() const { return static_cast<int>(stages.size()); }
  DraftStage& at(int stage) { return stages[static_cast<std::size_t>(stage)]; }
  const DraftStage& at(int stage) const { return stages[static_cast<std::size_t>(stage)]; }
  friend auto operator<=>(const Draft&, const Draft&) = default;
};

struct DraftCost {
  std::vector<StageSpan> spans;  // by stage; kImpossible where it does not fit
  double steady = 0;             // of the slowest stage, microseconds
  double traverse = 0;           // of all stages
  double over_mib = 0;           // missing on the stages that do not fit
  double iteration() const { return steady + traverse; }
  bool fits() const { return steady < kImpossible; }
  // Plans that fit by their time; others by the memory they lack.
  bool is_better_than(const DraftCost& other) const {
    if (fits() || other.fits()) return iteration() < other.iteration();
    return over_mib < other.over_mib;
  }
};

struct CostedDraft {
  Draft draft;
  DraftCost cost;
};

class DraftBook {
 public:
  DraftBook(const predict::IterationCosts& costs, const PlanRequest& request, SearchBudget& budget);

  int sizes() const { return static_cast<int>(sizes_.size()); }
  int microbatch(int size) const { return one(size).microbatch; }
  int ops() const { return costs_.ops().size(); }
  const predict::IterationCosts& costs() const { return costs_; }
  const PlanRequest& request() const { return request_; }
  SearchBudget& budget() { return budget_; }

  int options(int size) const { return static_cast<int>(one(size).uniform.size()); }
  const StageLayout& layout(int size, int option) const { return stage(size, option).layout(); }
  int gpus(int size, int option) const { return stage(size, option).gpus(); }
  int gpus(const Draft& draft, int at) const { return gpus(draft.size, draft.at(at).option); }
  // The options on so many GPUs.
  const std::vector<int>& options_on(int size, int gpus) const;
  // -1: nobody measured it.
  int option_of(int size, const StageLayout& layout) const;

  // One stage in its place. Counts as one evaluation; kImpossible when it does not fit or the budget is spent.
  StageSpan span(int size, const DraftStage& stage, int stages_behind, int gpus_before);
  double missing_mib(int size, const DraftStage& stage, int stages_behind) const;
  DraftCost cost(const Draft& draft);
  std::vector<StageLoad> loads(const Draft& draft, const DraftCost& cost);
  // No plan with this many stages and this microbatch is faster. kImpossible: there is none.
  double bound_us(int size, int stages) const;
  // Of every stage, if the work were shared perfectly.
  double ideal_steady(int size) const {
    const int turns = std::max(1, microbatches(size) - 1);
    return one(size).work.us(0, ops(), costs_.cluster().gpus()) * turns;
  }
  int microbatches(int size) const { return request_.batch / one(size).microbatch; }

  TrainingPlan plan(const Draft& draft);
  // Requires: there are options for the layouts at this microbatch. `cuts`: where stages begin, and the end.
  Draft draft(int microbatch, const std::vector<int>& cuts,
              const std::vector<StageLayout>& layouts) const;

 private:
  struct Size {
    int microbatch = 0;
    std::vector<std::unique_ptr<StageOption>> options;
    std::vector<UniformStage*> uniform;
    std::vector<std::vector<int>> on_gpus;  // options by the exponent of their GPUs
    IdealWork work;
  };
  const Size& one(int size) const { return sizes_[static_cast<std::size_t>(size)]; }
  UniformStage& stage(int size, int option) const {
    return *one(size).uniform[static_cast<std::size_t>(option)];
  }
  std::vector<int> gpus_among(int stages) const;

  const predict::IterationCosts& costs_;
  PlanRequest request_;
  SearchBudget& budget_;
  std::vector<Size> sizes_;  // by microbatch, ascending
};

}  // namespace weir::plan
