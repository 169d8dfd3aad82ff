// SPDX-License-Identifier: Apache-2.0
//
// Churn: jobs arrive, wait in a queue, run and leave. The order and the run times of the trace are
// kept, run times capped at their 99th percentile, and the gaps between arrivals are compressed so
// that the offered GPU load is what the caller asks for (at the trace's own rate the cluster would
// be 1 % busy and every policy would tie). docs/models/churn.md has the details.
#pragma once

#include <cstdint>
#include <string>

#include "domain/cluster.h"
#include "domain/workload.h"
#include "simulate/inflation.h"
#include "simulate/outcome.h"

namespace weir::simulate {

enum class QueueOrder : std::uint8_t {
  fifo,      // the first job in the queue holds back all others
  backfill,  // any queued job that fits may start, in queue order
};

struct ChurnConfig {
  std::string policy = "fgd";
  std::uint64_t seed = 42;
  int load_percent = 90;
  QueueOrder queue = QueueOrder::fifo;
  Expectation expectation = Expectation::oracle;
  bool timing = false;
};

// Requires: workload.has_timing(); the policy exists.
ChurnOutcome run_churn(const Cluster& cluster, const Workload& workload, const ChurnConfig& config);

}  // namespace weir::simulate
