// SPDX-License-Identifier: Apache-2.0
#include "plan/training/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::plan {

namespace {

using predict::IterationCosts;

constexpr double kMore = 1.1;

// Transfers between stages and collectives between operators; those inside measured operators stay as they are.
OpProfile with_faster_links(OpProfile profile) {
  for (auto* links : {&profile.inside_node, &profile.between_nodes}) {
    for (LinkSpeed& link : *links) link.gb_per_s *= kMore;
  }
  for (auto& table : profile.collectives) {
    for (auto& entry : table.second) entry.second /= kMore;
  }
  return profile;
}

class Adviser {
 public:
  Adviser(const IterationCosts& costs, const PlanRequest& request, const TrainingPlan& plan,
          const SearchBudget& budget)
      : costs_{costs}, request_{request}, plan_{plan}, budget_{budget} {}

  Advice more_memory() const {
    PlanCluster cluster = costs_.cluster();
    cluster.memory_mib *= kMore;
    return search(fmt::format("10 % more memory ({:.0f} MiB on each GPU)", cluster.memory_mib),
                  costs_.profile(), cluster);
  }

  Advice faster_links() const {
    return search("links 10 % faster", with_faster_links(costs_.profile()), costs_.cluster());
  }

  Advice one_more_node() const {
    PlanCluster cluster = costs_.cluster();
    ++cluster.nodes;
    const std::string change =
        fmt::format("one more node ({} x {} GPUs)", cluster.nodes, cluster.gpus_per_node);
    if (costs_.profile().between_nodes.empty()) {
      return {change, std::nullopt, "links between nodes were not measured", false};
    }
    return search(change, costs_.profile(), cluster);
  }

 private:
  // The plan at hand may do, too, where it uses as many GPUs.
  Advice search(std::string change, OpProfile profile, const PlanCluster& cluster) const {
    Advice advice{std::move(change), std::nullopt, "no plan was found in a short search", false};
    const auto costs =
        IterationCosts::make(std::move(profile), costs_.ops().layers, cluster, costs_.options());
    if (!costs) return advice;
    if (cluster.gpus() == costs_.cluster().gpus()) {
      advice.at_most_ms = costs->plan_unchecked(plan_).iteration_ms;
    }
    SearchBudget budget = budget_;
    if (const auto answer = search_plan(*costs, request_, budget)) {
      advice.is_complete = answer->is_complete;
      advice.at_most_ms = std::min(advice.at_most_ms.value_or(answer->cost.iteration_ms),
                                   answer->cost.iteration_ms);
    }
    if (advice.at_most_ms) advice.obstacle.clear();
    return advice;
  }

  const IterationCosts& costs_;
  const PlanRequest& request_;
  const TrainingPlan& plan_;
  const SearchBudget& budget_;
};

}  // namespace

std::vector<Advice> what_would_help(const IterationCosts& costs, const PlanRequest& request,
                                    const TrainingPlan& plan, const SearchBudget& budget) {
  const Adviser adviser{costs, request, plan, budget};
  return {adviser.more_memory(), adviser.faster_links(), adviser.one_more_node()};
}

}  // namespace weir::plan
