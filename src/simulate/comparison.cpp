// SPDX-License-Identifier: Apache-2.0
#include "simulate/comparison.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <utility>

#include "simulate/parallel_for.h"

namespace weir::simulate {

TrainingRunConfig run_config(std::span<const TraceToCompare> traces,
                             const TrainingSweepConfig& config, std::size_t run) {
  const SweepPlace place = place_of(config, run);
  TrainingRunConfig chosen = run_config(config, place);
  chosen.training.slot = traces[place.workload].slot;
  return chosen;
}

std::size_t count_runs(std::span<const TraceToCompare> traces, const TrainingSweepConfig& config) {
  return traces.size() * config.policies.size() * std::max<std::size_t>(1, config.seeds.size());
}

std::vector<std::size_t> longest_first(std::span<const TraceToCompare> traces,
                                       const TrainingSweepConfig& config) {
  std::vector<std::size_t> order(count_runs(traces, config));
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto jobs_in = [&](std::size_t run) {
    return traces[place_of(config, run).workload].workload.jobs.size();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return jobs_in(a) > jobs_in(b); });
  return order;
}

void compare(std::span<const TraceToCompare> traces, const TrainingSweepConfig& config,
             ProgressSink& progress,
             const std::function<void(std::size_t run, TrainingSweepRun outcome)>& hear) {
  const std::vector<std::size_t> order = longest_first(traces, config);
  std::atomic<std::uint64_t> done{0};
  parallel_for(order.size(), config.threads, [&](std::size_t i) {
    const std::size_t run = order[i];
    const SweepPlace place = place_of(config, run);
    const TraceToCompare& trace = traces[place.workload];
    const auto start = std::chrono::steady_clock::now();
    TrainingOutcome outcome =
        run_training(trace.cluster, trace.workload, trace.curves, run_config(traces, config, run));
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    outcome.wall_seconds = passed.count();
    hear(run, {trace.workload.name, trace.jobs_file, trace.cluster.gpu_count(), config.timing,
               std::move(outcome), place.seed});
    progress.advance("simulating", ++done, order.size());
  });
}

}  // namespace weir::simulate
