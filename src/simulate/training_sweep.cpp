// SPDX-License-Identifier: Apache-2.0
#include "simulate/training_sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "simulate/parallel_for.h"

namespace weir::simulate {

std::size_t runs_of(const TrainingSweepConfig& config, std::size_t workloads) {
  return workloads * config.policies.size() * std::max<std::size_t>(1, config.networks.size()) *
         std::max<std::size_t>(1, config.seeds.size());
}

SweepPlace place_of(const TrainingSweepConfig& config, std::size_t run) {
  const std::size_t seeds = std::max<std::size_t>(1, config.seeds.size());
  const std::size_t networks = std::max<std::size_t>(1, config.networks.size());
  const std::size_t chosen = run / seeds / networks;  // workload and policy
  SweepPlace place{chosen / config.policies.size(), chosen % config.policies.size(), {}};
  place.network = run / seeds % networks;
  if (!config.seeds.empty()) place.seed = config.seeds[run % seeds];
  return place;
}

TrainingRunConfig run_config(const TrainingSweepConfig& config, const SweepPlace& place) {
  TrainingRunConfig run;
  run.policy = config.policies[place.policy];
  run.training = config.training;
  run.speeds = config.speeds;
  if (run.policy == "weir") run.tenants = config.tenants;
  if (!config.energy.empty()) run.energy = config.energy[place.workload];
  if (!config.networks.empty()) run.network = config.networks[place.network];
  run.failures = config.failures;
  run.checkpoint_every = config.checkpoint_every;
  run.planned_cost = config.planned_cost;
  run.real_cost = config.real_cost;
  if (place.seed) run.training.seed = run.speeds.seed = run.failures.seed = *place.seed;
  return run;
}

std::vector<TrainingSweepRun> sweep_training(const Cluster& cluster,
                                             const std::vector<TrainingWorkload>& workloads,
                                             const std::vector<CurveBook>& curves,
                                             const TrainingSweepConfig& config,
                                             ProgressSink& progress) {
  std::vector<TrainingSweepRun> runs(runs_of(config, workloads.size()));
  std::atomic<std::uint64_t> done{0};
  parallel_for(runs.size(), config.threads, [&](std::size_t i) {
    const SweepPlace place = place_of(config, i);
    const TrainingWorkload& workload = workloads[place.workload];
    TrainingRunConfig run = run_config(config, place);
    if (config.observer) run.on_record = config.observer(i);
    const auto start = std::chrono::steady_clock::now();
    TrainingOutcome outcome = run_training(cluster, workload, curves, run);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    outcome.wall_seconds = passed.count();
    runs[i] = {workload.name,      {},        cluster.gpu_count(), config.timing,
               std::move(outcome), place.seed};
    progress.advance("simulating", ++done, runs.size());
  });
  return runs;
}

}  // namespace weir::simulate
