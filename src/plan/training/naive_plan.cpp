// SPDX-License-Identifier: Apache-2.0
#include "plan/training/naive_plan.h"

#include <algorithm>

namespace weir::plan {

namespace {

// The measured layout with the most tensor parallelism.
std::optional<StageLayout> most_tp(const predict::IterationCosts& costs, const PlanRequest& request,
                                   int microbatch, int gpus) {
  for (int tp = std::min(gpus, costs.cluster().gpus_per_node); tp > 0; tp /= 2) {
    const int dp = gpus / tp;
    if (tp * dp != gpus || microbatch % dp != 0) continue;
    const bool is_allowed =
        std::ranges::find(request.microbatches, microbatch / dp) != request.microbatches.end();
    if (is_allowed && costs.has(microbatch / dp, tp, 0)) return StageLayout{tp, dp, 0};
  }
  return std::nullopt;
}

}  // namespace

bool is_legal(const PlanCluster& cluster, const PlanRequest& request,
              const std::vector<int>& gpus) {
  int before = 0;
  for (const int one : gpus) {
    if (one < 1) return false;
    const bool is_inside =
        before / cluster.gpus_per_node == (before + one - 1) / cluster.gpus_per_node;
    if (!is_inside && !request.stages_may_straddle_nodes) return false;
    before += one;
  }
  return before == cluster.gpus();
}

std::optional<std::vector<int>> doubled_gpus(const PlanCluster& cluster, const PlanRequest& request,
                                             int stages) {
  if (stages < 1 || stages > cluster.gpus()) return std::nullopt;
  std::vector<int> gpus(static_cast<std::size_t>(stages), 1);
  int used = stages;
  for (std::size_t next = 0; used < cluster.gpus(); next = (next + 1) % gpus.size()) {
    used += gpus[next];
    gpus[next] *= 2;
  }
  if (!is_legal(cluster, request, gpus)) return std::nullopt;
  return gpus;
}

std::optional<NaivePlan> naive_plan(const predict::IterationCosts& costs,
                                    const PlanRequest& request, const std::vector<int>& gpus) {
  const auto stages = static_cast<int>(gpus.size());
  const int each = costs.ops().size() / stages;
  if (each == 0) return std::nullopt;
  std::vector<int> sizes = request.microbatches;
  std::ranges::sort(sizes);
  for (const int microbatch : sizes) {
    if (request.batch % microbatch != 0) continue;
    NaivePlan plan{microbatch, {}, {}};
    for (const int one : gpus) {
      const auto layout = most_tp(costs, request, microbatch, one);
      if (!layout) break;
      plan.cuts.push_back(static_cast<int>(plan.layouts.size()) * each);
      plan.layouts.push_back(*layout);
    }
    plan.cuts.push_back(costs.ops().size());
    if (plan.layouts.size() == gpus.size()) return plan;
  }
  return std::nullopt;
}

}  // namespace weir::plan
