// SPDX-License-Identifier: Apache-2.0
#include "plan/training/plan_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "plan/training/cell_bound.h"
#include "plan/training/mixed_stage.h"
#include "plan/training/pipeline_dp.h"
#include "plan/training/uniform_stage.h"

namespace weir::plan {

namespace {

using predict::IterationCosts;

constexpr int kCoarseCutsPerGpu = 16;
constexpr int kMostCoarseCuts = 160;
constexpr double kCoarseTolerance = 1.05;
// Above so many GPUs not every mix of stage sizes is searched.
constexpr int kLargeCluster = 64;
constexpr int kBandWidth = 4;
constexpr int kFewestCells = 128;
// Shares of the budget that is left when a phase begins.
constexpr double kCoarseShare = 0.5;
constexpr double kBoundShare = 0.5;
constexpr double kMixedShare = 0.8;
constexpr int kWindowStrides = 3;  // to both sides of a cut, in strides of the grid before

std::vector<int> grid(int ops, int stride) {
  std::vector<int> cuts;
  for (int op = 0; op < ops; op += stride) cuts.push_back(op);
  cuts.push_back(ops);
  return cuts;
}

std::vector<int> around(const Pipeline& pipeline, int ops, int reach, int stride) {
  std::vector<int> cuts{0, ops};
  for (const PipelineStage& stage : pipeline.stages) {
    for (int op = stage.first - reach; op <= stage.first + reach; op += stride) {
      if (op > 0 && op < ops) cuts.push_back(op);
    }
    cuts.push_back(stage.first);
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

// One microbatch size.
struct Attempt {
  int microbatch = 0;
  int microbatches = 0;
  std::vector<std::unique_ptr<StageOption>> options;
  std::vector<std::unique_ptr<MixedStages>> mixed;  // by GPUs
  std::vector<std::unique_ptr<StageOption>> mixed_options;
  double bound_us = 0;  // no plan with this size is faster
};

class Search {
 public:
  Search(const IterationCosts& costs, const PlanRequest& request, SearchBudget& budget,
         const std::function<void(const SearchNews&)>& tell)
      : costs_{costs}, request_{request}, budget_{budget}, tell_{tell} {}

  Result<PlanAnswer> run();

 private:
  PipelineProblem problem(const Attempt& attempt, std::vector<int> cuts) const;
  void add_mixed(Attempt& attempt);
  void make_attempts();
  void search_coarse(Attempt& attempt);
  void search_equal_sizes(Attempt& attempt);
  bool is_large() const { return costs_.cluster().gpus() > kLargeCluster; }
  bool search_exact(Attempt& attempt);
  void bound(Attempt& attempt);
  std::optional<Pipeline> solve(const Attempt& attempt, std::vector<int> cuts, double below);
  void keep(const Attempt& attempt, const std::optional<Pipeline>& found);
  void say(const std::string& what) const {
    if (tell_) tell_({what, best_us_ / 1000.0, 0});
  }
  TrainingPlan plan() const;

  const IterationCosts& costs_;
  const PlanRequest& request_;
  SearchBudget& budget_;
  const std::function<void(const SearchNews&)>& tell_;
  std::vector<Attempt> attempts_;
  double best_us_ = kImpossible;
  Pipeline best_;
  int best_microbatch_ = 0;
};

PipelineProblem Search::problem(const Attempt& attempt, std::vector<int> cuts) const {
  PipelineProblem problem{.cluster = costs_.cluster(),
                          .hides_transfers = costs_.hides_transfers(),
                          .microbatches = attempt.microbatches,
                          .stages_may_straddle_nodes = request_.stages_may_straddle_nodes,
                          .stages = request_.stages,
                          .options = {},
                          .cuts = std::move(cuts)};
  for (const auto& option : attempt.options) problem.options.push_back(option.get());
  for (const auto& option : attempt.mixed_options) problem.options.push_back(option.get());
  return problem;
}

void Search::make_attempts() {
  for (const int size : request_.microbatches) {
    if (request_.batch % size != 0) continue;
    Attempt attempt;
    attempt.microbatch = size;
    attempt.microbatches = request_.batch / size;
    attempt.options = stage_options(costs_, request_, size);
    if (attempt.options.empty()) continue;
    attempt.bound_us =
        PipelineDp{problem(attempt, grid(costs_.ops().size(), 1)), Costing::chosen, budget_}
            .work_bound();
    attempts_.push_back(std::move(attempt));
  }
  std::ranges::stable_sort(attempts_, {}, &Attempt::bound_us);
}

void Search::add_mixed(Attempt& attempt) {
  const PlanCluster& cluster = costs_.cluster();
  for (int gpus = 1; gpus <= cluster.gpus_per_node; gpus *= 2) {
    attempt.mixed.push_back(std::make_unique<MixedStages>(costs_, gpus, attempt.microbatch,
                                                          request_.microbatches, cluster.memory_mib,
                                                          request_.recompute));
    for (auto& option : attempt.mixed.back()->options()) {
      attempt.mixed_options.push_back(std::move(option));
    }
  }
}

void Search::keep(const Attempt& attempt, const std::optional<Pipeline>& found) {
  if (!found || found->iteration() >= best_us_) return;
  best_us_ = found->iteration();
  best_ = *found;
  best_microbatch_ = attempt.microbatch;
}

std::optional<Pipeline> Search::solve(const Attempt& attempt, std::vector<int> cuts, double below) {
  PipelineDp dp{problem(attempt, std::move(cuts)), Costing::chosen, budget_};
  auto found = dp.best(below);
  keep(attempt, found);
  return found;
}

// What looks a little slower on coarse cuts may be the best in the end.
void Search::search_coarse(Attempt& attempt) {
  const int ops = costs_.ops().size();
  const int gpus = costs_.cluster().gpus();
  const int coarse = std::min(kCoarseCutsPerGpu * gpus, std::max(kMostCoarseCuts, gpus));
  int stride = std::max(1, ops / coarse);
  auto found = solve(attempt, grid(ops, stride), best_us_ * kCoarseTolerance);
  while (found && !budget_.is_spent()) {
    const int reach = stride * kWindowStrides;
    stride = std::max(1, stride / 3);
    auto better = solve(attempt, around(*found, ops, reach, stride), found->iteration());
    if (better) {
      found = std::move(better);
    } else if (stride == 1) {
      break;
    }
  }
}

// First the pipelines whose stages all have the same number of GPUs, then those that stray a little from the best of them.
void Search::search_equal_sizes(Attempt& attempt) {
  const int ops = costs_.ops().size();
  const int gpus = costs_.cluster().gpus();
  const std::vector<int> cuts = grid(ops, std::max(1, ops / std::max(kMostCoarseCuts, gpus)));
  std::optional<Pipeline> best;
  for (int size = 1; size <= costs_.cluster().gpus_per_node; size *= 2) {
    PipelineProblem equal = problem(attempt, cuts);
    std::erase_if(equal.options, [&](const StageOption* it) { return it->gpus() != size; });
    if (equal.options.empty()) continue;
    PipelineDp dp{std::move(equal), Costing::chosen, budget_};
    auto found = dp.best(best ? best->iteration() : best_us_ * kCoarseTolerance);
    keep(attempt, found);
    if (found) best = std::move(found);
  }
  if (!best || budget_.is_spent()) return;
  PipelineProblem near = problem(attempt, cuts);
  near.band = StageBand{static_cast<double>(best->stages.size()) / gpus, kBandWidth};
  PipelineDp dp{std::move(near), Costing::chosen, budget_};
  keep(attempt, dp.best(best->iteration()));
}

// False when the budget ended it.
bool Search::search_exact(Attempt& attempt) {
  PipelineDp dp{problem(attempt, grid(costs_.ops().size(), 1)), Costing::chosen, budget_};
  keep(attempt, dp.best(best_us_));
  return dp.is_proved();
}

// With memory relaxed: on coarse cells first, then on finer ones, up to single operators.
void Search::bound(Attempt& attempt) {
  std::vector<std::unique_ptr<StageOption>> bounds;
  std::vector<StageOption*> options;
  for (const auto& mixed : attempt.mixed) {
    auto bound = mixed->bound();
    if (bound != nullptr) bounds.push_back(std::move(bound));
  }
  for (const auto& option : bounds) options.push_back(option.get());
  if (bounds.empty()) options = problem(attempt, {}).options;
  const int ops = costs_.ops().size();
  int stride = std::max(1, ops / kFewestCells);
  while (!budget_.is_spent() && attempt.bound_us < best_us_) {
    const std::vector<int> borders = grid(ops, stride);
    PipelineProblem relaxed = problem(attempt, grid(static_cast<int>(borders.size()) - 1, 1));
    relaxed.stages_may_be_empty = stride > 1;
    relaxed.options.clear();
    std::vector<std::unique_ptr<CellBound>> cells;
    for (StageOption* option : options) {
      cells.push_back(std::make_unique<CellBound>(*option, borders));
      relaxed.options.push_back(cells.back().get());
    }
    PipelineDp dp{std::move(relaxed), Costing::least, budget_};
    if (is_large()) {
      dp.find_quick_bound(best_us_);
    } else {
      dp.best(best_us_);
    }
    attempt.bound_us = std::max(attempt.bound_us, std::min(dp.lower_bound(), best_us_));
    if (stride == 1) break;
    stride = std::max(1, stride / 3);
  }
}

TrainingPlan Search::plan() const {
  TrainingPlan plan{.batch = request_.batch, .microbatch = best_microbatch_, .stages = {}};
  int behind = static_cast<int>(best_.stages.size());
  for (const PipelineStage& stage : best_.stages) {
    plan.stages.push_back(stage.option->stage(stage.first, stage.end, --behind));
  }
  return plan;
}

Result<PlanAnswer> Search::run() {
  make_attempts();
  budget_.begin_phase(kCoarseShare);
  for (Attempt& attempt : attempts_) {
    if (attempt.bound_us >= best_us_) continue;
    say(fmt::format("coarse cuts, microbatch {}", attempt.microbatch));
    is_large() ? search_equal_sizes(attempt) : search_coarse(attempt);
  }
  if (request_.mixes_layouts) {
    for (Attempt& attempt : attempts_) {
      add_mixed(attempt);
      attempt.bound_us = 0;
    }
  }
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (attempts_[i].bound_us >= best_us_) continue;
    say(fmt::format("bound, microbatch {}", attempts_[i].microbatch));
    budget_.begin_phase(kBoundShare / static_cast<double>(attempts_.size() - i));
    bound(attempts_[i]);
  }
  std::ranges::stable_sort(attempts_, {}, &Attempt::bound_us);
  if (request_.mixes_layouts) {
    budget_.begin_phase(kMixedShare);
    for (Attempt& attempt : attempts_) {
      if (attempt.bound_us >= best_us_) continue;
      say(fmt::format("mixed layouts, microbatch {}", attempt.microbatch));
      search_coarse(attempt);
    }
  }
  bool is_complete = true;
  budget_.begin_phase(1);
  for (Attempt& attempt : attempts_) {
    if (attempt.bound_us >= best_us_) continue;
    if (is_large()) {
      is_complete = false;
      continue;
    }
    say(fmt::format("all cuts, microbatch {}", attempt.microbatch));
    is_complete = search_exact(attempt) && is_complete;
  }
  if (best_microbatch_ == 0) {
    Diagnostics details;
    details.add({"", 0, "memory", "", "more"});
    return tl::unexpected<Error>(Error{ErrorCode::infeasible, details});
  }
  PlanAnswer answer;
  answer.plan = plan();
  answer.cost = costs_.plan_unchecked(answer.plan);
  double bound_us = best_us_;
  for (const Attempt& attempt : attempts_) bound_us = std::min(bound_us, attempt.bound_us);
  // Among mixed layouts only some were tried.
  answer.is_complete = is_complete && (!request_.mixes_layouts || bound_us >= best_us_);
  answer.lower_bound_ms = std::min(bound_us / 1000.0, answer.cost.iteration_ms);
  answer.evaluations = budget_.used();
  return answer;
}

}  // namespace

namespace {

bool allows(const PlanRequest& request, int microbatch) {
  return std::ranges::find(request.microbatches, microbatch) != request.microbatches.end();
}

}  // namespace

std::vector<std::unique_ptr<StageOption>> stage_options(const IterationCosts& costs,
                                                        const PlanRequest& request,
                                                        int microbatch) {
  std::vector<std::unique_ptr<StageOption>> options;
  const PlanCluster& cluster = costs.cluster();
  const int most_gpus = request.stages_may_straddle_nodes ? cluster.gpus() : cluster.gpus_per_node;
  for (int gpus = 1; gpus <= most_gpus; gpus *= 2) {
    for (int tp = 1; tp <= std::min(gpus, cluster.gpus_per_node); tp *= 2) {
      const int dp = gpus / tp;
      if (microbatch % dp != 0) continue;
      const int dims = tp == 1 && costs.options().one_measurement_at_tp1 ? 1 : 2;
      for (int dim = 0; dim < dims; ++dim) {
        if (!allows(request, microbatch / dp) || !costs.has(microbatch / dp, tp, dim)) continue;
        options.push_back(std::make_unique<UniformStage>(
            costs, StageLayout{tp, dp, dim}, microbatch, cluster.memory_mib, request.recompute));
      }
    }
  }
  return options;
}

Result<PlanAnswer> search_plan(const IterationCosts& costs, const PlanRequest& request,
                               SearchBudget& budget,
                               const std::function<void(const SearchNews&)>& tell) {
  return Search{costs, request, budget, tell}.run();
}

}  // namespace weir::plan
