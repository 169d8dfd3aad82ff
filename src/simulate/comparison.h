// SPDX-License-Identifier: Apache-2.0
//
// Many training runs on many clusters: every combination of trace, policy and seed, spread over
// threads, the longest first so that no thread is left with one at the end. An outcome is handed on
// as soon as it is there and not kept. Each run is single-threaded and deterministic.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/curve.h"
#include "domain/progress.h"
#include "domain/training.h"
#include "simulate/training_sweep.h"

namespace weir::simulate {

// A trace with the cluster it is played on.
struct TraceToCompare {
  Cluster cluster;
  std::vector<CurveBook> curves;  // one for each pool with GPUs, in the cluster's order
  TrainingWorkload workload;
  std::string jobs_file;
  Duration slot{0};
};

// The configuration of one of the runs: that of the sweep with the slot of its trace.
TrainingRunConfig run_config(std::span<const TraceToCompare> traces,
                             const TrainingSweepConfig& config, std::size_t run);

// How many there are.
std::size_t count_runs(std::span<const TraceToCompare> traces, const TrainingSweepConfig& config);

// In which order runs are begun: by the number of jobs in the trace, a rough measure of how long a
// run takes.
std::vector<std::size_t> longest_first(std::span<const TraceToCompare> traces,
                                       const TrainingSweepConfig& config);

// `hear` gets each run with its position (place_of, whose workload is the trace), on the run's
// thread: it may be called on several at once, and in any order.
void compare(std::span<const TraceToCompare> traces, const TrainingSweepConfig& config,
             ProgressSink& progress,
             const std::function<void(std::size_t run, TrainingSweepRun outcome)>& hear);

}  // namespace weir::simulate
