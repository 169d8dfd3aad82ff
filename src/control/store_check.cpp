// SPDX-License-Identifier: Apache-2.0
#include "control/store_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

namespace weir::control {
namespace {

using Step = SqliteStatement::Step;

constexpr const char* kRowsFrom =
    "SELECT entry, at, first_record, body, chain FROM log WHERE entry >= ? ORDER BY entry";

LogRow row_of(const SqliteStatement& statement) {
  return {statement.number(0), statement.integer(1), statement.number(2), statement.bytes(3),
          statement.number(4)};
}

// Walks the log from its beginning; what cannot be read or does not fit is lost.
class LogWalk {
 public:
  LogWalk(SqliteConnection& connection, const LogEnds& ends,
          const std::optional<CommittedMark>& mark)
      : connection_{connection},
        ends_{ends},
        mark_{mark},
        next_{ends.before.entry + 1},
        link_{ends.link_before} {
    last_ = ends.before;
  }

  Result<void> run() {
    auto rows = connection_.prepare(kRowsFrom);
    if (!rows) return tl::unexpected{std::move(rows).error()};
    const std::uint64_t end = promised_end();
    while (true) {
      rows->reset();
      rows->bind(1, next_);
      Step step = rows->step();
      for (; step == Step::row; step = rows->step()) visit(row_of(*rows));
      if (step == Step::done) break;
      if (!connection_.is_corrupt()) return tl::unexpected{connection_.error("read log")};
      const std::uint64_t readable = first_readable(*rows, next_, end);
      lose(next_, readable - 1, "the file is damaged there");
      link_.reset();
      next_ = readable;
      if (next_ > end) break;
    }
    rows->reset();
    check_end(end);
    return {};
  }

  std::vector<Damage> take_lost() { return std::move(lost_); }
  LogPosition last() const { return last_; }
  Chain last_chain() const { return last_chain_; }

 private:
  std::uint64_t promised_end() const { return std::max(ends_.end.entry, mark_ ? mark_->entry : 0); }

  void visit(const LogRow& row) {
    if (row.entry > next_) {
      lose(next_, row.entry - 1, "missing");
      link_.reset();
    }
    const Chain chain = Chain::of(row.chain);
    const bool is_itself = content_checksum(row) == chain.content;
    const bool follows = !link_ || next_link(*link_, chain.content) == chain.link;
    if (!is_itself) {
      lose(row.entry, row.entry, "its checksum differs");
    } else if (!follows) {
      lose(row.entry, row.entry, "it does not follow its predecessor");
    } else if (mark_ && mark_->entry == row.entry && mark_->chain != row.chain) {
      lose(row.entry, row.entry, "it is not what was committed");
    } else if (row.entry == ends_.end.entry && chain != ends_.end_chain) {
      lose(row.entry, row.entry, "it is not the end that was committed");
    }
    link_ = is_itself && follows ? std::optional{chain.link} : std::nullopt;
    last_ = {row.entry, row.first_record + record_count(row.body) - 1};
    last_chain_ = chain;
    next_ = row.entry + 1;
  }

  // The least entry above `from` at which rows can be read again; past `end` when there is none.
  static std::uint64_t first_readable(SqliteStatement& rows, std::uint64_t from,
                                      std::uint64_t end) {
    const auto is_readable = [&](std::uint64_t entry) {
      rows.reset();
      rows.bind(1, entry);
      const bool is_row = rows.step() == Step::row;
      rows.reset();
      return is_row;
    };
    std::uint64_t bad = from;
    std::uint64_t stride = 1;
    while (bad + stride <= end && !is_readable(bad + stride)) {
      bad += stride;
      stride *= 2;
    }
    std::uint64_t good = bad + stride;
    if (good > end) {
      if (bad >= end || !is_readable(end)) return end + 1;
      good = end;
    }
    while (good - bad > 1) {
      const std::uint64_t middle = bad + (good - bad) / 2;
      (is_readable(middle) ? good : bad) = middle;
    }
    return good;
  }

  void check_end(std::uint64_t end) {
    if (last_.entry < end) lose(last_.entry + 1, end, "committed, and gone");
    if (last_.entry > ends_.end.entry)
      lose(ends_.end.entry + 1, last_.entry, "past the end that was committed");
  }

  void lose(std::uint64_t first, std::uint64_t last, std::string what) {
    if (!lost_.empty() && lost_.back().last_entry + 1 >= first && lost_.back().what == what) {
      lost_.back().last_entry = std::max(last, lost_.back().last_entry);
    } else if (lost_.empty() || last > lost_.back().last_entry) {
      const std::uint64_t from =
          lost_.empty() ? first : std::max(first, lost_.back().last_entry + 1);
      lost_.push_back({from, last, std::move(what)});
    }
  }

