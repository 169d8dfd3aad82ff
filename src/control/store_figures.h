// SPDX-License-Identifier: Apache-2.0
//
// Writes what charts are made of: the progress of jobs and the history of the cluster.
#pragma once

#include <vector>

#include "control/cluster_history.h"
#include "control/progress_points.h"
#include "control/sqlite.h"

namespace weir::control {

class FigureWriter {
 public:
  // Requires: the connection outlives it.
  static Result<FigureWriter> prepare(SqliteConnection& connection);

  // Each inside a transaction of the caller's; false on an error, which the connection knows.
  [[nodiscard]] bool write(const std::vector<ProgressPoint>& points);
  [[nodiscard]] bool thin_out(JobId job);
  // Into one row of each resolution; rows that are too old go.
  [[nodiscard]] bool write(const ClusterSample& sample);

 private:
  [[nodiscard]] bool add_to_row(std::int64_t step, const ClusterSample& sample);

  SqliteStatement insert_point_, points_, drop_point_, row_, set_row_, drop_rows_;
};

// From the columns samples, gpus_up, ... of a row, the first of which is `column`.
inline constexpr const char* kHistoryColumns =
    "samples, gpus_up, gpus_in_use, gpus_fragmented, running, waiting, open, at_risk, kept, "
    "broken, "
    "refused";
HistoryRow history_row(const SqliteStatement& row, std::int64_t at, int column);

// From the columns gpus, done, rate, loss, the first of which is `column`.
ProgressPoint progress_point(const SqliteStatement& row, JobId job, Time at, int column);

}  // namespace weir::control
