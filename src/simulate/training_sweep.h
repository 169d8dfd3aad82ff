// SPDX-License-Identifier: Apache-2.0
//
// Many training runs at once: every combination of workload, policy, network and seed, spread over
// threads. Each run is single-threaded and deterministic; results come back in the order workload,
// policy, network, seed whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/curve.h"
#include "domain/progress.h"
#include "domain/record.h"
#include "domain/training.h"
#include "schedule/policies/training_policy.h"
#include "simulate/training_run.h"

namespace weir::simulate {

struct TrainingSweepConfig {
  std::vector<std::string> policies;
  // Each decides what is drawn for `speeds`, for `failures` and by policies; none: one run, with the seeds they have.
  std::vector<std::uint64_t> seeds;
  schedule::TrainingConfig training;
  JobSpeeds speeds;
  TenantTable
      tenants;  // who shares the cluster under weir, which alone gives shares; empty: nobody
  std::vector<EnergySetup> energy;     // of each workload; empty: nobody asks
  std::vector<NetworkSetup> networks;  // each is played; empty: nobody asks
  NodeFailures failures;
  Duration checkpoint_every{0};
  std::optional<schedule::RescaleCost> planned_cost;
  std::optional<schedule::RescaleCost> real_cost;
  unsigned threads = 0;  // 0 = one per core
  bool timing = false;   // keep TrainingSweepRun::timing
  // Called before each run with its position in the result; what it returns hears every record of
  // that run, on the run's thread. May be empty, and so may be what it returns.
  std::function<std::function<void(const Record&)>(std::size_t run)> observer;
};

// Which of the combinations a position in the result is.
struct SweepPlace {
  std::size_t workload = 0;
  std::size_t policy = 0;
  std::optional<std::uint64_t> seed;
  std::size_t network = 0;
};
std::size_t runs_of(const TrainingSweepConfig& config, std::size_t workloads);
SweepPlace place_of(const TrainingSweepConfig& config, std::size_t run);

// What that combination plays with.
TrainingRunConfig run_config(const TrainingSweepConfig& config, const SweepPlace& place);

struct TrainingSweepRun {
  std::string workload;   // its name, "night"
  std::string jobs_file;  // as given by the user; empty when there is no file
  std::int64_t gpus = 0;  // in the cluster
  bool has_timing = false;
  TrainingOutcome outcome;
  std::optional<std::uint64_t> seed{};  // where seeds were asked for
};

std::vector<TrainingSweepRun> sweep_training(const Cluster& cluster,
                                             const std::vector<TrainingWorkload>& workloads,
                                             const std::vector<CurveBook>& curves,
                                             const TrainingSweepConfig& config,
                                             ProgressSink& progress);

}  // namespace weir::simulate
