// SPDX-License-Identifier: Apache-2.0
//
// The routes that charts are made of: overview, history and progress.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "control/api.h"
#include "control/api_replies.h"
#include "control/query_reader.h"
#include "formats/rounded_number.h"

namespace weir::control {
namespace {

constexpr std::int64_t kYear = 31'536'000;

double seconds_of(Time time) {
  return to_seconds(time.time_since_epoch());
}

// A mean to three decimals: more would only make the answer longer.
// Appends `"name":[...]`, with a comma before it unless it is the first.
template <class Rows, class Value>
void append_column(std::string& out, std::string_view name, const Rows& rows, Value value) {
  if (out.back() != '{') out += ',';
  fmt::format_to(std::back_inserter(out), "\"{}\":[", name);
  for (const auto& row : rows) {
    if (out.back() != '[') out += ',';
    fmt::format_to(std::back_inserter(out), "{}", value(row));
  }
  out += ']';
}

std::string number_or_null(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? fmt::format("{}", *number) : "null";
}

std::string history_json(std::int64_t step, const std::vector<HistoryRow>& rows) {
  std::string out = fmt::format("{{\"step\":{}", step);
  append_column(out, "at", rows, [](const HistoryRow& row) { return row.at; });
  const auto gauge = [&](std::string_view name, double ClusterFigures::*figure) {
    append_column(out, name, rows,
                  [&](const HistoryRow& row) { return formats::thousandths(row.figures.*figure); });
  };
  gauge("gpus_up", &ClusterFigures::gpus_up);
  gauge("gpus_in_use", &ClusterFigures::gpus_in_use);
  gauge("gpus_fragmented", &ClusterFigures::gpus_fragmented);
  gauge("running", &ClusterFigures::running);
  gauge("waiting", &ClusterFigures::waiting);
  gauge("open", &ClusterFigures::open);
  gauge("at_risk", &ClusterFigures::at_risk);
  const auto count = [&](std::string_view name, std::int64_t PromiseCounts::*which) {
    append_column(out, name, rows,
                  [&](const HistoryRow& row) { return row.figures.promises.*which; });
  };
  count("kept", &PromiseCounts::kept);
  count("broken", &PromiseCounts::broken);
  count("refused", &PromiseCounts::refused);
  return out + "}";
}

std::string progress_json(const std::vector<ProgressPoint>& points) {
  std::string out = "{";
  append_column(out, "at", points, [](const ProgressPoint& point) { return seconds_of(point.at); });
  append_column(out, "gpus", points, [](const ProgressPoint& point) { return point.gpus; });
  append_column(out, "done", points, [](const ProgressPoint& point) { return point.done; });
  append_column(out, "rate", points,
                [](const ProgressPoint& point) { return number_or_null(point.rate); });
  append_column(out, "loss", points,
                [](const ProgressPoint& point) { return number_or_null(point.loss); });
  return out + "}";
}

}  // namespace

void Api::overview(Request, Responder responder) {
  auto shared = std::make_shared<Responder>(std::move(responder));
  loop_.overview(
      [&loop = loop_, version = options_.version, shared](const std::optional<Overview>& shown) {
        if (!shown)
          return shared->send(unavailable("the server is stopping, or cannot write its store"));
        const ClusterFigures& figures = shown->figures;
        nlohmann::ordered_json json;
        json["at"] = seconds_of(shown->at);
        json["version"] = version;
        json["policy"] = loop.policy();
        json["mode"] = loop.is_observing() ? "observe" : "schedule";
        if (const Health health = loop.health(); !health.detail.empty())
          json["trouble"] = health.detail;
        json["gpus"] = shown->gpus;
        json["gpus_up"] = std::llround(figures.gpus_up);
        json["gpus_in_use"] = std::llround(figures.gpus_in_use);
        json["gpus_fragmented"] = formats::thousandths(figures.gpus_fragmented);
        json["nodes"] = shown->nodes;
        for (const ShownPhase phase : kAllPhases) {
          const std::string name{to_string(phase)};
          const auto count = shown->phases.find(name);
          json["phases"][name] = count == shown->phases.end() ? 0 : count->second;
        }
        json["promises"] = {{"open", std::llround(figures.open)},
                            {"at_risk", std::llround(figures.at_risk)},
                            {"kept", figures.promises.kept},
                            {"broken", figures.promises.broken},
                            {"refused", figures.promises.refused}};
        shared->send(json_response(200, json.dump()));
      });
}

void Api::history(Request request, Responder responder) {
  QueryReader query{request, {"seconds"}};
  const auto seconds = query.number("seconds", 3600, 60, kYear);
  if (query.is_refused(responder)) return;
  const std::int64_t step = history_step_for(seconds);
  const Time now = loop_.wall_time();
  const std::int64_t from = beginning_of_step(now - std::chrono::seconds{seconds}, step);
  const std::lock_guard lock{reading_->mutex};
  const auto rows = reading_->reader->history(step, from, beginning_of_step(now, 1));
  if (!rows) return responder.send(store_trouble(rows.error()));
  responder.send(json_response(200, history_json(step, *rows)));
}

void Api::progress(Request request, Responder responder) {
  const auto job = find_job(request, responder);
  if (!job) return;
  const std::lock_guard lock{reading_->mutex};
  const auto points = reading_->reader->progress(*job);
  if (!points) return responder.send(store_trouble(points.error()));
  responder.send(json_response(200, progress_json(*points)));
}

}  // namespace weir::control
