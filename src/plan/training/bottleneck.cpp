// SPDX-License-Identifier: Apache-2.0
#include "plan/training/bottleneck.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weir::plan {

namespace {

double amount(const StageLoad& load, PlanResource resource) {
  switch (resource) {
    case PlanResource::compute:
      return load.compute;
    case PlanResource::communication:
      return load.communication;
    case PlanResource::recomputation:
      return load.recomputation;
    case PlanResource::memory:
      break;
  }
  return load.over_mib;
}

double sum_of(const std::vector<StageLoad>& loads, PlanResource resource) {
  double sum = 0;
  for (const StageLoad& load : loads) sum += std::max(0.0, amount(load, resource));
  return sum;
}

}  // namespace

std::vector<int> by_pressure(const std::vector<StageLoad>& loads) {
  std::vector<int> stages(loads.size());
  std::iota(stages.begin(), stages.end(), 0);
  const auto load = [&](int stage) -> const StageLoad& {
    return loads[static_cast<std::size_t>(stage)];
  };
  std::ranges::stable_sort(stages, [&](int a, int b) {
    const double over_a = std::max(0.0, load(a).over_mib);
    const double over_b = std::max(0.0, load(b).over_mib);
    return over_a != over_b ? over_a > over_b : load(a).time > load(b).time;
  });
  return stages;
}

std::array<PlanResource, 4> by_share(const std::vector<StageLoad>& loads, int stage) {
  const StageLoad& mine = loads[static_cast<std::size_t>(stage)];
  const auto share = [&](PlanResource resource) {
    if (resource == PlanResource::memory) return mine.over_mib > 0 ? 2.0 : -1.0;
    const double sum = sum_of(loads, resource);
    return sum > 0 ? std::max(0.0, amount(mine, resource)) / sum : 0.0;
  };
  std::array<PlanResource, 4> order{PlanResource::compute, PlanResource::communication,
                                    PlanResource::recomputation, PlanResource::memory};
  std::ranges::stable_sort(order, std::ranges::greater{}, share);
  return order;
}

bool is_pressed(const std::vector<StageLoad>& loads, int stage, PlanResource resource) {
  const double mine = amount(loads[static_cast<std::size_t>(stage)], resource);
  if (resource == PlanResource::recomputation || resource == PlanResource::memory) return mine > 0;
  return mine * static_cast<double>(loads.size()) > sum_of(loads, resource);
}

IdealWork::IdealWork(const predict::IterationCosts& costs, int microbatch) {
  const auto& ops = costs.ops();
  std::vector<double> least(static_cast<std::size_t>(ops.size()),
                            std::numeric_limits<double>::infinity());
  for (int tp = 1; tp <= costs.cluster().gpus_per_node; tp *= 2) {
    for (int dp = 1; microbatch % dp == 0 && dp <= microbatch; dp *= 2) {
      for (int dim = 0; dim < 2; ++dim) {
        const OpMeasure* rows = costs.rows({microbatch / dp, tp, dim});
        if (rows == nullptr) continue;
        for (int op = 0; op < ops.size(); ++op) {
          const OpMeasure& row = costs.measure(rows, op);
          double& it = least[static_cast<std::size_t>(op)];
          it = std::min(it, (row.forward_us + row.backward_us) * tp * dp);
        }
      }
    }
  }
  sums_.push_back(0);
  for (const double us : least) sums_.push_back(sums_.back() + us);
}

std::vector<StageLoad> loads_of(const predict::IterationCosts& costs, const IdealWork& work,
                                const PathPlan& path_plan) {
  std::vector<StageLoad> loads;
  int first = 0;
  for (std::size_t i = 0; i < path_plan.plan.stages.size(); ++i) {
    const PlanStage& stage = path_plan.plan.stages[i];
    const predict::StageCost& cost = path_plan.cost.stages[i];
    const int end = first + static_cast<int>(stage.ops.size());
    StageLoad load;
    load.compute = work.us(first, end, stage.gpus);
    load.recomputation = cost.time.recompute;
    load.communication = cost.time.traverse - cost.time.recompute - load.compute;
    load.time = path_plan.cost.stage_ms[i];
    load.over_mib = cost.memory.total() - costs.cluster().memory_mib;
    loads.push_back(load);
    first = end;
  }
  return loads;
}

}  // namespace weir::plan
