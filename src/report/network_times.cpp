// SPDX-License-Identifier: Apache-2.0
#include "report/network_times.h"

#include <fmt/format.h>

#include <string>

namespace weir::report {
namespace {

std::vector<std::string> network_row(const TrainingSummary& run, const std::string& size,
                                     const simulate::SizeTimes& times) {
  return {run.seed ? fmt::format("{}, seed {}", run.policy, *run.seed) : run.policy,
          run.network->placement,
          size,
          fmt::format("{}", times.jobs),
          fmt::format("{:.0f}", times.completion),
          fmt::format("{:.0f}", times.run),
          fmt::format("{:.0f}", times.wait),
          fmt::format("{:.3f}", times.slowdown)};
}

}  // namespace

std::vector<Table> network_tables(std::span<const TrainingSummary> summaries) {
  std::vector<Table> tables;
  for (const TrainingSummary& run : summaries) {
    if (!run.network) continue;
    const std::string title = run.workload + ": the network";
    if (tables.empty() || tables.back().title != title) {
      tables.push_back({title,
                        {{"policy", Align::left},
                         {"placement", Align::left},
                         {"GPUs"},
                         {"jobs"},
                         {"mean JCT s"},
                         {"run s"},
                         {"wait s"},
                         {"slowdown"}},
                        {}});
    }
    for (const simulate::SizeTimes& times : run.network->by_size)
      tables.back().rows.push_back(network_row(run, fmt::format("{}", times.gpus), times));
    tables.back().rows.push_back(network_row(run, "all", run.network->all));
  }
  return tables;
}

std::string_view network_legend() {
  return "GPUs: what jobs asked for. JCT = wait (until the first GPU) + run. slowdown: run over "
         "what it would be without\nwhat the network took (docs/models/network.md).\n";
}

}  // namespace weir::report
