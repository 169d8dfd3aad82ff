// SPDX-License-Identifier: Apache-2.0
#include "control/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "control/sqlite.h"
#include "control/store_backup.h"
#include "control/store_check.h"
#include "control/store_checkpointer.h"
#include "control/store_figures.h"
#include "control/store_lock.h"
#include "control/store_log.h"
#include "control/store_recovery.h"
#include "control/store_retention.h"
#include "control/store_schema.h"
#include "formats/log_codec.h"

namespace weir::control {
namespace {

using Step = SqliteStatement::Step;

// The write-ahead log is copied into the file when it has that many pages: 16 MB.
constexpr int kCheckpointPages = 4000;

std::int64_t to_number(Time time) {
  return time.time_since_epoch().count();
}
Time to_time(std::int64_t number) {
  return Time{Duration{number}};
}

struct Statements {
  SqliteStatement insert_entry, insert_entry_of_job, set_end, insert_job, insert_document,
      insert_key, set_view, get_phase, set_phase_and_view, set_totals, set_clock, get_setting,
      set_setting;
};

Result<Statements> prepare_statements(SqliteConnection& connection) {
  Statements all;
  const std::pair<SqliteStatement*, const char*> texts[] = {
      {&all.insert_entry, "INSERT INTO log VALUES (?, ?, ?, ?, ?)"},
      // A store whose damage an older version accepted still has rows of the lost entries, and new ones take their
      // numbers. The same pair twice says the same.
      {&all.insert_entry_of_job, "INSERT OR IGNORE INTO log_by_job VALUES (?, ?)"},
      {&all.set_end, "UPDATE log_end SET entry = ?, record = ?, chain = ?"},
      {&all.insert_job, "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?)"},
      {&all.insert_document, "INSERT INTO documents VALUES (?, ?, ?, ?, ?)"},
      {&all.insert_key, "INSERT INTO keys VALUES (?, ?, ?)"},
      // The index of phases is left alone unless the phase is another.
      {&all.set_view,
       "UPDATE jobs SET changed = ?3, view = ?4, checksum = ?5, revision = ?6 WHERE id = ?1 AND "
       "phase = ?2"},
      {&all.get_phase, "SELECT phase FROM jobs WHERE id = ?"},
      {&all.set_phase_and_view,
       "UPDATE jobs SET phase = ?2, changed = ?3, view = ?4, checksum = ?5, revision = ?6 WHERE id "
       "= ?1"},
      {&all.set_totals, "UPDATE totals SET revision = ?, kept = ?, broken = ?, refused = ?"},
      {&all.set_clock, "INSERT OR REPLACE INTO clock VALUES (1, ?, ?, ?, ?)"},
      {&all.get_setting, "SELECT value FROM settings WHERE name = ?"},
      {&all.set_setting, "INSERT OR REPLACE INTO settings VALUES (?, ?)"},
  };
  for (const auto& [statement, sql] : texts) {
    auto prepared = connection.prepare(sql);
    if (!prepared) return tl::unexpected{std::move(prepared).error()};
    *statement = std::move(*prepared);
  }
  return all;
}

std::string random_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

tl::unexpected<Error> refused(const std::filesystem::path& file, std::string field,
                              std::string found, std::string expected) {
  Diagnostics details;
  details.add({file.string(), 0, std::move(field), std::move(found), std::move(expected)});
  return tl::unexpected{Error{ErrorCode::failure, std::move(details)}};
}

// Only its owner may read a new store: it holds what users submit.
void make_private_file(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor >= 0) ::close(descriptor);
}

class SqliteStore final : public Store {
 public:
  SqliteStore(const StoreOptions& options, StoreLock lock, SqliteConnection connection)
      : options_{options}, lock_{std::move(lock)}, connection_{std::move(connection)} {}

