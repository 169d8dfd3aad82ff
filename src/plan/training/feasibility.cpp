// SPDX-License-Identifier: Apache-2.0
#include "plan/training/feasibility.h"

#include <algorithm>
#include <cmath>

namespace weir::plan {

namespace {

using predict::IterationCosts;
using Obstacle = Infeasibility::Obstacle;

constexpr double kAnyMemoryMib = 1e9;
constexpr double kPrecision = 1.01;
constexpr int kMostGpusPerNode = 8;  // larger nodes are rare, and their links another matter
constexpr int kMostTimesTheNodes = 64;

class Prober {
 public:
  Prober(const IterationCosts& costs, const PlanRequest& request, const SearchBudget& budget)
      : costs_{costs}, request_{request}, budget_{budget} {}

  Infeasibility run() {
    const PlanCluster& given = costs_.cluster();
    const auto unlimited = memory_used(with_memory(given, kAnyMemoryMib), request_);
    Infeasibility found;
    if (unlimited) {
      found.obstacle = Obstacle::memory;
      found.memory_mib = enough_memory(given.memory_mib, *unlimited);
      found.gpus_per_node = larger_nodes(given);
      found.nodes = more_nodes(given);
      return found;
    }
    if (request_.stages) {
      found.stages = other_stages(given, *request_.stages);
      if (found.stages) found.obstacle = Obstacle::stages;
      return found;
    }
    found.nodes = fewer_nodes(given);
    if (found.nodes) found.obstacle = Obstacle::gpus;
    return found;
  }

 private:
  static PlanCluster with_memory(PlanCluster cluster, double mib) {
    cluster.memory_mib = mib;
    return cluster;
  }

  // Of the fullest GPU under some plan; nothing when none was found.
  std::optional<double> memory_used(const PlanCluster& cluster, const PlanRequest& request) const {
    const auto costs =
        IterationCosts::make(costs_.profile(), costs_.ops().layers, cluster, costs_.options());
    if (!costs) return std::nullopt;
    SearchBudget budget = budget_;
    const auto answer = search_plan(*costs, request, budget);
    if (!answer) return std::nullopt;
    return answer->cost.largest_memory_mib;
  }
  bool is_feasible(const PlanCluster& cluster) const {
    return memory_used(cluster, request_).has_value();
  }

  // Bisection between a limit that is too low and one that is enough.
  double enough_memory(double too_low, double enough) const {
    while (enough > too_low * kPrecision && SearchBudget::Clock::now() < budget_.deadline) {
      const double middle = std::sqrt(too_low * enough);
      if (const auto used = memory_used(with_memory(costs_.cluster(), middle), request_)) {
        enough = std::min(*used, middle);
      } else {
        too_low = middle;
      }
    }
    return std::ceil(enough);
  }

  std::optional<int> larger_nodes(PlanCluster cluster) const {
    while (cluster.gpus_per_node * 2 <= kMostGpusPerNode) {
      cluster.gpus_per_node *= 2;
      if (is_feasible(cluster)) return cluster.gpus_per_node;
    }
    return std::nullopt;
  }

  std::optional<int> more_nodes(PlanCluster cluster) const {
    if (costs_.profile().between_nodes.empty()) return std::nullopt;
    const auto is_enough = [&](int nodes) {
      PlanCluster larger = cluster;
      larger.nodes = nodes;
      return is_feasible(larger);
    };
    int too_few = cluster.nodes;
    int enough = too_few + 1;
    while (!is_enough(enough)) {
      too_few = enough;
      enough = cluster.nodes + 2 * (enough - cluster.nodes);
      if (enough > cluster.nodes * kMostTimesTheNodes) return std::nullopt;
    }
    while (enough - too_few > 1) {
      const int middle = (too_few + enough) / 2;
      (is_enough(middle) ? enough : too_few) = middle;
    }
    return enough;
  }

  std::optional<int> fewer_nodes(PlanCluster cluster) const {
    cluster.memory_mib = kAnyMemoryMib;
    while (cluster.nodes > 1) {
      cluster.nodes /= 2;
      if (is_feasible(cluster)) return cluster.nodes;
    }
    return std::nullopt;
  }

  // The nearest number that works.
  std::optional<int> other_stages(const PlanCluster& given, int stages) const {
    const PlanCluster cluster = with_memory(given, kAnyMemoryMib);
    PlanRequest request = request_;
    for (int distance = 1; distance < given.gpus(); ++distance) {
      for (const int other : {stages - distance, stages + distance}) {
        if (other < 1 || other > given.gpus()) continue;
        request.stages = other;
        if (memory_used(cluster, request)) return other;
      }
      if (SearchBudget::Clock::now() >= budget_.deadline) break;
    }
    return std::nullopt;
  }

  const IterationCosts& costs_;
  const PlanRequest& request_;
  const SearchBudget& budget_;
};

}  // namespace

// Every stage has an operator, and lies on one node unless stages may straddle.
std::optional<Infeasibility> obviously_infeasible(const IterationCosts& costs,
                                                  const PlanRequest& request) {
  const int most_nodes = costs.ops().size();
  if (request.stages_may_straddle_nodes || costs.cluster().nodes <= most_nodes) return std::nullopt;
  Infeasibility found;
  found.obstacle = Obstacle::gpus;
  found.nodes = most_nodes;
  return found;
}

Infeasibility why_infeasible(const IterationCosts& costs, const PlanRequest& request,
                             const SearchBudget& budget) {
  return Prober{costs, request, budget}.run();
}

}  // namespace weir::plan
