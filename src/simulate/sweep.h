// SPDX-License-Identifier: Apache-2.0
//
// Many runs at once: every combination of workload, policy and seed, spread over threads. Each run
// is single-threaded and deterministic; results come back in the order workload, policy, seed
// whatever the number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/progress.h"
#include "domain/workload.h"
#include "simulate/churn.h"
#include "simulate/inflation.h"
#include "simulate/outcome.h"

namespace weir::simulate {

struct SweepConfig {
  std::vector<std::string> policies;
  std::vector<std::uint64_t> seeds;
  unsigned threads = 0;  // 0 = one per core
  NodeOrder node_order = NodeOrder::permuted;
  Expectation expectation = Expectation::oracle;
  bool timing = false;
  bool bound = false;  // also compute the relaxation bound of each list; inflation only
};

std::vector<InflationOutcome> sweep_inflation(const Cluster& cluster,
                                              const std::vector<Workload>& workloads,
                                              const SweepConfig& config, ProgressSink& progress);

struct ChurnSweepConfig {
  SweepConfig runs;
  std::vector<int> load_percents = {90, 100, 110};
  std::vector<QueueOrder> queues = {QueueOrder::fifo, QueueOrder::backfill};
};

// In the order workload, load, queue, policy, seed. Requires: all workloads have timing.
std::vector<ChurnOutcome> sweep_churn(const Cluster& cluster,
                                      const std::vector<Workload>& workloads,
                                      const ChurnSweepConfig& config, ProgressSink& progress);

}  // namespace weir::simulate