  Result<void> start() {
    const auto is_there = has_schema(connection_);
    if (!is_there) return unreadable(is_there.error());
    if (!*is_there && !options_.accepts_damage && lock_.mark_found()) {
      if (auto gone = refuse_if_gone(*lock_.mark_found())) return tl::unexpected{*gone};
    }
    if (auto set = set_up_connection(connection_); !set) return unreadable(set.error());
    if (auto migrated = bring_up_to_date(connection_); !migrated)
      return unreadable(migrated.error());
    auto statements = prepare_statements(connection_);
    if (!statements) return tl::unexpected{std::move(statements).error()};
    statements_ = std::move(*statements);
    auto figures = FigureWriter::prepare(connection_);
    if (!figures) return tl::unexpected{std::move(figures).error()};
    figures_ = std::move(*figures);
    if (auto named = give_id(); !named) return named;
    // The tables and the id are then in the file itself, also when the write-ahead log is lost.
    if (!*is_there) checkpoint_what_is_possible(connection_);
    auto report = check_store(connection_, options_, id_, lock_.mark_found());
    if (!report) return unreadable(report.error());
    if (auto refusal = control::refusal(*report, options_)) return tl::unexpected{*refusal};
    damage_ = report->lost;
    damage_.insert(damage_.end(), report->beside_log.begin(), report->beside_log.end());
    ends_ = report->ends;
    auto totals = read_totals();
    if (!totals) return tl::unexpected{std::move(totals).error()};
    totals_ = std::move(*totals);
    if (auto ended = settle_end(*report); !ended) return ended;
    lock_.mark(id_, ends_.end.entry, ends_.end_chain.number());
    sqlite3_wal_hook(connection_.handle(), &SqliteStore::remember_wal_pages, this);
    if (options_.checkpoints_in_background) {
      auto checkpointer = StoreCheckpointer::start(options_);
      if (!checkpointer) return tl::unexpected{std::move(checkpointer).error()};
      checkpointer_ = std::move(*checkpointer);
    }
    return {};
  }

  std::optional<std::string> setting(std::string_view name) override {
    const std::lock_guard lock{mutex_};
    return read_setting(name);
  }

  Result<void> set_setting(std::string_view name, std::string_view value) override {
    const std::lock_guard lock{mutex_};
    return write_setting(name, value);
  }

  Result<Recovery> recover(schedule::State initial) override {
    const std::lock_guard lock{mutex_};
    if (auto cleared = overwrite_failed_commit(); !cleared)
      return tl::unexpected{std::move(cleared).error()};
    auto recovery = recover_state(connection_, std::move(initial), ends_);
    if (!recovery) return recovery;
    if (recovery->end.entry != ends_.end.entry || recovery->end.record != ends_.end.record)
      return refused(options_.file, "log", fmt::format("ending at entry {}", recovery->end.entry),
                     fmt::format("entry {}: restore a backup", ends_.end.entry));
    recovery->damage.insert(recovery->damage.begin(), damage_.begin(), damage_.end());
    auto clock = read_clock();
    if (!clock) return tl::unexpected{std::move(clock).error()};
    recovery->clock = std::move(*clock);
    return recovery;
  }

  Result<void> commit(const Batch& batch) override {
    const std::lock_guard lock{mutex_};
    if (must_recover_)
      return refused(options_.file, "commit", "after a failed one", "recover() first");
    LogEnds after = ends_;
    StoreTotals totals = totals_;
    auto committed = write(batch, after, totals);
    if (!committed) {
      must_recover_ = true;
      return committed;
    }
    ends_ = after;
    totals_ = std::move(totals);
    lock_.mark(id_, ends_.end.entry, ends_.end_chain.number());
    checkpoint_if_large();
    return {};
  }

  LogPosition end() const override {
    const std::lock_guard lock{mutex_};
    return ends_.end;
  }

  StoreTotals totals() const override {
    const std::lock_guard lock{mutex_};
    return totals_;
  }