  SqliteConnection& connection_;
  LogEnds ends_;
  std::optional<CommittedMark> mark_;
  std::uint64_t next_;
  std::optional<std::uint32_t> link_;
  LogPosition last_;
  Chain last_chain_;
  std::vector<Damage> lost_;
};

// Rows of (number, bytes, checksum) of which the checksum differs.
Result<void> check_rows(SqliteConnection& connection, const char* sql, const char* what,
                        std::vector<Damage>& damage) {
  auto rows = connection.prepare(sql);
  if (!rows) return tl::unexpected{std::move(rows).error()};
  constexpr std::size_t kMostNamed = 20;
  Step step = rows->step();
  for (; step == Step::row && damage.size() < kMostNamed; step = rows->step()) {
    if (!rows->is_null(1) && checksum_of(rows->bytes(1)) != rows->integer(2))
      damage.push_back({0, 0, fmt::format("{} {}", what, rows->number(0))});
  }
  if (step == Step::failed) {
    if (!connection.is_corrupt()) return tl::unexpected{connection.error("read")};
    damage.push_back({0, 0, fmt::format("{}: cannot all be read", what)});
  }
  return {};
}

// The pages of the file; empty when all is well.
Result<std::string> check_pages(const StoreOptions& options) {
  auto connection = SqliteConnection::open(options.file, options.vfs, Access::read_write);
  if (!connection) return tl::unexpected{std::move(connection).error()};
  auto check = connection->prepare("PRAGMA quick_check(5)");
  std::string text;
  if (check) {
    Step step = check->step();
    for (; step == Step::row; step = check->step()) {
      if (check->bytes(0) == "ok") continue;
      text += fmt::format("{}{}", text.empty() ? "" : "; ", check->bytes(0));
    }
    if (step == Step::done) return text;
  }
  if (!connection->is_corrupt()) return tl::unexpected{connection->error("check")};
  return text.empty() ? "its tables cannot be read" : text;
}

Result<std::uint64_t> latest_good_snapshot(SqliteConnection& connection) {
  auto rows =
      connection.prepare("SELECT entry, bytes, checksum FROM snapshots ORDER BY entry DESC");
  if (!rows) return tl::unexpected{std::move(rows).error()};
  Step step = rows->step();
  for (; step == Step::row; step = rows->step()) {
    if (checksum_of(rows->bytes(1)) == rows->integer(2)) return rows->number(0);
  }
  return std::uint64_t{0};
}

Result<void> check_rows_beside_log(SqliteConnection& connection, std::vector<Damage>& damage) {
  if (auto checked = check_rows(connection, "SELECT id, document, checksum FROM documents",
                                "the document of job", damage);
      !checked)
    return checked;
  return check_rows(connection, "SELECT id, view, checksum FROM jobs", "the view of job", damage);
}

std::string range_text(const Damage& damage) {
  return damage.first_entry == damage.last_entry
             ? fmt::format("entry {}", damage.first_entry)
             : fmt::format("entries {} to {}", damage.first_entry, damage.last_entry);
}

// True when the state does not depend on what is lost: a snapshot covers it, or it is the end.
bool is_state_certain(const CheckReport& report) {
  return std::all_of(report.lost.begin(), report.lost.end(), [&](const Damage& lost) {
    return lost.last_entry <= report.snapshot_entry || lost.first_entry > report.ends.end.entry;
  });
}

}  // namespace

Result<LogEnds> read_log_ends(SqliteConnection& connection) {
  auto rows = connection.prepare(
      "SELECT b.entry, b.record, b.link, e.entry, e.record, e.chain FROM log_begin b, log_end e");
  if (!rows) return tl::unexpected{std::move(rows).error()};
  if (rows->step() != Step::row) return tl::unexpected{connection.error("read end of log")};
  LogEnds ends;
  ends.before = {rows->number(0), rows->number(1)};
  ends.link_before = static_cast<std::uint32_t>(rows->number(2));
  ends.end = {rows->number(3), rows->number(4)};
  ends.end_chain = Chain::of(rows->number(5));
  return ends;
}

Result<CheckReport> check_store(SqliteConnection& connection, const StoreOptions& options,
                                const std::string& store_id,
                                const std::optional<CommittedMark>& mark) {
  auto pages = std::async(std::launch::async, check_pages, options);
  CheckReport report;
  auto ends = read_log_ends(connection);
  if (!ends) return tl::unexpected{std::move(ends).error()};
  report.ends = *ends;
  const bool is_its_mark = mark && mark->store == store_id;
  LogWalk walk{connection, *ends, is_its_mark ? mark : std::nullopt};
  if (auto walked = walk.run(); !walked) return tl::unexpected{std::move(walked).error()};
  report.lost = walk.take_lost();
  if (!report.lost.empty() && walk.last().entry != ends->end.entry) {
    report.ends.end = walk.last();
    report.ends.end_chain = walk.last_chain();
  }
  if (auto checked = check_rows_beside_log(connection, report.beside_log); !checked)
    return tl::unexpected{std::move(checked).error()};
  auto snapshot = latest_good_snapshot(connection);
  if (!snapshot) return tl::unexpected{std::move(snapshot).error()};
  report.snapshot_entry = *snapshot;
  auto structure = pages.get();
  if (!structure) return tl::unexpected{std::move(structure).error()};
  report.structure = std::move(*structure);
  return report;
}

std::optional<Error> refusal(const CheckReport& report, const StoreOptions& options) {
  const std::string file = options.file.string();
  Diagnostics details;
  const bool is_certain = is_state_certain(report) && report.structure.empty();
  const auto remedy = [&](const Damage& lost) -> const char* {
    if (!is_certain) return "every entry: restore a backup";
    if (lost.first_entry > report.ends.end.entry)
      return "every entry: restore a backup, or start once more and accept the loss (what was "
             "decided and promised in them is forgotten)";
    return "every entry: restore a backup, or start once more and accept the loss (the state does "
           "not depend on it)";
  };
  if (!(options.accepts_damage && is_certain)) {
    for (const Damage& lost : report.lost)
      details.add({file, 0, "log", fmt::format("without {}: {}", range_text(lost), lost.what),
                   remedy(lost)});
  }
  if (!report.structure.empty())
    details.add({file, 0, "file", report.structure, "undamaged pages: restore a backup"});
  if (!options.accepts_damage) {
    for (const Damage& damage : report.beside_log)
      details.add(
          {file, 0, damage.what, "damaged", "its checksum: restore a backup, or accept the loss"});
  }
  if (details.empty()) return std::nullopt;
  return Error{ErrorCode::failure, std::move(details)};
}

}  // namespace weir::control
