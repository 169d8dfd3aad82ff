// SPDX-License-Identifier: Apache-2.0
#include "plan/training/explain_path.h"

#include <algorithm>
#include <map>
#include <optional>

#include "plan/training/container_index.h"
#include "plan/training/naive_plan.h"
#include "plan/training/op_balance.h"
#include "plan/training/plan_draft.h"

namespace weir::plan {

namespace {

// A single change is a step of its own when it shortens the iteration by this share.
constexpr double kWorthAStep = 0.01;
// And so are a stage's details.
constexpr double kWorthADetail = 0.001;

// Of most operators.
StageLayout main_layout(const PlanStage& stage) {
  std::map<StageLayout, int> counts;
  for (const PlanOp& op : stage.ops) ++counts[{op.tp, op.dp, op.dim}];
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

class Explanation {
 public:
  Explanation(const predict::IterationCosts& costs, const PlanRequest& request,
              const TrainingPlan& chosen)
      : costs_{costs}, request_{request}, chosen_{chosen}, book_{costs, request, budget_} {}

  std::vector<PathPlan> way();

 private:
  bool find_goal();
  std::optional<NaivePlan> find_start() const;
  void take_over_layouts(Draft draft);
  void take_over_cuts();
  void take_over_details();
  // Operators evened out; nothing when that is no better than `than`.
  std::optional<CostedDraft> evened(const Draft& draft, const CostedDraft& than);
  std::vector<Draft> single_changes(const Draft& draft) const;
  std::vector<Draft> joint_changes(const Draft& draft) const;
  std::optional<Draft> with(const Draft& draft, bool takes_size,
                            const std::vector<int>& stages) const;
  bool has_layout(const Draft& draft, int stage) const {
    return book_.layout(draft.size, draft.at(stage).option) == layouts_[at(stage)];
  }
  void add(TrainingPlan plan);
  void add(const Draft& draft) { add(book_.plan(draft)); }
  int count() const { return static_cast<int>(chosen_.stages.size()); }

  const predict::IterationCosts& costs_;
  const PlanRequest& request_;
  const TrainingPlan& chosen_;
  SearchBudget budget_;
  DraftBook book_;
  OpBalance balance_{book_};
  int size_ = -1;  // the chosen microbatch in the book
  std::vector<StageLayout> layouts_;
  std::vector<int> cuts_;
  std::vector<PathPlan> plans_;
};

void Explanation::add(TrainingPlan plan) {
  predict::PlanCost cost = costs_.plan_unchecked(plan);
  plans_.push_back({std::move(plan), std::move(cost)});
}

// False: the request does not allow what the plan has.
bool Explanation::find_goal() {
  for (int size = 0; size < book_.sizes(); ++size) {
    if (book_.microbatch(size) == chosen_.microbatch) size_ = size;
  }
  if (size_ < 0) return false;
  cuts_.push_back(0);
  for (const PlanStage& stage : chosen_.stages) {
    layouts_.push_back(main_layout(stage));
    cuts_.push_back(cuts_.back() + static_cast<int>(stage.ops.size()));
  }
  return std::ranges::all_of(
      layouts_, [&](const StageLayout& layout) { return book_.option_of(size_, layout) >= 0; });
}

std::optional<NaivePlan> Explanation::find_start() const {
  std::vector<int> gpus;
  for (const PlanStage& stage : chosen_.stages) gpus.push_back(stage.gpus);
  const auto doubled = doubled_gpus(costs_.cluster(), request_, count());
  auto naive = naive_plan(costs_, request_, doubled.value_or(gpus));
  return naive ? naive : naive_plan(costs_, request_, gpus);
}

// The draft with the chosen layouts on these stages, and the chosen microbatch. Nothing when it is no plan.
std::optional<Draft> Explanation::with(const Draft& draft, bool takes_size,
                                       const std::vector<int>& stages) const {
  Draft made = draft;
  if (takes_size) made.size = size_;
  std::vector<int> gpus;
  for (int i = 0; i < count(); ++i) {
    const bool is_taken = std::ranges::find(stages, i) != stages.end();
    const StageLayout layout =
        is_taken ? layouts_[at(i)] : book_.layout(draft.size, draft.at(i).option);
    made.at(i).option = book_.option_of(made.size, layout);
    if (made.at(i).option < 0) return std::nullopt;
    gpus.push_back(layout.tp * layout.dp);
  }
  if (!is_legal(costs_.cluster(), request_, gpus)) return std::nullopt;
  return made;
}

// The microbatch; the layout of a stage; two stages, one of which has its GPUs from the other.
std::vector<Draft> Explanation::single_changes(const Draft& draft) const {
  std::vector<Draft> changes;
  const auto add_if_legal = [&](const std::optional<Draft>& made) {
    if (made) changes.push_back(*made);
  };
  if (draft.size != size_) add_if_legal(with(draft, true, {}));
  for (int i = 0; i < count(); ++i) {
    if (has_layout(draft, i)) continue;
    add_if_legal(with(draft, false, {i}));
    for (int j = i + 1; j < count(); ++j) {
      const bool has_gpus = book_.gpus(draft, i) == layouts_[at(i)].tp * layouts_[at(i)].dp;
      if (!has_gpus && !has_layout(draft, j)) add_if_legal(with(draft, false, {i, j}));
    }
  }
  return changes;
}

// The microbatch with the layouts that need no other GPUs; all GPUs and layouts; everything.
std::vector<Draft> Explanation::joint_changes(const Draft& draft) const {
  std::vector<int> all;
  std::vector<int> same_gpus;
  for (int i = 0; i < count(); ++i) {
    all.push_back(i);
    if (book_.gpus(draft, i) == layouts_[at(i)].tp * layouts_[at(i)].dp) same_gpus.push_back(i);
  }
  std::vector<Draft> changes;
  for (const auto& made :
       {with(draft, true, same_gpus), with(draft, false, all), with(draft, true, all)}) {
    if (made) changes.push_back(*made);
  }
  return changes;
}

std::optional<CostedDraft> Explanation::evened(const Draft& draft, const CostedDraft& than) {
  const auto even =
      balance_.even_out(draft, than.cost.fits() ? than.cost.steady * 1.01 : kImpossible);
  if (!even) return std::nullopt;
  CostedDraft made{*even, book_.cost(*even)};
  if (!made.cost.is_better_than(than.cost)) return std::nullopt;
  return made;
}

// The best single change first; where none helps much, the first joint one that does.
void Explanation::take_over_layouts(Draft draft) {
  CostedDraft now{draft, book_.cost(draft)};
  add(draft);
  if (const auto even = evened(draft, now)) {
    now = *even;
    add(now.draft);
  }
  const auto is_done = [&] {
    for (int i = 0; i < count(); ++i) {
      if (!has_layout(now.draft, i)) return false;
    }
    return now.draft.size == size_;
  };
  while (!is_done()) {
    CostedDraft best = now;
    for (const Draft& change : single_changes(now.draft)) {
      if (auto even = evened(change, best)) best = std::move(*even);
    }
    const double enough = now.cost.iteration() * (1 - kWorthAStep);
    for (const Draft& change : joint_changes(now.draft)) {
      if (best.cost.iteration() < enough) break;
      if (auto even = evened(change, best)) best = std::move(*even);
    }
    if (best.draft == now.draft) return;
    now = std::move(best);
    add(now.draft);
  }
}

void Explanation::take_over_cuts() {
  add(book_.draft(chosen_.microbatch, cuts_, layouts_));
}

// Stage by stage what is left: what is computed again, layouts that are mixed.
void Explanation::take_over_details() {
  while (plans_.back().plan != chosen_) {
    const PathPlan& now = plans_.back();
    std::optional<PathPlan> best;
    for (std::size_t i = 0; i < now.plan.stages.size(); ++i) {
      if (now.plan.stages[i] == chosen_.stages[i]) continue;
      TrainingPlan plan = now.plan;
      plan.stages[i] = chosen_.stages[i];
      predict::PlanCost cost = costs_.plan_unchecked(plan);
      if (!best || cost.iteration_ms < best->cost.iteration_ms) best = {std::move(plan), cost};
    }
    if (best->cost.iteration_ms > now.cost.iteration_ms * (1 - kWorthADetail)) break;
    plans_.push_back(std::move(*best));
  }
  if (plans_.back().plan != chosen_) add(chosen_);
}

std::vector<PathPlan> Explanation::way() {
  const bool is_allowed = find_goal();
  const auto naive = find_start();
  if (!naive) return {};
  Draft start = book_.draft(naive->microbatch, naive->cuts, naive->layouts);
  if (is_allowed) {
    take_over_layouts(std::move(start));
    take_over_cuts();
    take_over_details();
  } else {
    add(start);
    add(chosen_);
  }
  return std::move(plans_);
}

}  // namespace

std::vector<PlanStep> explain_path(const predict::IterationCosts& costs, const PlanRequest& request,
                                   const TrainingPlan& chosen) {
  return plan_path(costs, Explanation{costs, request, chosen}.way());
}

}  // namespace weir::plan