  Result<void> save_snapshot(std::uint64_t entry, std::string_view snapshot) override {
    const std::lock_guard lock{mutex_};
    if (snapshot.empty())
      return refused(options_.file, "snapshot", "empty", "a state for training jobs");
    auto transaction = SqliteTransaction::begin(connection_);
    if (!transaction) return tl::unexpected{std::move(transaction).error()};
    if (auto saved = insert_snapshot(entry, snapshot); !saved) return saved;
    if (auto deleted =
            connection_.execute("DELETE FROM snapshots WHERE entry NOT IN "
                                "(SELECT entry FROM snapshots ORDER BY entry DESC LIMIT 2)",
                                "save snapshot");
        !deleted)
      return deleted;
    auto committed = transaction->commit();
    if (committed) checkpoint_if_large();
    return committed;
  }

  Result<void> backup(const std::filesystem::path& to) override {
    return back_up(options_, to, random_id());
  }

  Result<std::vector<JobId>> forget_before(Time time, std::size_t most_entries) override {
    const std::lock_guard lock{mutex_};
    if (must_recover_)
      return refused(options_.file, "forget", "after a failed commit", "recover() first");
    auto transaction = SqliteTransaction::begin(connection_);
    if (!transaction) return tl::unexpected{std::move(transaction).error()};
    auto forgotten = control::forget_before(connection_, ends_, time, most_entries);
    if (!forgotten) return tl::unexpected{std::move(forgotten).error()};
    if (auto committed = transaction->commit(); !committed)
      return tl::unexpected{std::move(committed).error()};
    ends_.before = forgotten->before;
    ends_.link_before = forgotten->link_before;
    for (const std::string& phase : forgotten->phases) count_phase(totals_, phase, -1);
    checkpoint_if_large();
    return std::move(forgotten->jobs);
  }

  std::uint64_t size_bytes() const override {
    std::uint64_t sum = 0;
    for (const char* part : {"", "-wal"}) {
      std::filesystem::path file = options_.file;
      file += part;
      std::error_code error;
      const auto size = std::filesystem::file_size(file, error);
      if (!error) sum += size;
    }
    return sum;
  }

 private:
  static int remember_wal_pages(void* store, sqlite3*, const char*, int pages) {
    static_cast<SqliteStore*>(store)->wal_pages_ = pages;
    return SQLITE_OK;
  }

  // An error of the file as a whole: what is lost is known from the lock alone.
  tl::unexpected<Error> unreadable(Error error) const {
    const auto& mark = lock_.mark_found();
    if (error.code == ErrorCode::failure && mark && mark->entry > 0)
      error.details.add({options_.file.string(), 0, "log",
                         fmt::format("without entries up to {}: the file is damaged", mark->entry),
                         "every entry: restore a backup"});
    return tl::unexpected{std::move(error)};
  }

  // There is no store, but there was one.
  std::optional<Error> refuse_if_gone(const CommittedMark& mark) const {
    if (mark.entry == 0) return std::nullopt;
    Diagnostics details;
    details.add({options_.file.string(), 0, "log",
                 fmt::format("without entries 1 to {}: the store is gone", mark.entry),
                 fmt::format("the file that was here: restore a backup, or remove {}.lock to begin "
                             "anew",
                             options_.file.filename().string())});
    return Error{ErrorCode::failure, std::move(details)};
  }

  std::optional<std::string> read_setting(std::string_view name) {
    const ResetAtEnd reset{statements_.get_setting};
    if (statements_.get_setting.bind_text(1, name).step() != Step::row) return std::nullopt;
    return statements_.get_setting.text(0);
  }

  Result<void> write_setting(std::string_view name, std::string_view value) {
    if (!statements_.set_setting.bind_text(1, name).bind_text(2, value).run())
      return tl::unexpected{connection_.error("set " + std::string{name})};
    return {};
  }

  // A copy of a store is another store: the lock's mark is not about it.
  Result<void> give_id() {
    if (const auto known = read_setting(kStoreId)) {
      id_ = *known;
      return {};
    }
    id_ = random_id();
    return write_setting(kStoreId, id_);
  }

