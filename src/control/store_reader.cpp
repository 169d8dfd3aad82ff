// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "control/sqlite.h"
#include "control/store.h"
#include "control/store_figures.h"
#include "control/store_log.h"
#include "control/store_schema.h"

namespace weir::control {
namespace {

using Step = SqliteStatement::Step;

// Several questions to the store as it is at one moment.
class ReadTransaction {
 public:
  explicit ReadTransaction(SqliteConnection& connection) : connection_{connection} {}
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  ~ReadTransaction() {
    if (has_begun_) (void)connection_.execute("COMMIT", "read");
  }
  Result<void> begin(std::string_view doing) {
    auto begun = connection_.execute("BEGIN", doing);
    has_begun_ = begun.has_value();
    return begun;
  }

 private:
  SqliteConnection& connection_;
  bool has_begun_ = false;
};

class SqliteReader final : public StoreReader {
 public:
  explicit SqliteReader(SqliteConnection connection) : connection_{std::move(connection)} {}

  Result<std::optional<std::string>> job_view(JobId job) override {
    return bytes_of("SELECT view, checksum FROM jobs WHERE id = ?", job, "view");
  }

  Result<std::optional<std::string>> job_document(JobId job) override {
    return bytes_of("SELECT document, checksum FROM documents WHERE id = ?", job, "document");
  }

  Result<std::optional<std::string>> setting(std::string_view name) override {
    auto rows = connection_.prepare("SELECT value FROM settings WHERE name = ?");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    rows->bind_text(1, name);
    const Step step = rows->step();
    if (step == Step::failed) return tl::unexpected{connection_.error("read a setting")};
    if (step != Step::row) return std::nullopt;
    return rows->text(0);
  }

  Result<std::optional<UsedKey>> find_key(std::string_view idempotency_key) override {
    // One look into each bucket; the latest first. (Both ends in one SELECT would read them all.)
    auto rows = statement(
        "WITH RECURSIVE buckets(n, first) AS (SELECT (SELECT max(bucket) FROM keys), "
        "(SELECT min(bucket) FROM keys) UNION ALL "
        "SELECT n - 1, first FROM buckets WHERE n > first) "
        "SELECT d.id, d.digest FROM buckets b CROSS JOIN keys k ON k.bucket = b.n AND "
        "k.key_checksum = ?1 CROSS JOIN documents d ON d.id = k.job WHERE d.key = ?2 LIMIT 1");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    const Step step = (*rows)
                          ->bind(1, std::uint64_t{checksum_of(idempotency_key)})
                          .bind_text(2, idempotency_key)
                          .step();
    if (step == Step::failed) return failure("find key");
    if (step == Step::done) return std::nullopt;
    return UsedKey{JobId{(*rows)->number(0)}, (*rows)->text(1)};
  }

  Result<std::vector<std::uint32_t>> key_checksums() override {
    auto rows = statement("SELECT key_checksum FROM keys");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    std::vector<std::uint32_t> checksums;
    Step step = (*rows)->step();
    for (; step == Step::row; step = (*rows)->step())
      checksums.push_back(static_cast<std::uint32_t>((*rows)->number(0)));
    if (step == Step::failed) return failure("list keys");
    return checksums;
  }

  Result<Page> jobs(const JobQuery& query) override {
    ReadTransaction transaction{connection_};
    if (auto begun = transaction.begin("list jobs"); !begun)
      return tl::unexpected{std::move(begun).error()};
    Page page;
    auto revision = number_of("SELECT revision FROM totals");
    if (!revision) return tl::unexpected{std::move(revision).error()};
    page.revision = *revision;
    auto rows = statement(page_sql(query));
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    bind_page(**rows, query);
    page.last = query.changed_after.value_or(query.after);
    Step step = (*rows)->step();
    for (; step == Step::row; step = (*rows)->step()) {
      if (page.views.size() == query.limit) {
        page.has_more = true;
        return page;
      }
      page.last = (*rows)->number(0);
      page.views.push_back((*rows)->text(1));
    }
    if (step == Step::failed) return failure("list jobs");
    return page;
  }

  Result<std::optional<JobId>> job_named(std::string_view name) override {
    auto rows = statement("SELECT id FROM jobs WHERE name = ? ORDER BY id DESC LIMIT 1");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    const Step step = (*rows)->bind_text(1, name).step();
    if (step == Step::failed) return failure("find job");
    if (step == Step::done) return std::nullopt;
    return JobId{(*rows)->number(0)};
  }

