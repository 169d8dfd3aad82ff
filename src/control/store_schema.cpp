// SPDX-License-Identifier: Apache-2.0
#include "control/store_schema.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "control/job_status.h"
#include "control/store_log.h"
#include "formats/log_codec.h"

namespace weir::control {
namespace {

constexpr const char* kVersion1 = R"(
CREATE TABLE log(
  entry INTEGER PRIMARY KEY, at INTEGER NOT NULL, first_record INTEGER NOT NULL,
  body BLOB NOT NULL, chain INTEGER NOT NULL) STRICT;
CREATE TABLE log_begin(
  id INTEGER PRIMARY KEY CHECK (id = 1), entry INTEGER NOT NULL, record INTEGER NOT NULL,
  link INTEGER NOT NULL) STRICT;
INSERT INTO log_begin VALUES (1, 0, 0, 0);
CREATE TABLE jobs(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, phase TEXT NOT NULL, changed INTEGER NOT NULL,
  view BLOB, checksum INTEGER NOT NULL) STRICT;
CREATE INDEX jobs_by_phase ON jobs(phase);
CREATE INDEX jobs_by_name ON jobs(name);
CREATE TABLE documents(
  id INTEGER PRIMARY KEY, document BLOB NOT NULL, key TEXT, digest TEXT,
  checksum INTEGER NOT NULL) STRICT;
CREATE TABLE keys(
  bucket INTEGER NOT NULL, key_checksum INTEGER NOT NULL, job INTEGER NOT NULL,
  PRIMARY KEY (bucket, key_checksum, job)) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots(
  entry INTEGER PRIMARY KEY, record INTEGER NOT NULL, chain INTEGER NOT NULL,
  bytes BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT;
CREATE TABLE settings(
  name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE clock(
  id INTEGER PRIMARY KEY CHECK (id = 1), boot_id TEXT NOT NULL, boottime INTEGER NOT NULL,
  now INTEGER NOT NULL, wall_ahead INTEGER NOT NULL) STRICT;
)";

constexpr const char* kVersion2 = R"(
CREATE TABLE log_end(
  id INTEGER PRIMARY KEY CHECK (id = 1), entry INTEGER NOT NULL, record INTEGER NOT NULL,
  chain INTEGER NOT NULL) STRICT;
CREATE TABLE log_by_job(
  job INTEGER NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (job, entry)) STRICT, WITHOUT ROWID;
)";

// A job's first revision is its number: all differ, and later ones are greater.
constexpr const char* kVersion3 = R"(
ALTER TABLE jobs ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET revision = id;
CREATE UNIQUE INDEX jobs_by_revision ON jobs(revision);
CREATE TABLE totals(
  id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL, kept INTEGER NOT NULL,
  broken INTEGER NOT NULL, refused INTEGER NOT NULL) STRICT;
INSERT INTO totals SELECT 1, coalesce(max(id), 0), 0, 0, 0 FROM jobs;
CREATE TABLE progress(
  job INTEGER NOT NULL, at INTEGER NOT NULL, gpus INTEGER NOT NULL, done INTEGER NOT NULL,
  rate REAL, loss REAL, PRIMARY KEY (job, at)) STRICT, WITHOUT ROWID;
CREATE TABLE history(
  step INTEGER NOT NULL, at INTEGER NOT NULL, samples INTEGER NOT NULL, gpus_up REAL NOT NULL,
  gpus_in_use REAL NOT NULL, gpus_fragmented REAL NOT NULL, running REAL NOT NULL,
  waiting REAL NOT NULL, open REAL NOT NULL, at_risk REAL NOT NULL, kept INTEGER NOT NULL,
  broken INTEGER NOT NULL, refused INTEGER NOT NULL, PRIMARY KEY (step, at)) STRICT, WITHOUT ROWID;
)";

Result<void> create_tables(SqliteConnection& connection) {
  return connection.execute(kVersion1, "schema 1");
}

// Version 1 had no second place for the end of the log, and no entries by job.
Result<void> add_end_and_entries_by_job(SqliteConnection& connection) {
  if (auto made = connection.execute(kVersion2, "schema 2"); !made) return made;
  auto rows = connection.prepare("SELECT entry, first_record, body, chain FROM log ORDER BY entry");
  if (!rows) return tl::unexpected{std::move(rows).error()};
  auto insert = connection.prepare("INSERT INTO log_by_job VALUES (?, ?)");
  if (!insert) return tl::unexpected{std::move(insert).error()};
  auto set_end = connection.prepare(
      "INSERT INTO log_end SELECT 1, entry, record, link << 32 FROM log_begin WHERE ?1 = 0 UNION "
      "ALL SELECT 1, ?1, ?2, ?3 WHERE ?1 > 0");
  if (!set_end) return tl::unexpected{std::move(set_end).error()};
  std::uint64_t last_entry = 0;
  std::uint64_t last_record = 0;
  std::uint64_t last_chain = 0;
  SqliteStatement::Step step = rows->step();
  for (; step == SqliteStatement::Step::row; step = rows->step()) {
    const RawEntry raw = raw_entry({rows->number(0), 0, rows->number(1), rows->bytes(2), 0});
    std::vector<Record> records;
    for (const std::string& line : raw.record_lines) {
      auto record = formats::read_record_line(line);
      if (!record) return tl::unexpected{std::move(record).error()};
      records.push_back(std::move(record->record));
    }
    for (const JobId job : jobs_of(records)) {
      if (!insert->bind(1, job.value).bind(2, raw.entry).run())
        return tl::unexpected{connection.error("entries by job")};
    }
    last_entry = raw.entry;
    last_record = rows->number(1) + records.size() - 1;
    last_chain = rows->number(3);
  }
  if (step == SqliteStatement::Step::failed) return tl::unexpected{connection.error("read log")};
  rows->reset();
  if (!set_end->bind(1, last_entry).bind(2, last_record).bind(3, last_chain).run())
    return tl::unexpected{connection.error("end of log")};
  return {};
}

// Version 2 had no revisions, and nothing for charts. What became of promises is counted from the
// jobs that are still there.
Result<void> add_revisions_and_figures(SqliteConnection& connection) {
  if (auto made = connection.execute(kVersion3, "schema 3"); !made) return made;
  auto rows = connection.prepare(
      "SELECT view FROM jobs WHERE view IS NOT NULL AND phase IN "
      "('finished', 'failed', 'cancelled', 'refused')");
  if (!rows) return tl::unexpected{std::move(rows).error()};
  PromiseCounts counts;
  SqliteStatement::Step step = rows->step();
  for (; step == SqliteStatement::Step::row; step = rows->step()) {
    // Damage is found by the check that follows.
    if (const auto status = read_job_status(rows->bytes(0))) count_promise(counts, *status);
  }
  if (step == SqliteStatement::Step::failed) return tl::unexpected{connection.error("read jobs")};
  rows->reset();
  auto set = connection.prepare("UPDATE totals SET kept = ?, broken = ?, refused = ?");
  if (!set) return tl::unexpected{std::move(set).error()};
  if (!set->bind(1, counts.kept).bind(2, counts.broken).bind(3, counts.refused).run())
    return tl::unexpected{connection.error("count promises")};
  return {};
}

// Step n leads from version n to n + 1.
constexpr std::array kSteps = {create_tables, add_end_and_entries_by_job,
                               add_revisions_and_figures};
static_assert(kSteps.size() == kSchemaVersion);

Result<void> take_steps(SqliteConnection& connection, std::size_t from, std::size_t to) {
  for (std::size_t version = from; version < to; ++version) {
    auto transaction = SqliteTransaction::begin(connection);
    if (!transaction) return tl::unexpected{std::move(transaction).error()};
    if (auto taken = kSteps[version](connection); !taken) return taken;
    const std::string mark = fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                         kApplicationId, version + 1);
    if (auto marked = connection.execute(mark.c_str(), "schema version"); !marked) return marked;
    if (auto committed = transaction->commit(); !committed) return committed;
  }
  return {};
}

