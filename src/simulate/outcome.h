// SPDX-License-Identifier: Apache-2.0
//
// What simulations bring back. Plain values: reports read them, formats write them. Amounts are
// integers (milli-GPU sums over samples), so a report prints the same bytes on every build.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/units.h"

namespace weir::simulate {

// Mean of integer samples, kept exact until it is printed.
struct SampleMean {
  std::int64_t sum = 0;
  std::int64_t count = 0;

  void add(std::int64_t sample) {
    sum += sample;
    ++count;
  }
  bool empty() const { return count == 0; }
};

// Mean time per decision; not part of an outcome's identity, since it differs from run to run.
struct DecisionTiming {
  double decision_us_mean = 0;  // one submission: decide, evolve and all index updates
};

// Results at one percentage of arrived GPU demand: means over the submissions that round to it.
struct ArrivalCell {
  SampleMean allocated_milli;   // milli-GPU in use
  SampleMean fragmented_micro;  // expected fragment, in micro-GPU (1/1000 milli-GPU)
  SampleMean watts;             // of all nodes, by the constants of docs/models/energy.md
};

// One run of the published inflation protocol (docs/models/fragmentation.md).
struct InflationOutcome {
  static constexpr int kLastPercent = 130;

  std::string policy;
  std::string workload;    // the list's name, "default"
  std::string tasks_file;  // as given by the user; empty when there is no file
  std::uint64_t seed = 0;
  MilliGpu capacity;
  std::int64_t tasks = 0;
  std::int64_t failed = 0;
  std::int64_t failed_cpu_only = 0;                   // of `failed`
  std::array<ArrivalCell, kLastPercent + 1> arrived;  // index = percent of capacity arrived
  std::optional<DecisionTiming> timing;
  // When asked for: no policy can allocate more of this list at 100 % arrived, in percent of
  // capacity.
  std::optional<double> bound_percent;

  // Percent of GPU capacity when that much had arrived. Where no submission rounds to the percentage (short
  // lists have gaps), the last one before it counts; nothing when there is none.
  std::optional<double> allocated_percent(int arrived_percent) const;
  std::optional<double> fragmented_percent(int arrived_percent) const;
};

// One run of the churn protocol: jobs come, wait, run and leave (docs/models/churn.md).
struct ChurnOutcome {
  std::string policy;
  std::string workload;
  std::string tasks_file;
  std::string queue;        // "fifo" or "backfill"
  std::string expectation;  // "oracle" or "learned"
  double load = 0;          // offered GPU load, 0.9 = 90 % of capacity
  std::uint64_t seed = 0;
  std::int64_t jobs = 0;
  std::int64_t never_fit = 0;  // larger than any node: refused at once
  // Over the second half of the arrivals; the first half fills the cluster.
  double wait_mean_s = 0;  // from submission to start
  double wait_p99_s = 0;
  double allocated_percent = 0;   // time average, of GPU capacity
  double fragmented_percent = 0;  // time average of the expected fragment, of GPU capacity
  double makespan_s = 0;          // first submission to last finish
  std::optional<DecisionTiming> timing;
};

}  // namespace weir::simulate
