// SPDX-License-Identifier: Apache-2.0
#include "plan/training/plan_draft.h"

#include <algorithm>
#include <bit>

namespace weir::plan {

namespace {

std::size_t exponent(int gpus) {
  return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(gpus)) - 1);
}

}  // namespace

DraftBook::DraftBook(const predict::IterationCosts& costs, const PlanRequest& request,
                     SearchBudget& budget)
    : costs_{costs}, request_{request}, budget_{budget} {
  request_.mixes_layouts = false;
  std::ranges::sort(request_.microbatches);
  for (const int microbatch : request_.microbatches) {
    if (request_.batch % microbatch != 0) continue;
    Size size{microbatch,
              stage_options(costs_, request_, microbatch),
              {},
              {},
              IdealWork{costs_, microbatch}};
    for (const auto& option : size.options) {
      auto* uniform = dynamic_cast<UniformStage*>(option.get());
      if (uniform == nullptr) continue;
      const std::size_t power = exponent(uniform->gpus());
      if (size.on_gpus.size() <= power) size.on_gpus.resize(power + 1);
      size.on_gpus[power].push_back(static_cast<int>(size.uniform.size()));
      size.uniform.push_back(uniform);
    }
    if (!size.uniform.empty()) sizes_.push_back(std::move(size));
  }
}

const std::vector<int>& DraftBook::options_on(int size, int gpus) const {
  static const std::vector<int> none;
  const auto& by_power = one(size).on_gpus;
  const bool is_power = gpus > 0 && std::has_single_bit(static_cast<unsigned>(gpus));
  return is_power && exponent(gpus) < by_power.size() ? by_power[exponent(gpus)] : none;
}

int DraftBook::option_of(int size, const StageLayout& layout) const {
  for (const int option : options_on(size, layout.tp * layout.dp)) {
    if (this->layout(size, option) == layout) return option;
  }
  return -1;
}

double DraftBook::missing_mib(int size, const DraftStage& it, int stages_behind) const {
  return stage(size, it.option).missing_mib(it.first, it.end, stages_behind);
}

StageSpan DraftBook::span(int size, const DraftStage& it, int stages_behind, int gpus_before) {
  if (!budget_.spend()) return {kImpossible, kImpossible};
  UniformStage& option = stage(size, it.option);
  const int per_node = costs_.cluster().gpus_per_node;
  const double recompute = option.recompute_us(it.first, it.end, stages_behind);
  if (recompute == kImpossible) return {kImpossible, kImpossible};
  const StageBase base = option.base(it.first, it.end,
                                     {stages_behind, gpus_before > 0 && gpus_before % per_node == 0,
                                      (gpus_before + option.gpus()) % per_node == 0});
  return stage_span(base, recompute, microbatches(size), costs_.hides_transfers());
}

DraftCost DraftBook::cost(const Draft& draft) {
  DraftCost cost;
  int behind = draft.count();
  int gpus_before = 0;
  for (const DraftStage& it : draft.stages) {
    const StageSpan span = this->span(draft.size, it, --behind, gpus_before);
    if (span.steady == kImpossible)
      cost.over_mib += std::max(0.0, missing_mib(draft.size, it, behind));
    cost.steady = std::max(cost.steady, span.steady);
    cost.traverse += span.traverse;
    cost.spans.push_back(span);
    gpus_before += gpus(draft.size, it.option);
  }
  return cost;
}

std::vector<StageLoad> DraftBook::loads(const Draft& draft, const DraftCost& cost) {
  std::vector<StageLoad> loads;
  int behind = draft.count();
  for (std::size_t i = 0; i < draft.stages.size(); ++i) {
    const DraftStage& it = draft.stages[i];
    UniformStage& option = stage(draft.size, it.option);
    const bool fits = cost.spans[i].steady < kImpossible;
    StageLoad load;
    load.compute = one(draft.size).work.us(it.first, it.end, option.gpus());
    load.communication = option.work_us(it.first, it.end) - load.compute;
    load.recomputation = fits ? option.recompute_us(it.first, it.end, behind - 1) : 0;
    load.time = cost.spans[i].steady;
    load.over_mib = fits ? 0 : missing_mib(draft.size, it, behind - 1);
    loads.push_back(load);
    --behind;
  }
  return loads;
}

// How many GPUs a stage can have when there are so many stages.
std::vector<int> DraftBook::gpus_among(int stages) const {
  const int all = costs_.cluster().gpus();
  const int most = request_.stages_may_straddle_nodes ? all : costs_.cluster().gpus_per_node;
  std::vector<int> sizes;
  for (int gpus = 1; gpus <= most; gpus *= 2) {
    const int left = all - gpus;
    if (left >= stages - 1 && left <= (stages - 1) * most) sizes.push_back(gpus);
  }
  return sizes;
}

double DraftBook::bound_us(int size, int stages) const {
  double work = 0;
  double fastest = 0;
  const std::vector<int> sizes = gpus_among(stages);
  for (int op = 0; op < ops(); ++op) {
    double least_work = kImpossible;
    double least = kImpossible;
    for (const int gpus : sizes) {
      for (const int option : options_on(size, gpus)) {
        const double us = stage(size, option).work_us(op, op + 1);
        least_work = std::min(least_work, us * gpus);
        least = std::min(least, us);
      }
    }
    work += least_work;
    fastest += least;
  }
  return work / costs_.cluster().gpus() * (microbatches(size) - 1) + fastest;
}

Draft DraftBook::draft(int microbatch, const std::vector<int>& cuts,
                       const std::vector<StageLayout>& layouts) const {
  Draft draft;
  while (this->microbatch(draft.size) != microbatch) ++draft.size;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    draft.stages.push_back({cuts[i], cuts[i + 1], option_of(draft.size, layouts[i])});
  }
  return draft;
}

TrainingPlan DraftBook::plan(const Draft& draft) {
  TrainingPlan plan{.batch = request_.batch, .microbatch = microbatch(draft.size), .stages = {}};
  int behind = draft.count();
  for (const DraftStage& it : draft.stages) {
    plan.stages.push_back(stage(draft.size, it.option).stage(it.first, it.end, --behind));
  }
  return plan;
}

}  // namespace weir::plan
