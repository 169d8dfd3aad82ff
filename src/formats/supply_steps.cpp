// SPDX-License-Identifier: Apache-2.0
#include "formats/supply_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "formats/quantity_text.h"
#include "formats/time_text.h"

namespace weir::formats {

void SupplyRepairs::add(const SupplyRepairs& other) {
  filled += other.filled;
  raised += other.raised;
  redated += other.redated;
  if (!first_filled) first_filled = other.first_filled;
  if (!first_raised) first_raised = other.first_raised;
  if (!first_redated) first_redated = other.first_redated;
}

std::vector<std::string> to_lines(const SupplyRepairs& repairs) {
  std::vector<std::string> lines;
  if (repairs.filled > 0) {
    lines.push_back(fmt::format("{} missing step{} got the value before, the first at {}",
                                repairs.filled, repairs.filled == 1 ? "" : "s",
                                format_time(*repairs.first_filled)));
  }
  if (repairs.raised > 0) {
    lines.push_back(fmt::format("{} negative price{} became 0, the first at {}", repairs.raised,
                                repairs.raised == 1 ? "" : "s",
                                format_time(*repairs.first_raised)));
  }
  if (repairs.redated > 0) {
    lines.push_back(fmt::format(
        "{} forecast{} dated by issue_day, not by utc_time, the first of {}", repairs.redated,
        repairs.redated == 1 ? " was" : "s were", format_time(*repairs.first_redated)));
  }
  return lines;
}

void SupplySteps::reject(const Row& row, std::string expected, Diagnostics& mistakes) const {
  mistakes.add({file_, row.line, field_, format_time(row.time), std::move(expected)});
}

void SupplySteps::add(std::uint64_t line, Time time, double value, Diagnostics& mistakes) {
  const Row row{line, time, value};
  if (!rows_.empty() && time <= rows_.back().time) {
    const Row& last = rows_.back();
    return reject(row,
                  time == last.time
                      ? fmt::format("another time: line {} has this one", last.line)
                      : fmt::format("a time after {} of line {}: rows in the order of time",
                                    format_time(last.time), last.line),
                  mistakes);
  }
  rows_.push_back(row);
}

std::optional<Duration> SupplySteps::step(Diagnostics& mistakes) const {
  std::map<Duration, std::size_t> how_often;
  for (std::size_t i = 1; i < rows_.size(); ++i) ++how_often[rows_[i].time - rows_[i - 1].time];
  if (how_often.empty()) return std::chrono::hours{1};
  const auto commonest =
      std::max_element(how_often.begin(), how_often.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const Duration found = commonest->first;
  if (found >= kLeastSupplyStep && found <= kMostSupplyStep) return found;
  mistakes.add({file_, rows_[1].line, field_, fmt::format("rows {} apart", format_duration(found)),
                fmt::format("rows from {} to {} apart", format_duration(kLeastSupplyStep),
                            format_duration(kMostSupplyStep))});
  return std::nullopt;
}

bool SupplySteps::check_distances(Duration step, Diagnostics& mistakes) const {
  const std::size_t before = mistakes.total();
  for (std::size_t i = 1; i < rows_.size() && !mistakes.full(); ++i) {
    const Duration distance = rows_[i].time - rows_[i - 1].time;
    if (distance % step != Duration{0}) {
      reject(rows_[i],
             fmt::format("a whole number of steps of {} after {}", format_duration(step),
                         format_time(rows_[i - 1].time)),
             mistakes);
    } else if (distance - step > kLongestFilledGap) {
      reject(rows_[i],
             fmt::format("no more than {} missing after {} of line {}, not {}",
                         format_duration(kLongestFilledGap), format_time(rows_[i - 1].time),
                         rows_[i - 1].line, format_duration(distance - step)),
             mistakes);
    }
  }
  if (mistakes.total() == before && (rows_.back().time - rows_.front().time) / step >=
                                        static_cast<std::int64_t>(kMostSupplySteps)) {
    reject(rows_.back(), fmt::format("at most {} steps", kMostSupplySteps), mistakes);
  }
  return mistakes.total() == before;
}

std::optional<SupplySeries> SupplySteps::finish(SupplyRepairs& repairs, Diagnostics& mistakes) {
  if (rows_.empty()) return std::nullopt;
  const auto found = step(mistakes);
  if (!found || !check_distances(*found, mistakes)) {
    rows_.clear();
    return std::nullopt;
  }
  const Time begin = rows_.front().time;
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>((rows_.back().time - begin) / *found) + 1);
  Time next = begin;
  for (const Row& row : rows_) {
    for (; next < row.time; next += *found) {
      values.push_back(values.back());
      if (repairs.filled++ == 0) repairs.first_filled = next;
    }
    values.push_back(std::max(0.0, row.value));
    if (row.value < 0 && repairs.raised++ == 0) repairs.first_raised = row.time;
    next += *found;
  }
  rows_.clear();
  return SupplySeries{begin, *found, std::move(values)};
}

}  // namespace weir::formats
