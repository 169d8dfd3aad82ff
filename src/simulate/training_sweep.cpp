// SPDX-License-Identifier: Apache-2.0
#include "simulate/training_sweep.h"

#include <atomic>
#include <chrono>

#include "simulate/parallel_for.h"

namespace weir::simulate {

std::vector<TrainingSweepRun> sweep_training(const Cluster& cluster,
                                             const std::vector<TrainingWorkload>& workloads,
                                             const std::vector<CurveBook>& curves,
                                             const TrainingSweepConfig& config,
                                             ProgressSink& progress) {
  std::vector<TrainingSweepRun> runs(workloads.size() * config.policies.size());
  std::atomic<std::uint64_t> done{0};
  parallel_for(runs.size(), config.threads, [&](std::size_t i) {
    const TrainingWorkload& workload = workloads[i / config.policies.size()];
    TrainingRunConfig run;
    run.policy = config.policies[i % config.policies.size()];
    run.training = config.training;
    run.speeds = config.speeds;
    run.planned_cost = config.planned_cost;
    run.real_cost = config.real_cost;
    if (config.observer) run.on_record = config.observer(i);
    const auto start = std::chrono::steady_clock::now();
    TrainingOutcome outcome = run_training(cluster, workload, curves, run);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    outcome.wall_seconds = passed.count();
    runs[i] = {workload.name, {}, cluster.gpu_count(), config.timing, std::move(outcome)};
    progress.advance("simulating", ++done, runs.size());
  });
  return runs;
}

}  // namespace weir::simulate
