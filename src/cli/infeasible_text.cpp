// SPDX-License-Identifier: Apache-2.0
#include "cli/infeasible_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "formats/quantity_text.h"

namespace weir::cli {
namespace {

using Obstacle = plan::Infeasibility::Obstacle;

Error infeasible(Diagnostic diagnostic) {
  Error error{ErrorCode::infeasible, {}};
  error.details.add(std::move(diagnostic));
  return error;
}

// What --memory has to be: the margin comes on top.
std::string memory_text(const OptionValues& options, double usable_mib) {
  const auto margin = formats::parse_memory(options.text("margin"));
  const auto whole = static_cast<std::int64_t>(usable_mib) + (margin ? margin->value : 0);
  return fmt::format("{}MiB", whole);
}

Diagnostic memory_diagnostic(const OptionValues& options, const plan::Infeasibility& why) {
  std::vector<std::string> others;
  if (why.gpus_per_node) others.push_back(fmt::format("--gpus-per-node {}", *why.gpus_per_node));
  if (why.nodes) others.push_back(fmt::format("--nodes {}", *why.nodes));
  std::string expected =
      fmt::format("{} for a plan to fit the memory of each GPU",
                  why.memory_mib ? memory_text(options, *why.memory_mib) : std::string{"more"});
  if (!others.empty()) expected += fmt::format(" (or {})", fmt::join(others, ", or "));
  return {{}, 0, "--memory", options.text("memory"), expected};
}

}  // namespace

Error infeasible_error(const OptionValues& options, const PlanCluster& cluster,
                       const plan::Infeasibility& why) {
  switch (why.obstacle) {
    case Obstacle::memory:
      return infeasible(memory_diagnostic(options, why));
    case Obstacle::stages:
      return infeasible(
          {{},
           0,
           "--stages",
           std::to_string(options.integer("stages")),
           fmt::format("{}: no measured layout splits {} x {} GPUs into so many stages",
                       *why.stages, cluster.nodes, cluster.gpus_per_node)});
    case Obstacle::gpus:
      return infeasible({{},
                         0,
                         "--nodes",
                         std::to_string(cluster.nodes),
                         fmt::format("{} or fewer: with what was measured the model cannot use so "
                                     "many GPUs",
                                     *why.nodes)});
    case Obstacle::unknown:
      break;
  }
  return infeasible({{},
                     0,
                     "the cluster",
                     fmt::format("{} x {} GPUs", cluster.nodes, cluster.gpus_per_node),
                     "one for which a combination of microbatch, tensor and data degree was "
                     "measured (other --microbatches may do)"});
}

Error too_short_error(const OptionValues& options) {
  const bool is_counted = options.has("evaluations") && !options.is_given("budget");
  return infeasible(
      {{},
       0,
       is_counted ? "--evaluations" : "--budget",
       is_counted ? std::to_string(options.integer("evaluations")) : options.text("budget"),
       "more: the search ended before it found any plan"});
}

}  // namespace weir::cli
