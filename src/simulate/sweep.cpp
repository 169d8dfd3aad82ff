// SPDX-License-Identifier: Apache-2.0
#include "simulate/sweep.h"

#include <algorithm>
#include <atomic>

#include "simulate/parallel_for.h"
#include "simulate/relaxation_bound.h"

namespace weir::simulate {
namespace {

template <class Outcome, class Config, class Run>
std::vector<Outcome> run_all(const std::vector<Config>& configs, unsigned threads,
                             ProgressSink& progress, Run run) {
  std::vector<Outcome> outcomes(configs.size());
  std::atomic<std::uint64_t> done{0};
  parallel_for(configs.size(), threads, [&](std::size_t i) {
    outcomes[i] = run(configs[i]);
    progress.advance("simulating", ++done, configs.size());
  });
  return outcomes;
}

struct InflationPiece {
  const Workload* workload;
  InflationConfig config;
};

struct ChurnPiece {
  const Workload* workload;
  ChurnConfig config;
};

// Outcomes come list by list, equally many for each.
void add_bounds(const Cluster& cluster, const std::vector<Workload>& workloads, unsigned threads,
                std::vector<InflationOutcome>& outcomes) {
  const std::size_t per_list = outcomes.size() / std::max<std::size_t>(1, workloads.size());
  parallel_for(workloads.size(), threads, [&](std::size_t list) {
    const double bound = relaxation_bound_percent(cluster, workloads[list]);
    for (std::size_t i = 0; i < per_list; ++i) outcomes[list * per_list + i].bound_percent = bound;
  });
}

}  // namespace

std::vector<InflationOutcome> sweep_inflation(const Cluster& cluster,
                                              const std::vector<Workload>& workloads,
                                              const SweepConfig& config, ProgressSink& progress) {
  std::vector<InflationPiece> pieces;
  for (const Workload& workload : workloads) {
    for (const std::string& policy : config.policies) {
      for (const std::uint64_t seed : config.seeds) {
        pieces.push_back(
            {&workload, {policy, seed, config.node_order, config.expectation, config.timing}});
      }
    }
  }
  std::vector<InflationOutcome> outcomes =
      run_all<InflationOutcome>(pieces, config.threads, progress, [&](const InflationPiece& piece) {
        return run_inflation(cluster, *piece.workload, piece.config);
      });
  if (config.bound) add_bounds(cluster, workloads, config.threads, outcomes);
  return outcomes;
}

std::vector<ChurnOutcome> sweep_churn(const Cluster& cluster,
                                      const std::vector<Workload>& workloads,
                                      const ChurnSweepConfig& config, ProgressSink& progress) {
  std::vector<ChurnPiece> pieces;
  for (const Workload& workload : workloads) {
    for (const int load : config.load_percents) {
      for (const QueueOrder queue : config.queues) {
        for (const std::string& policy : config.runs.policies) {
          for (const std::uint64_t seed : config.runs.seeds) {
            pieces.push_back(
                {&workload,
                 {policy, seed, load, queue, config.runs.expectation, config.runs.timing}});
          }
        }
      }
    }
  }
  return run_all<ChurnOutcome>(pieces, config.runs.threads, progress, [&](const ChurnPiece& piece) {
    return run_churn(cluster, *piece.workload, piece.config);
  });
}

}  // namespace weir::simulate