tl::unexpected<Error> refused(const SqliteConnection& connection, std::string field,
                              std::string found, std::string expected) {
  return bad_input(Diagnostic{connection.file().string(), 0, std::move(field), std::move(found),
                              std::move(expected)});
}

}  // namespace

Result<void> set_up_connection(SqliteConnection& connection) {
  // FULL: a commit is on the disk when it returns. Checkpoints: see store_checkpointer.h.
  return connection.execute(
      "PRAGMA journal_mode = WAL;"
      "PRAGMA synchronous = FULL;"
      "PRAGMA foreign_keys = ON;"
      "PRAGMA wal_autocheckpoint = 0;"
      "PRAGMA journal_size_limit = 67108864;"
      "PRAGMA cache_size = -32768;"
      "PRAGMA temp_store = MEMORY;",
      "set up");
}

Result<bool> has_schema(SqliteConnection& connection) {
  const auto application = connection.integer("PRAGMA application_id");
  if (!application) return tl::unexpected{application.error()};
  const auto version = connection.integer("PRAGMA user_version");
  if (!version) return tl::unexpected{version.error()};
  const auto tables = connection.integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tl::unexpected{tables.error()};
  if (*application == 0 && *version == 0 && *tables == 0) return false;
  if (*application != kApplicationId)
    return refused(connection, "file", "another program's database", "a store made by weir");
  if (*version > kSchemaVersion)
    return refused(connection, "schema version", std::to_string(*version),
                   fmt::format("{} or less: use the newer weir that wrote it", kSchemaVersion));
  return *version > 0;
}

Result<void> bring_up_to_date(SqliteConnection& connection) {
  const auto is_there = has_schema(connection);
  if (!is_there) return tl::unexpected{is_there.error()};
  const auto version = connection.integer("PRAGMA user_version");
  if (!version) return tl::unexpected{version.error()};
  if (*version < 0) return refused(connection, "schema version", "negative", "1 or more");
  if (auto taken = take_steps(connection, static_cast<std::size_t>(*version), kSteps.size());
      !taken)
    return taken;
  // A new store has an end from the start.
  return connection.execute(
      "INSERT OR IGNORE INTO log_end SELECT 1, entry, record, link << 32 FROM log_begin",
      "end of log");
}

Result<void> create_version_1(SqliteConnection& connection) {
  return take_steps(connection, 0, 1);
}

}  // namespace weir::control
