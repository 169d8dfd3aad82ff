// SPDX-License-Identifier: Apache-2.0
#include "control/store_retention.h"

#include <optional>
#include <utility>

#include "control/store_schema.h"
#include "formats/log_codec.h"

namespace weir::control {
namespace {

using Step = SqliteStatement::Step;

struct ForgetStatements {
  SqliteStatement rows, delete_entries, delete_entry_of_job, set_begin, key_of, delete_key,
      delete_document, delete_job, delete_entries_of_job, delete_progress;
};

Result<ForgetStatements> prepare_to_forget(SqliteConnection& connection) {
  ForgetStatements all;
  const std::pair<SqliteStatement*, const char*> texts[] = {
      {&all.rows,
       "SELECT entry, at, first_record, body, chain FROM log WHERE entry <= ? ORDER BY entry LIMIT "
       "?"},
      {&all.delete_entries, "DELETE FROM log WHERE entry <= ?"},
      {&all.delete_entry_of_job, "DELETE FROM log_by_job WHERE job = ? AND entry = ?"},
      {&all.set_begin, "UPDATE log_begin SET entry = ?, record = ?, link = ?"},
      {&all.key_of, "SELECT key FROM documents WHERE id = ? AND key IS NOT NULL"},
      {&all.delete_key, "DELETE FROM keys WHERE bucket = ? AND key_checksum = ? AND job = ?"},
      {&all.delete_document, "DELETE FROM documents WHERE id = ?"},
      {&all.delete_job, "DELETE FROM jobs WHERE id = ? RETURNING phase"},
      {&all.delete_entries_of_job, "DELETE FROM log_by_job WHERE job = ?"},
      {&all.delete_progress, "DELETE FROM progress WHERE job = ?"},
  };
  for (const auto& [statement, sql] : texts) {
    auto prepared = connection.prepare(sql);
    if (!prepared) return tl::unexpected{std::move(prepared).error()};
    *statement = std::move(*prepared);
  }
  return all;
}

// Notes the phase it had.
bool delete_job(SqliteStatement& statement, JobId job, std::vector<std::string>& phases) {
  const ResetAtEnd reset{statement};
  const Step step = statement.bind(1, job.value).step();
  if (step == Step::row) phases.push_back(statement.text(0));
  return step != Step::failed;
}

bool forget_job(ForgetStatements& statements, JobId job, std::vector<std::string>& phases) {
  std::optional<std::uint64_t> key;
  {
    const ResetAtEnd reset{statements.key_of};
    if (statements.key_of.bind(1, job.value).step() == Step::row)
      key = checksum_of(statements.key_of.bytes(0));
  }
  return (!key ||
          statements.delete_key.bind(1, key_bucket(job)).bind(2, *key).bind(3, job.value).run()) &&
         statements.delete_document.bind(1, job.value).run() &&
         delete_job(statements.delete_job, job, phases) &&
         statements.delete_entries_of_job.bind(1, job.value).run() &&
         statements.delete_progress.bind(1, job.value).run();
}

Result<std::vector<Record>> records_of(const LogRow& row) {
  std::vector<Record> records;
  for (const std::string& line : raw_entry(row).record_lines) {
    auto read = formats::read_record_line(line);
    if (!read) return tl::unexpected{std::move(read).error()};
    records.push_back(std::move(read->record));
  }
  return records;
}

}  // namespace

Result<Forgotten> forget_before(SqliteConnection& connection, const LogEnds& ends, Time time,
                                std::size_t most_entries) {
  Forgotten forgotten{{}, {}, ends.before, ends.link_before};
  auto covered = connection.integer("SELECT coalesce(min(entry), 0) FROM snapshots");
  if (!covered) return tl::unexpected{std::move(covered).error()};
  auto statements = prepare_to_forget(connection);
  if (!statements) return tl::unexpected{std::move(statements).error()};
  const auto failure = [&] { return tl::unexpected{connection.error("forget")}; };

  SqliteStatement& rows = statements->rows;
  rows.bind(1, *covered).bind(2, static_cast<std::uint64_t>(most_entries));
  Step step = rows.step();
  for (; step == Step::row; step = rows.step()) {
    const LogRow row{rows.number(0), rows.integer(1), rows.number(2), rows.bytes(3),
                     rows.number(4)};
    if (row.at >= time.time_since_epoch().count()) break;
    auto records = records_of(row);
    if (!records) return tl::unexpected{std::move(records).error()};
    for (const JobId job : jobs_of(*records)) {
      if (!statements->delete_entry_of_job.bind(1, job.value).bind(2, row.entry).run())
        return failure();
    }
    for (const Record& record : *records) {
      if (const auto job = job_ended_by(record)) forgotten.jobs.push_back(*job);
    }
    forgotten.before = {row.entry, row.first_record + records->size() - 1};
    forgotten.link_before = Chain::of(row.chain).link;
  }
  if (step == Step::failed) return failure();
  rows.reset();

  for (const JobId job : forgotten.jobs) {
    if (!forget_job(*statements, job, forgotten.phases)) return failure();
  }
  if (!statements->delete_entries.bind(1, forgotten.before.entry).run() ||
      !statements->set_begin.bind(1, forgotten.before.entry)
           .bind(2, forgotten.before.record)
           .bind(3, std::uint64_t{forgotten.link_before})
           .run())
    return failure();
  return forgotten;
}

}  // namespace weir::control