  Result<std::map<std::string, std::int64_t>> count_by_phase() override {
    auto rows = statement("SELECT phase, count(*) FROM jobs GROUP BY phase");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    std::map<std::string, std::int64_t> counts;
    Step step = (*rows)->step();
    for (; step == Step::row; step = (*rows)->step())
      counts.emplace((*rows)->text(0), (*rows)->integer(1));
    if (step == Step::failed) return failure("count jobs");
    return counts;
  }

  Result<std::vector<ProgressPoint>> progress(JobId job) override {
    auto rows = statement(
        "SELECT at + (SELECT coalesce(max(wall_ahead), 0) FROM clock), gpus, done, rate, loss FROM "
        "progress WHERE job = ? ORDER BY at");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    (*rows)->bind(1, job.value);
    std::vector<ProgressPoint> points;
    Step step = (*rows)->step();
    for (; step == Step::row; step = (*rows)->step())
      points.push_back(progress_point(**rows, job, Time{Duration{(*rows)->integer(0)}}, 1));
    if (step == Step::failed) return failure("read progress");
    return points;
  }

  Result<std::size_t> count_progress(JobId job) override {
    auto rows = statement("SELECT count(*) FROM progress WHERE job = ?");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    if ((*rows)->bind(1, job.value).step() != Step::row) return failure("read progress");
    return static_cast<std::size_t>((*rows)->number(0));
  }

  Result<std::vector<HistoryRow>> history(std::int64_t step_seconds, std::int64_t from,
                                          std::int64_t to) override {
    auto rows = statement(
        fmt::format("SELECT at, {} FROM history WHERE step = ? AND at BETWEEN ? AND ? ORDER BY at",
                    kHistoryColumns));
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    (*rows)->bind(1, step_seconds).bind(2, from).bind(3, to);
    std::vector<HistoryRow> found;
    Step step = (*rows)->step();
    for (; step == Step::row; step = (*rows)->step())
      found.push_back(history_row(**rows, (*rows)->integer(0), 1));
    if (step == Step::failed) return failure("read history");
    return found;
  }

  Result<std::vector<RawEntry>> entries(std::uint64_t after, std::size_t limit) override {
    auto rows = statement(
        "SELECT entry, at, first_record, body, chain FROM log WHERE entry > ? ORDER BY entry LIMIT "
        "?");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    (*rows)->bind(1, after).bind(2, static_cast<std::uint64_t>(limit));
    return read_entries(**rows);
  }

  Result<std::optional<std::uint64_t>> entry_after_record(std::uint64_t record) override {
    ReadTransaction transaction{connection_};
    if (auto begun = transaction.begin("read log"); !begun)
      return tl::unexpected{std::move(begun).error()};
    return search_record(record + 1);
  }

  Result<std::vector<RawEntry>> entries_of(JobId job, std::size_t limit) override {
    auto rows = statement(
        "SELECT l.entry, l.at, l.first_record, l.body, l.chain FROM log_by_job b JOIN log l ON "
        "l.entry = b.entry WHERE b.job = ? ORDER BY b.entry LIMIT ?");
    if (!rows) return tl::unexpected{std::move(rows).error()};
    (*rows)->bind(1, job.value).bind(2, static_cast<std::uint64_t>(limit));
    return read_entries(**rows);
  }

 private:
  tl::unexpected<Error> failure(std::string_view doing) const {
    return tl::unexpected{connection_.error(doing)};
  }

  // Prepared once.
  Result<SqliteStatement*> statement(const std::string& sql) {
    const auto known = statements_.find(sql);
    if (known != statements_.end()) return &known->second;
    auto made = connection_.prepare(sql);
    if (!made) return tl::unexpected{std::move(made).error()};
    return &statements_.emplace(sql, std::move(*made)).first->second;
  }

  Result<std::optional<std::string>> bytes_of(const char* sql, JobId job, std::string_view what) {
    auto rows = statement(sql);
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    const Step step = (*rows)->bind(1, job.value).step();
    if (step == Step::failed) return failure(fmt::format("read {}", what));
    if (step == Step::done || (*rows)->is_null(0)) return std::nullopt;
    if (checksum_of((*rows)->bytes(0)) != (*rows)->integer(1)) {
      Diagnostics details;
      details.add({connection_.file().string(), 0, fmt::format("{} of job {}", what, job.value),
                   "damaged", "its checksum: restore a backup"});
      return tl::unexpected{Error{ErrorCode::failure, std::move(details)}};
    }
    return (*rows)->text(0);
  }

