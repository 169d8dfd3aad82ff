// SPDX-License-Identifier: Apache-2.0
//
// What the control plane must not forget, in one SQLite file: every event with the records that
// followed from it, snapshots of the scheduler's state, and each job as the API shows it. One writer
// (Store), any number of readers on other threads (StoreReader).
//
// A batch is durable when commit() returns, or nothing of it happened. Each entry of the log carries
// a checksum that covers its predecessor's, so a hole, a change or a swap is found at the next start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/cluster_history.h"
#include "control/job_status.h"
#include "control/progress_points.h"
#include "control/snapshot.h"
#include "domain/event.h"
#include "domain/record.h"
#include "domain/result.h"
#include "schedule/core/state.h"

namespace weir::control {

struct StoreOptions {
  std::filesystem::path file;
  std::string build;  // the version of the program, written into records
  std::string vfs;    // SQLite's file layer; empty: the usual one. Tests drop unsynced writes.
  bool accepts_damage = false;  // open although entries are lost, where the state is still certain
  // Copies committed pages into the file on a thread of its own. Otherwise commit() does it.
  bool checkpoints_in_background = true;
};

// An event and what was decided on it: one entry of the log.
struct Decision {
  Event event;
  std::vector<Record> records;
};

// A job the core has just accepted (or refused), with what the core does not need to know.
struct NewJob {
  JobId job;
  std::string name;
  std::string document;  // JSON: the job as submitted
  // Empty: none. Look it up first (find_key): the store does not refuse one that is used twice.
  std::string idempotency_key;
  std::string request_digest;  // of the request that used the key
};

// A job as the API shows it; replaces what was there.
struct JobView {
  JobId job;
  std::string phase;  // "running", "finished", ...; jobs are filtered by it
  Time changed;
  std::string json;
};

// What the clocks said at the commit, to go on without a jump after a restart.
struct ClockMark {
  std::string boot_id;
  std::int64_t boottime_ns = 0;  // CLOCK_BOOTTIME
  Time now;                      // the scheduler's time
  Duration wall_ahead{0};        // wall clock minus scheduler's time
};

struct Batch {
  std::vector<Decision> decisions;
  std::vector<NewJob> new_jobs;
  std::vector<JobView> views;
  PromiseCounts promises;               // of jobs that are over with this batch
  std::vector<ProgressPoint> progress;  // one for a job and moment; a later one replaces it
  std::vector<JobId> to_thin_out;       // jobs with too many points
  std::optional<ClusterSample> sample;
  std::optional<ClockMark> clock;
};

// What is counted as the store is written, so that nobody has to count it again.
struct StoreTotals {
  std::uint64_t revision = 0;                    // the greatest that a view has had
  PromiseCounts promises;                        // since the store was made
  std::map<std::string, std::int64_t> by_phase;  // jobs in the store
  friend bool operator==(const StoreTotals&, const StoreTotals&) = default;
};

// Where a record stands: the entry's number, and the record's own.
struct LogPosition {
  std::uint64_t entry = 0;   // of the last entry; 0: none
  std::uint64_t record = 0;  // of the last record; 0: none
};

// Entries that cannot be read any more.
struct Damage {
  std::uint64_t first_entry = 0;
  std::uint64_t last_entry = 0;
  std::string what;  // for people
};

// What a start found.
struct Recovery {
  schedule::State state;
  LogPosition end;
  std::optional<ClockMark> clock;
  std::uint64_t snapshot_entry = 0;  // 0: folded from the beginning
  std::uint64_t jobs = 0;
  std::uint64_t records_folded = 0;  // after the snapshot
  // Lost entries only with accepts_damage. A damaged snapshot that was passed over is told always,
  // with first_entry 0.
  std::vector<Damage> damage;
};

class Store {
 public:
  // Makes the file when there is none; brings an older schema up to date. Checks all of it: an error
  // lists every damaged range.
  static Result<std::unique_ptr<Store>> open(const StoreOptions& options);
  virtual ~Store() = default;

  // Small facts kept beside the log: the cluster, the policy. Set ones are durable at once.
  virtual std::optional<std::string> setting(std::string_view name) = 0;
  virtual Result<void> set_setting(std::string_view name, std::string_view value) = 0;