  // After a loss at the end that was accepted: the log goes on from what is there, or from a
  // snapshot that knows more.
  Result<void> settle_end(const CheckReport& report) {
    if (report.lost.empty()) return {};
    auto rows = connection_.prepare(
        "SELECT entry, record, chain FROM snapshots WHERE entry = ? AND entry > ?");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    if (rows->bind(1, report.snapshot_entry).bind(2, ends_.end.entry).step() == Step::row) {
      ends_.end = {rows->number(0), rows->number(1)};
      ends_.end_chain = Chain::of(rows->number(2));
    }
    rows->reset();
    // Entries that come now have the numbers of those that are gone, perhaps about the same jobs.
    auto gone = connection_.prepare("DELETE FROM log_by_job WHERE entry > ?");
    if (!gone) return tl::unexpected{std::move(gone).error()};
    if (!gone->bind(1, ends_.end.entry).run())
      return tl::unexpected{connection_.error("forget lost entries")};
    return write_end(ends_);
  }

  Result<void> write_end(const LogEnds& ends) {
    if (!statements_.set_end.bind(1, ends.end.entry)
             .bind(2, ends.end.record)
             .bind(3, ends.end_chain.number())
             .run())
      return tl::unexpected{connection_.error("commit")};
    return {};
  }

  // Pages of a commit that failed may still stand in the write-ahead log, complete, and would count
  // after a power loss. A commit in their place makes them void.
  Result<void> overwrite_failed_commit() {
    if (!must_recover_) return {};
    if (auto written = write_setting("last_failed_commit", std::to_string(ends_.end.entry + 1));
        !written)
      return written;
    must_recover_ = false;
    return {};
  }

  Result<std::optional<ClockMark>> read_clock() {
    auto rows = connection_.prepare("SELECT boot_id, boottime, now, wall_ahead FROM clock");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const Step step = rows->step();
    if (step == Step::failed) return tl::unexpected{connection_.error("read clock")};
    if (step == Step::done) return std::nullopt;
    return ClockMark{rows->text(0), rows->integer(1), to_time(rows->integer(2)),
                     Duration{rows->integer(3)}};
  }

  Result<StoreTotals> read_totals() {
    StoreTotals totals;
    auto row = connection_.prepare("SELECT revision, kept, broken, refused FROM totals");
    if (!row) return tl::unexpected{std::move(row).error()};
    if (row->step() != Step::row) return tl::unexpected{connection_.error("read totals")};
    totals.revision = row->number(0);
    totals.promises = {row->integer(1), row->integer(2), row->integer(3)};
    row->reset();
    auto phases = connection_.prepare("SELECT phase, count(*) FROM jobs GROUP BY phase");
    if (!phases) return tl::unexpected{std::move(phases).error()};
    Step step = phases->step();
    for (; step == Step::row; step = phases->step())
      totals.by_phase[phases->text(0)] = phases->integer(1);
    if (step == Step::failed) return tl::unexpected{connection_.error("count jobs")};
    return totals;
  }

  static void count_phase(StoreTotals& totals, const std::string& phase, std::int64_t by) {
    const auto at = totals.by_phase.try_emplace(phase, 0).first;
    at->second += by;
    if (at->second == 0) totals.by_phase.erase(at);
  }

  // Changes `ends` and `totals` to what they are after the batch.
  Result<void> write(const Batch& batch, LogEnds& ends, StoreTotals& totals) {
    auto transaction = SqliteTransaction::begin(connection_);
    if (!transaction) return tl::unexpected{std::move(transaction).error()};
    const bool is_written =
        write_decisions(batch.decisions, ends) && write_jobs(batch.new_jobs, batch.views, totals) &&
        write_totals(batch.promises, totals) && write_figures(batch) && write_clock(batch.clock);
    if (!is_written) return tl::unexpected{connection_.error("commit")};
    if (!batch.decisions.empty()) {
      if (auto ended = write_end(ends); !ended) return ended;
    }
    return transaction->commit();
  }

