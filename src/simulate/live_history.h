// SPDX-License-Identifier: Apache-2.0
//
// What the log of a live run says happened: who submitted what, how fast jobs really were, what starts
// really cost, and when jobs ended. Played again, by the same policy or another, it is yesterday.
//
// A job that failed or was cancelled is played as one that is over when it has done what it had done
// then; one that never ran is left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/curve.h"
#include "domain/result.h"
#include "domain/tenants.h"
#include "domain/training.h"
#include "formats/record_log.h"
#include "schedule/admit/size_table.h"
#include "schedule/core/core.h"

namespace weir::simulate {

struct LiveHistory {
  formats::RecordLogHeader header;
  Cluster cluster;
  TrainingWorkload workload;
  std::vector<CurveBook> curves;              // by pool with GPUs, also those without a curve
  std::vector<JobId> ids;                     // by row of the workload
  std::vector<std::int64_t> speeds;           // by row of the workload: permille of its curve
  std::vector<std::optional<Time>> finished;  // by row: when it finished, live
  schedule::RescaleCost planned_cost;
  schedule::RescaleCost measured_cost;  // the mean of what starts took
  std::int64_t starts = 0;              // that were measured
  TenantTable tenants;                  // as they were last
};

Result<LiveHistory> read_live_history(const std::filesystem::path& log);

// How well finish times were foretold: the difference as a share of the time from submission to finish.
struct Foretold {
  std::int64_t jobs = 0;
  double mean_error = 0;
  double worst_error = 0;
};
Foretold compare_finishes(const LiveHistory& live, const std::vector<std::optional<Time>>& played);

// Feeds the events of a live log to the scheduler again and compares the records, byte by byte.
struct Replay {
  std::int64_t events = 0;
  std::int64_t records = 0;
  std::optional<std::string> difference;  // the first, for people
};
Result<Replay> replay(const std::filesystem::path& log);

// Where the scheduler stood at that moment, by the events of the log until then. Nothing when they are
// not all there or lead elsewhere: a log of decisions alone, or of a program that decided otherwise.
struct ReplayedState {
  schedule::State state;
  schedule::CoreConfig config;
};
Result<std::optional<ReplayedState>> replayed_state(const std::filesystem::path& log, Time moment);

}  // namespace weir::simulate