  // `initial` is the state before the first entry. Never re-decides.
  virtual Result<Recovery> recover(schedule::State initial) = 0;

  // Durable on return. On an error nothing of the batch is in the store, and the caller must
  // recover() before it goes on. ErrorCode::unavailable: the disk is full or read-only, try later.
  virtual Result<void> commit(const Batch& batch) = 0;
  virtual LogPosition end() const = 0;
  virtual StoreTotals totals() const = 0;

  // `state` is the state after `entry`. May be given later than other commits. Keeps the two latest.
  virtual Result<void> save_snapshot(std::uint64_t entry, std::string_view snapshot) = 0;

  // A consistent copy, while the store is in use. Refuses an existing file.
  virtual Result<void> backup(const std::filesystem::path& to) = 0;

  // Forgets entries and ended jobs that are older than that, and no more than `most_entries` at a
  // time so that the loop is not held up. Never what the latest snapshot does not cover. Returns the
  // jobs that are gone.
  virtual Result<std::vector<JobId>> forget_before(Time time, std::size_t most_entries) = 0;

  virtual std::uint64_t size_bytes() const = 0;
};

struct JobQuery {
  std::uint64_t after = 0;  // ids above it, ascending; with newest_first ids below it, descending
  std::size_t limit = 100;
  std::string phase;  // empty: any
  std::string name;   // empty: any
  bool newest_first = false;
  // Instead of all that: the views written after that revision, in the order of their revisions.
  std::optional<std::uint64_t> changed_after;
};

struct StoredEntry {
  std::uint64_t entry = 0;
  std::uint64_t first_record = 0;  // the number of its first record
  Decision decision;
};

// The log's own lines (formats/log_codec.h), not taken apart.
struct RawEntry {
  std::uint64_t entry = 0;
  std::string event_line;
  std::vector<std::string> record_lines;
};

// One thread at a time. Sees what is committed.
// How many entries whoever follows the log reads at once.
inline constexpr std::size_t kEntriesAtOnce = 256;

class StoreReader {
 public:
  static Result<std::unique_ptr<StoreReader>> open(const StoreOptions& options);
  virtual ~StoreReader() = default;

  virtual Result<std::optional<std::string>> job_view(JobId job) = 0;
  virtual Result<std::optional<std::string>> job_document(JobId job) = 0;
  struct UsedKey {
    JobId job;
    std::string request_digest;
  };
  virtual Result<std::optional<UsedKey>> find_key(std::string_view idempotency_key) = 0;
  // checksum_of each key that is used (store_log.h).
  virtual Result<std::vector<std::uint32_t>> key_checksums() = 0;
  // The views, each a JSON object, and the id of the last one; with changed_after its revision.
  struct Page {
    std::vector<std::string> views;
    std::uint64_t last = 0;
    bool has_more = false;
    std::uint64_t revision = 0;  // the greatest in the store when the page was read
  };
  virtual Result<Page> jobs(const JobQuery& query) = 0;
  virtual Result<std::optional<std::string>> setting(std::string_view name) = 0;
  // The latest job of that name.
  virtual Result<std::optional<JobId>> job_named(std::string_view name) = 0;
  virtual Result<std::map<std::string, std::int64_t>> count_by_phase() = 0;

  // In the order of time, on the wall clock.
  virtual Result<std::vector<ProgressPoint>> progress(JobId job) = 0;
  virtual Result<std::size_t> count_progress(JobId job) = 0;
  // The rows of that step that begin from `from` to `to`, in seconds since 1970; in order.
  virtual Result<std::vector<HistoryRow>> history(std::int64_t step, std::int64_t from,
                                                  std::int64_t to) = 0;

  // Entries after that one, in order.
  virtual Result<std::vector<RawEntry>> entries(std::uint64_t after, std::size_t limit) = 0;
  // The first entry whose records are numbered above `record`.
  virtual Result<std::optional<std::uint64_t>> entry_after_record(std::uint64_t record) = 0;
  // Entries with a record about the job, in order.
  virtual Result<std::vector<RawEntry>> entries_of(JobId job, std::size_t limit) = 0;
};

}  // namespace weir::control
