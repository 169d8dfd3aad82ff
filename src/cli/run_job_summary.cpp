// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weir::cli {
namespace {

struct Part {
  const char* name;
  Duration ChangeTimes::*time;
};
constexpr std::array kParts = {
    Part{"announce", &ChangeTimes::announce}, Part{"save", &ChangeTimes::save},
    Part{"stop", &ChangeTimes::stop},         Part{"wait", &ChangeTimes::wait},
    Part{"start", &ChangeTimes::start},       Part{"import", &ChangeTimes::import},
    Part{"load", &ChangeTimes::load},         Part{"step", &ChangeTimes::step}};

std::vector<CourseStart> changes_of(const RunCourse& course) {
  std::vector<CourseStart> changes;
  for (const CourseStart& start : course.starts()) {
    if (start.cause == StartCause::resized) changes.push_back(start);
  }
  return changes;
}

// The lower one of the two in the middle. 0: nobody told.
Duration median(std::vector<Duration> times) {
  std::erase(times, Duration{0});
  if (times.empty()) return Duration{0};
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

template <class Time>
Duration median_of(const std::vector<CourseStart>& changes, Time time) {
  std::vector<Duration> times;
  times.reserve(changes.size());
  for (const CourseStart& change : changes) times.push_back(time(change));
  return median(std::move(times));
}

Duration lost(const CourseStart& start) {
  return start.times.lost();
}

// From the order until the job was ready, as seen from here.
Duration in_all(const CourseStart& start) {
  return start.ready_at ? *start.ready_at - start.ordered_at : Duration{0};
}

std::string seconds_text(Duration time) {
  return time == Duration{0} ? "-" : fmt::format("{:.3f}", to_seconds(time));
}

ApiJson seconds_json(Duration time) {
  return time == Duration{0} ? ApiJson(nullptr) : ApiJson(to_seconds(time));
}

std::string warm_text(const CourseStart& change) {
  if (!change.ready_at) return "-";
  return change.times.is_warm ? "yes" : "no";
}

const char* name_of(StartCause cause) {
  switch (cause) {
    case StartCause::first:
      return "first";
    case StartCause::resized:
      return "resized";
    case StartCause::resumed:
      return "resumed";
    case StartCause::retried:
      return "retried";
  }
  return "";
}

const char* name_of(CourseEnd end) {
  switch (end) {
    case CourseEnd::finished:
      return "finished";
    case CourseEnd::failed:
      return "failed";
    case CourseEnd::interrupted:
      return "interrupted";
  }
  return "";
}

ApiJson start_json(const CourseStart& start) {
  ApiJson json = {{"generation", start.generation},
                  {"why", name_of(start.cause)},
                  {"from", start.gpus_before},
                  {"to", start.gpus},
                  {"at", to_seconds(start.ordered_at)},
                  {"ready", nullptr},
                  {"after_step", nullptr},
                  {"warm", start.times.is_warm}};
  if (start.ready_at) json["ready"] = to_seconds(*start.ready_at);
  if (start.step) json["after_step"] = *start.step;
  for (const Part& part : kParts) json[part.name] = seconds_json(start.times.*part.time);
  json["lost"] = seconds_json(lost(start));
  json["in_all"] = seconds_json(in_all(start));
  return json;
}

}  // namespace

report::Table change_table(const RunCourse& course) {
  using report::Align;
  report::Table table{"What each change took, in seconds",
                      {{"GPUs", Align::left}, {"after step", Align::right}},
                      {}};
  for (const Part& part : kParts) table.columns.push_back({part.name, Align::right});
  table.columns.push_back({"without work", Align::right});
  table.columns.push_back({"in all", Align::right});
  table.columns.push_back({"warm", Align::left});
  const std::vector<CourseStart> changes = changes_of(course);
  for (const CourseStart& change : changes) {
    std::vector<std::string> row{fmt::format("{} -> {}", change.gpus_before, change.gpus),
                                 change.step ? fmt::format("{}", *change.step) : "-"};
    for (const Part& part : kParts) row.push_back(seconds_text(change.times.*part.time));
    row.push_back(seconds_text(change.times.lost()));
    row.push_back(seconds_text(in_all(change)));
    row.push_back(warm_text(change));
    table.rows.push_back(std::move(row));
  }
  if (changes.size() < 2) return table;
  std::vector<std::string> row{"median", ""};
  for (const Part& part : kParts) {
    row.push_back(
        seconds_text(median_of(changes, [&](const CourseStart& c) { return c.times.*part.time; })));
  }
  row.push_back(seconds_text(median_of(changes, lost)));
  row.push_back(seconds_text(median_of(changes, in_all)));
  row.emplace_back("");
  table.rows.push_back(std::move(row));
  return table;
}

ApiJson run_summary(const RunCourse& course, Duration took) {
  const CourseOutcome& outcome = *course.outcome();
  ApiJson json = {{"outcome", name_of(outcome.end)},
                  {"exit_code", outcome.exit_code},
                  {"explanation", outcome.explanation},
                  {"seconds", to_seconds(took)},
                  {"step", nullptr},
                  {"loss", nullptr},
                  {"restarts", course.restarts()},
                  {"sizes_left", course.sizes_left()},
                  {"starts", ApiJson::array()},
                  {"median", ApiJson::object()}};
  if (course.step()) json["step"] = *course.step();
  if (course.loss()) json["loss"] = *course.loss();
  for (const CourseStart& start : course.starts()) json["starts"].push_back(start_json(start));
  const std::vector<CourseStart> changes = changes_of(course);
  for (const Part& part : kParts) {
    json["median"][part.name] =
        seconds_json(median_of(changes, [&](const CourseStart& c) { return c.times.*part.time; }));
  }
  json["median"]["lost"] = seconds_json(median_of(changes, lost));
  json["median"]["in_all"] = seconds_json(median_of(changes, in_all));
  return json;
}

}  // namespace weir::cli
