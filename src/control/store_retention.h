// SPDX-License-Identifier: Apache-2.0
//
// Forgetting: the beginning of the log is cut off, a bounded piece at a time, and with it the jobs
// that ended there. What the older of the kept snapshots does not cover stays, so that a start can
// still do without the newer one.
#pragma once

#include <string>
#include <vector>

#include "control/sqlite.h"
#include "control/store_check.h"

namespace weir::control {

struct Forgotten {
  std::vector<JobId> jobs;
  std::vector<std::string> phases;  // of those that were in the store
  LogPosition before;               // where the log begins now
  std::uint32_t link_before = 0;
};

// Inside a transaction of the caller's.
Result<Forgotten> forget_before(SqliteConnection& connection, const LogEnds& ends, Time time,
                                std::size_t most_entries);

}  // namespace weir::control