  Result<std::uint64_t> number_of(const char* sql) {
    auto rows = statement(sql);
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const ResetAtEnd reset{**rows};
    if ((*rows)->step() != Step::row) return failure("read totals");
    return (*rows)->number(0);
  }

  static std::string page_sql(const JobQuery& query) {
    if (query.changed_after)
      return "SELECT revision, view FROM jobs INDEXED BY jobs_by_revision WHERE revision > ?1 AND "
             "view IS NOT NULL ORDER BY revision LIMIT ?2";
    const char* index = !query.name.empty()    ? "INDEXED BY jobs_by_name"
                        : !query.phase.empty() ? "INDEXED BY jobs_by_phase"
                                               : "NOT INDEXED";
    return fmt::format(
        "SELECT id, view FROM jobs {} WHERE id {} ?1 {} {} AND view IS NOT NULL ORDER BY id {} "
        "LIMIT ?2",
        index, query.newest_first ? "<" : ">", query.name.empty() ? "" : "AND name = ?3",
        query.phase.empty() ? "" : "AND phase = ?4", query.newest_first ? "DESC" : "ASC");
  }

  static void bind_page(SqliteStatement& rows, const JobQuery& query) {
    constexpr auto kNoBound = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    rows.bind(2, static_cast<std::uint64_t>(query.limit) + 1);
    if (query.changed_after) {
      rows.bind(1, *query.changed_after);
      return;
    }
    const bool has_bound = query.after > 0 || !query.newest_first;
    rows.bind(1, has_bound ? query.after : kNoBound);
    if (!query.name.empty()) rows.bind_text(3, query.name);
    if (!query.phase.empty()) rows.bind_text(4, query.phase);
  }

  Result<std::vector<RawEntry>> read_entries(SqliteStatement& rows) {
    const ResetAtEnd reset{rows};
    std::vector<RawEntry> found;
    Step step = rows.step();
    for (; step == Step::row; step = rows.step())
      found.push_back(raw_entry(
          {rows.number(0), rows.integer(1), rows.number(2), rows.bytes(3), rows.number(4)}));
    if (step == Step::failed) return failure("read log");
    return found;
  }

  // The last entry that begins at or before the record: it, or the first entry of all, has it.
  Result<std::optional<std::uint64_t>> search_record(std::uint64_t record) {
    auto ends = statement(
        "SELECT b.entry + 1, e.entry, e.record FROM log_begin b, log_end e WHERE e.entry > "
        "b.entry");
    if (!ends) return tl::unexpected{std::move(ends).error()};
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    {
      const ResetAtEnd reset{**ends};
      const Step step = (*ends)->step();
      if (step == Step::failed) return failure("read log");
      if (step == Step::done || record > (*ends)->number(2)) return std::nullopt;
      low = (*ends)->number(0);
      high = (*ends)->number(1);
    }
    auto first = statement("SELECT first_record FROM log WHERE entry >= ? ORDER BY entry LIMIT 1");
    if (!first) return tl::unexpected{std::move(first).error()};
    while (low < high) {
      const std::uint64_t middle = low + (high - low + 1) / 2;
      const ResetAtEnd reset{**first};
      if ((*first)->bind(1, middle).step() != Step::row) return failure("read log");
      if ((*first)->number(0) <= record) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  SqliteConnection connection_;
  std::map<std::string, SqliteStatement> statements_;
};

}  // namespace

Result<std::unique_ptr<StoreReader>> StoreReader::open(const StoreOptions& options) {
  auto connection = SqliteConnection::open(options.file, options.vfs, Access::read_write);
  if (!connection) return tl::unexpected{std::move(connection).error()};
  const auto is_there = has_schema(*connection);
  if (!is_there) return tl::unexpected{is_there.error()};
  const auto version = connection->integer("PRAGMA user_version");
  if (!version) return tl::unexpected{version.error()};
  if (*version != kSchemaVersion)
    return bad_input(Diagnostic{options.file.string(), 0, "schema version",
                                std::to_string(*version),
                                fmt::format("{}: start weir serve on it once", kSchemaVersion)});
  // A reader never changes anything; it opens for writing because SQLite's index of the write-ahead
  // log is shared memory that readers write to.
  if (auto set = connection->execute(
          "PRAGMA query_only = ON; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -8192",
          "set up");
      !set)
    return tl::unexpected{std::move(set).error()};
  return std::make_unique<SqliteReader>(std::move(*connection));
}

}  // namespace weir::control