  bool write_decisions(const std::vector<Decision>& decisions, LogEnds& ends) {
    for (const Decision& decision : decisions) {
      body_.clear();
      formats::append_event_line(body_, decision.event);
      std::uint64_t number = ends.end.record;
      for (const Record& record : decision.records) {
        body_ += '\n';
        formats::append_record_line(body_, record, ++number, options_.build);
      }
      const LogRow row{ends.end.entry + 1, to_number(decision.event.at), ends.end.record + 1,
                       body_};
      const std::uint32_t content = content_checksum(row);
      const Chain chain{content, next_link(ends.end_chain.link, content)};
      if (!statements_.insert_entry.bind(1, row.entry)
               .bind(2, row.at)
               .bind(3, row.first_record)
               .bind_blob(4, row.body)
               .bind(5, chain.number())
               .run())
        return false;
      for (const JobId job : jobs_of(decision.records)) {
        if (!statements_.insert_entry_of_job.bind(1, job.value).bind(2, row.entry).run())
          return false;
      }
      ends.end = {row.entry, number};
      ends.end_chain = chain;
    }
    return true;
  }

  bool write_jobs(const std::vector<NewJob>& new_jobs, const std::vector<JobView>& views,
                  StoreTotals& totals) {
    std::unordered_map<JobId, const JobView*> latest;
    latest.reserve(views.size());
    for (const JobView& view : views) latest[view.job] = &view;
    for (const NewJob& job : new_jobs) {
      const auto view = latest.find(job.job);
      if (!insert_job(job, view == latest.end() ? nullptr : view->second, totals)) return false;
      if (view != latest.end()) view->second = nullptr;
    }
    for (const JobView& view : views) {
      if (latest[view.job] == &view && !write_view(view, totals)) return false;
    }
    return true;
  }

  bool insert_job(const NewJob& job, const JobView* view, StoreTotals& totals) {
    statements_.insert_job.bind(1, job.job.value).bind_text(2, job.name);
    if (view != nullptr) {
      statements_.insert_job.bind_text(3, view->phase).bind(4, to_number(view->changed));
      statements_.insert_job.bind_blob(5, view->json);
      statements_.insert_job.bind(6, std::uint64_t{checksum_of(view->json)});
    } else {
      statements_.insert_job.bind_text(3, "").bind(4, std::int64_t{0}).bind_null(5);
      statements_.insert_job.bind(6, std::int64_t{0});
    }
    statements_.insert_job.bind(7, ++totals.revision);
    count_phase(totals, view != nullptr ? view->phase : std::string{}, 1);
    if (!statements_.insert_job.run()) return false;
    statements_.insert_document.bind(1, job.job.value).bind_blob(2, job.document);
    const bool has_key = !job.idempotency_key.empty();
    if (has_key) {
      statements_.insert_document.bind_text(3, job.idempotency_key)
          .bind_text(4, job.request_digest);
    } else {
      statements_.insert_document.bind_null(3).bind_null(4);
    }
    statements_.insert_document.bind(5, std::uint64_t{checksum_of(job.document)});
    if (!statements_.insert_document.run()) return false;
    return !has_key || statements_.insert_key.bind(1, key_bucket(job.job))
                           .bind(2, std::uint64_t{checksum_of(job.idempotency_key)})
                           .bind(3, job.job.value)
                           .run();
  }

  bool write_view(const JobView& view, StoreTotals& totals) {
    ++totals.revision;
    if (!run_with_view(statements_.set_view, view, totals.revision)) return false;
    if (connection_.changes() > 0) return true;
    std::string phase;
    {
      const ResetAtEnd reset{statements_.get_phase};
      const Step step = statements_.get_phase.bind(1, view.job.value).step();
      if (step != Step::row) return step == Step::done;  // there is no such job
      phase = statements_.get_phase.text(0);
    }
    count_phase(totals, phase, -1);
    count_phase(totals, view.phase, 1);
    return run_with_view(statements_.set_phase_and_view, view, totals.revision);
  }

