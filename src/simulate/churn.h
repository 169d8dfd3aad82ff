// SPDX-License-Identifier: Apache-2.0
//
// Churn: jobs arrive (see ArrivalPlan), wait in a queue, run and leave. At the trace's own rate the
// cluster would be 1 % busy and every policy would tie, so arrivals are compressed to an offered
// GPU load near the capacity. docs/models/churn.md has the details.
#pragma once

#include <cstdint>
#include <string>

#include "domain/cluster.h"
#include "domain/workload.h"
#include "simulate/outcome.h"
#include "simulate/run_setup.h"

namespace weir::simulate {

enum class QueueOrder : std::uint8_t {
  fifo,      // the first job in the queue holds back all others
  backfill,  // any queued job that fits may start, in queue order
};

struct ChurnConfig {
  std::string policy = "fgd";
  std::uint64_t seed = 42;
  int load_percent = 90;  // 0: when jobs came and as long as they ran, nothing compressed
  QueueOrder queue = QueueOrder::fifo;
  Expectation expectation = Expectation::oracle;
  bool timing = false;
};

// Requires: workload.has_timing(); the policy exists.
ChurnOutcome run_churn(const Cluster& cluster, const Workload& workload, const ChurnConfig& config);

}  // namespace weir::simulate
