// SPDX-License-Identifier: Apache-2.0
//
// The tables of the store, and how an older store becomes one of today.
//
//   log         every entry; never changed, only cut off at the beginning
//   log_begin   the entry before the first one kept: its numbers and link
//   log_end     the last entry: a log that was cut at its end does not match it
//   log_by_job  which entries have a record about a job
//   jobs        each job as the API shows it; `revision` grows with every view that is written
//   documents   each job as submitted, with its idempotency key
//   keys        jobs by the checksum of their idempotency key, in buckets of neighbours: keys are
//               random, and one index of them all would change a page for every submission
//   snapshots   the two latest
//   settings    small facts
//   clock       what the clocks said at the last commit
//   totals      the greatest revision, and what became of promises since the store was made
//   progress    how jobs went on, a few hundred points each
//   history     the cluster's figures over time, in coarser steps the longer ago
#pragma once

#include "control/sqlite.h"
#include "domain/ids.h"
#include "domain/result.h"

namespace weir::control {

inline constexpr std::int64_t kApplicationId = 0x77656972;  // "weir"
inline constexpr std::int64_t kSchemaVersion = 3;

// Which bucket of `keys` a job's key is in.
constexpr std::uint64_t key_bucket(JobId job) {
  return job.value >> 12U;
}

// Settings of the connection: they are not kept in the file.
Result<void> set_up_connection(SqliteConnection& connection);

// An error when the file is something else, or of a newer weir. True when there are tables.
Result<bool> has_schema(SqliteConnection& connection);

// Makes the tables, or brings older ones up to date, one version at a time, each in one transaction.
Result<void> bring_up_to_date(SqliteConnection& connection);

// A store as the version-1 program made it, for tests of the upgrade.
Result<void> create_version_1(SqliteConnection& connection);

}  // namespace weir::control
