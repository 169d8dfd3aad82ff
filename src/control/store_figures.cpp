// SPDX-License-Identifier: Apache-2.0
#include "control/store_figures.h"

#include <fmt/format.h>

#include <utility>

namespace weir::control {
namespace {

using Step = SqliteStatement::Step;

void bind_optional(SqliteStatement& statement, int at, const std::optional<double>& number) {
  if (number) {
    statement.bind_real(at, *number);
  } else {
    statement.bind_null(at);
  }
}

std::optional<double> optional_real(const SqliteStatement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.real(column);
}

}  // namespace

Result<FigureWriter> FigureWriter::prepare(SqliteConnection& connection) {
  FigureWriter all;
  const std::pair<SqliteStatement*, std::string> texts[] = {
      {&all.insert_point_, "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?)"},
      {&all.points_, "SELECT at, gpus, done, rate, loss FROM progress WHERE job = ? ORDER BY at"},
      {&all.drop_point_, "DELETE FROM progress WHERE job = ? AND at = ?"},
      {&all.row_, fmt::format("SELECT {} FROM history WHERE step = ? AND at = ?", kHistoryColumns)},
      {&all.set_row_,
       "INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&all.drop_rows_,
       "DELETE FROM history WHERE step = ?1 AND at < (SELECT at FROM history WHERE step = ?1 ORDER "
       "BY "
       "at DESC LIMIT 1 OFFSET ?2)"},
  };
  for (const auto& [statement, sql] : texts) {
    auto prepared = connection.prepare(sql);
    if (!prepared) return tl::unexpected{std::move(prepared).error()};
    *statement = std::move(*prepared);
  }
  return all;
}

bool FigureWriter::write(const std::vector<ProgressPoint>& points) {
  for (const ProgressPoint& point : points) {
    insert_point_.bind(1, point.job.value).bind(2, point.at.time_since_epoch().count());
    insert_point_.bind(3, point.gpus).bind(4, point.done);
    bind_optional(insert_point_, 5, point.rate);
    bind_optional(insert_point_, 6, point.loss);
    if (!insert_point_.run()) return false;
  }
  return true;
}

bool FigureWriter::thin_out(JobId job) {
  std::vector<ProgressPoint> points;
  {
    const ResetAtEnd reset{points_};
    points_.bind(1, job.value);
    Step step = points_.step();
    for (; step == Step::row; step = points_.step())
      points.push_back(progress_point(points_, job, Time{Duration{points_.integer(0)}}, 1));
    if (step == Step::failed) return false;
  }
  for (const Time at : points_to_drop(points)) {
    if (!drop_point_.bind(1, job.value).bind(2, at.time_since_epoch().count()).run()) return false;
  }
  return true;
}

bool FigureWriter::write(const ClusterSample& sample) {
  for (const HistoryResolution& each : history_resolutions(sample.keep)) {
    if (!add_to_row(each.step, sample)) return false;
    // By their number, not by their age: a clock that is wrong for a moment must not cost the past.
    const std::int64_t kept = each.kept_for / each.step + 1;
    if (!drop_rows_.bind(1, each.step).bind(2, kept).run()) return false;
  }
  return true;
}

bool FigureWriter::add_to_row(std::int64_t step, const ClusterSample& sample) {
  HistoryRow row;
  row.at = beginning_of_step(sample.at, step);
  {
    const ResetAtEnd reset{row_};
    const Step found = row_.bind(1, step).bind(2, row.at).step();
    if (found == Step::failed) return false;
    if (found == Step::row) row = history_row(row_, row.at, 0);
  }
  add_sample(row, sample.figures);
  const ClusterFigures& figures = row.figures;
  set_row_.bind(1, step).bind(2, row.at).bind(3, row.samples);
  set_row_.bind_real(4, figures.gpus_up).bind_real(5, figures.gpus_in_use);
  set_row_.bind_real(6, figures.gpus_fragmented).bind_real(7, figures.running);
  set_row_.bind_real(8, figures.waiting).bind_real(9, figures.open).bind_real(10, figures.at_risk);
  set_row_.bind(11, figures.promises.kept).bind(12, figures.promises.broken);
  return set_row_.bind(13, figures.promises.refused).run();
}

HistoryRow history_row(const SqliteStatement& row, std::int64_t at, int column) {
  HistoryRow made;
  made.at = at;
  made.samples = row.integer(column);
  ClusterFigures& figures = made.figures;
  for (double* gauge : {&figures.gpus_up, &figures.gpus_in_use, &figures.gpus_fragmented,
                        &figures.running, &figures.waiting, &figures.open, &figures.at_risk})
    *gauge = row.real(++column);
  for (std::int64_t* count :
       {&figures.promises.kept, &figures.promises.broken, &figures.promises.refused})
    *count = row.integer(++column);
  return made;
}

ProgressPoint progress_point(const SqliteStatement& row, JobId job, Time at, int column) {
  return {job,
          at,
          row.integer(column),
          row.integer(column + 1),
          optional_real(row, column + 2),
          optional_real(row, column + 3)};
}

}  // namespace weir::control