  static bool run_with_view(SqliteStatement& statement, const JobView& view,
                            std::uint64_t revision) {
    statement.bind(1, view.job.value).bind_text(2, view.phase).bind(3, to_number(view.changed));
    statement.bind_blob(4, view.json).bind(5, std::uint64_t{checksum_of(view.json)});
    return statement.bind(6, revision).run();
  }

  bool write_totals(const PromiseCounts& added, StoreTotals& totals) {
    totals.promises.kept += added.kept;
    totals.promises.broken += added.broken;
    totals.promises.refused += added.refused;
    if (totals == totals_) return true;
    return statements_.set_totals.bind(1, totals.revision)
        .bind(2, totals.promises.kept)
        .bind(3, totals.promises.broken)
        .bind(4, totals.promises.refused)
        .run();
  }

  bool write_figures(const Batch& batch) {
    if (!figures_.write(batch.progress)) return false;
    for (const JobId job : batch.to_thin_out) {
      if (!figures_.thin_out(job)) return false;
    }
    return !batch.sample || figures_.write(*batch.sample);
  }

  bool write_clock(const std::optional<ClockMark>& clock) {
    if (!clock) return true;
    return statements_.set_clock.bind_text(1, clock->boot_id)
        .bind(2, clock->boottime_ns)
        .bind(3, to_number(clock->now))
        .bind(4, clock->wall_ahead.count())
        .run();
  }

  Result<void> insert_snapshot(std::uint64_t entry, std::string_view snapshot) {
    auto row = connection_.prepare("SELECT first_record, body, chain FROM log WHERE entry = ?");
    if (!row) return tl::unexpected{std::move(row).error()};
    const ResetAtEnd reset{*row};
    const Step step = row->bind(1, entry).step();
    if (step == Step::failed) return tl::unexpected{connection_.error("save snapshot")};
    if (step == Step::done)
      return refused(options_.file, "snapshot", fmt::format("of entry {}", entry),
                     "an entry of the log");
    auto insert = connection_.prepare("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)");
    if (!insert) return tl::unexpected{std::move(insert).error()};
    if (!insert->bind(1, entry)
             .bind(2, row->number(0) + record_count(row->bytes(1)) - 1)
             .bind(3, row->number(2))
             .bind_blob(4, snapshot)
             .bind(5, std::uint64_t{checksum_of(snapshot)})
             .run())
      return tl::unexpected{connection_.error("save snapshot")};
    return {};
  }

  void checkpoint_if_large() {
    if (!checkpointer_) {
      if (wal_pages_ >= kCheckpointPages) checkpoint_what_is_possible(connection_);
      return;
    }
    if (checkpointer_->take_done()) {
      checkpoint_what_is_possible(connection_);
    } else if (wal_pages_ >= kCheckpointPages) {
      checkpointer_->request();
    }
  }

  const StoreOptions options_;
  mutable std::mutex mutex_;  // of all below
  StoreLock lock_;
  SqliteConnection connection_;
  Statements statements_;
  FigureWriter figures_;
  std::unique_ptr<StoreCheckpointer> checkpointer_;
  std::string id_;
  LogEnds ends_;
  StoreTotals totals_;
  std::vector<Damage> damage_;
  std::string body_;
  int wal_pages_ = 0;
  bool must_recover_ = false;
};

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const StoreOptions& options) {
  auto lock = StoreLock::take(options.file);
  if (!lock) return tl::unexpected{std::move(lock).error()};
  make_private_file(options.file);
  auto connection = SqliteConnection::open(options.file, options.vfs, Access::read_write_create);
  if (!connection) return tl::unexpected{std::move(connection).error()};
  auto store = std::make_unique<SqliteStore>(options, std::move(*lock), std::move(*connection));
  if (auto started = store->start(); !started) return tl::unexpected{std::move(started).error()};
  return store;
}

}  // namespace weir::control
