// SPDX-License-Identifier: Apache-2.0
//
// The cluster, the throughput curves and the training jobs that the options of a command name.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/curve.h"
#include "domain/options.h"
#include "domain/result.h"
#include "domain/training.h"
#include "formats/training_yaml.h"
#include "simulate/live_history.h"

namespace weir::cli {

struct TrainingSetup {
  Cluster cluster;
  std::vector<CurveBook> curves;  // one for each pool with GPUs, in the cluster's order
  std::vector<TrainingWorkload> workloads;
  std::vector<std::string> jobs_files;           // one for each workload, as the user wrote it
  std::optional<simulate::LiveHistory> history;  // with --from-log: the one workload's
  std::set<std::string> notes{};                 // what was taken for granted, to be told
};

// Every input file the options name.
std::vector<std::filesystem::path> training_input_paths(const OptionValues& options);

// The curves on the GPUs of each pool that has any, in the cluster's order. Without a path there are none.
Result<std::vector<CurveBook>> read_pool_curves(const std::string& path, const Cluster& cluster);

// The cluster that a word or a file describes; it has GPUs.
Result<Cluster> read_training_cluster(const std::string& text);

// The jobs of a file, for the models that any of the pools has a curve of, or that `plan` plans.
Result<TrainingWorkload> read_training_jobs(const std::string& file,
                                            const std::vector<CurveBook>& curves,
                                            const formats::PlanForJobs& plan);

// Without --curves: what is wrong with the files of --jobs, or that --curves is missing because no file has a model to
// plan.
void check_need_of_curves(const OptionValues& options, Diagnostics& mistakes);

// Requires: --from-log is given, or --cluster, --jobs and, unless all models are planned, --curves. The error lists the mistakes of all files.
Result<TrainingSetup> read_training_setup(const OptionValues& options);

}  // namespace weir::cli
