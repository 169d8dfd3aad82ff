// SPDX-License-Identifier: Apache-2.0
#include "cli/what_if_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "formats/log_codec.h"
#include "report/clock_text.h"
#include "report/gantt.h"
#include "report/text_table.h"
#include "simulate/allocation_history.h"

namespace weir::cli {
namespace {

using report::Align;
using report::Table;

constexpr std::size_t kMostUnchanged = 10;

// A job on both sides; null where it is not.
struct Pair {
  const ApiJson* now = nullptr;
  const ApiJson* then = nullptr;

  const ApiJson& any() const { return now != nullptr ? *now : *then; }
};

std::string promise_text(const ApiJson* job) {
  if (job == nullptr) return "-";
  const std::string answer = text_in(*job, "answer");
  if (answer == "refused") return "refused";
  if (answer == "waits_for_a_curve") return "waits for a curve";
  if (!job->contains("in_time")) return "none";
  const bool in_time = truth_in(*job, "in_time");
  if (answer == "promised") return in_time ? "kept" : "broken";
  return in_time ? "none, in time" : "none, late";
}

std::optional<Time> finish_of(const ApiJson* job) {
  return job == nullptr ? std::nullopt : time_in(*job, "finish");
}

std::string finish_text(const ApiJson* job) {
  return job == nullptr ? "-" : clock_in(*job, "finish", "-");
}

std::string gpus_text(const ApiJson* job) {
  return job == nullptr ? "-" : fmt::format("{}", integer_in(*job, "most_gpus").value_or(0));
}

std::string difference_text(const Pair& pair) {
  if (pair.now == nullptr) return "new";
  const auto now = finish_of(pair.now);
  const auto then = finish_of(pair.then);
  if (!now && !then) return "-";
  if (!now) return "is done";
  if (!then) return "is not done";
  if (*now == *then) return "same";
  return report::length_text(*then - *now) + (*then < *now ? " sooner" : " later");
}

// What is not the same at all comes first, then the largest difference.
Duration weight_of(const Pair& pair) {
  const auto now = finish_of(pair.now);
  const auto then = finish_of(pair.then);
  if (promise_text(pair.now) != promise_text(pair.then) || now.has_value() != then.has_value())
    return Duration::max();
  return now && then ? std::chrono::abs(*then - *now) : Duration{0};
}

std::vector<Pair> pairs_of(const ApiJson& answer) {
  std::vector<Pair> pairs;
  std::map<std::int64_t, std::size_t> place;
  for (const ApiJson& job : answer.at("now").at("jobs")) {
    place[integer_in(job, "id").value_or(0)] = pairs.size();
    pairs.push_back({&job, nullptr});
  }
  for (const ApiJson& job : answer.at("then").at("jobs")) {
    const auto id = integer_in(job, "id");
    const auto known = id ? place.find(*id) : place.end();
    if (known == place.end()) {
      pairs.push_back({nullptr, &job});
    } else {
      pairs[known->second].then = &job;
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return weight_of(a) > weight_of(b); });
  return pairs;
}

Table changed_jobs_table(const ApiJson& answer) {
  Table table{"",
              {{"id"},
               {"job", Align::left},
               {"done now"},
               {"done then"},
               {"difference", Align::left},
               {"promise now", Align::left},
               {"promise then", Align::left},
               {"GPUs now"},
               {"GPUs then"}},
              {}};
  std::size_t unchanged = 0;
  for (const Pair& pair : pairs_of(answer)) {
    if (weight_of(pair) == Duration{0} && ++unchanged > kMostUnchanged) continue;
    const auto id = integer_in(pair.any(), "id");
    table.rows.push_back({id ? fmt::format("{}", *id) : "-", text_in(pair.any(), "name"),
                          finish_text(pair.now), finish_text(pair.then), difference_text(pair),
                          promise_text(pair.now), promise_text(pair.then), gpus_text(pair.now),
                          gpus_text(pair.then)});
  }
  if (unchanged > kMostUnchanged) {
    table.rows.push_back(
        {"", fmt::format("{} more", unchanged - kMostUnchanged), "", "", "same", "", "", "", ""});
  }
  return table;
}

std::string totals_cell(const ApiJson& side, std::string_view what) {
  const ApiJson& totals = side.at("totals");
  const auto number = [&](const char* key) { return integer_in(totals, key).value_or(0); };
  if (what == "kept") return fmt::format("{} of {}", number("kept"), number("promised"));
  if (what == "refused") return fmt::format("{}", number("refused"));
  if (what == "wait")
    return report::length_text(from_seconds(
        static_cast<std::int64_t>(totals.at("mean_wait_seconds").get<double>() + 0.5)));
  if (what == "used")
    return fmt::format("{:.0f} % of {}", totals.at("utilisation").get<double>() * 100,
                       integer_in(side, "gpus").value_or(0));
  return clock_in(side, "until", "-");
}

Table totals_table(const ApiJson& answer) {
  constexpr std::pair<const char*, const char*> kRows[] = {{"promises kept", "kept"},
                                                           {"jobs refused", "refused"},
                                                           {"mean wait", "wait"},
                                                           {"GPUs in use", "used"},
                                                           {"all done by", "until"}};
  Table table{"", {{"", Align::left}, {"now"}, {"then"}}, {}};
  for (const auto& [name, what] : kRows) {
    table.rows.push_back(
        {name, totals_cell(answer.at("now"), what), totals_cell(answer.at("then"), what)});
  }
  return table;
}

std::string incomplete_text(const ApiJson& answer) {
  const bool is_whole =
      truth_in(answer.at("now"), "complete") && truth_in(answer.at("then"), "complete");
  return is_whole ? "" : "The forecast was cut short: jobs without a finish may still have one.\n";
}

std::vector<formats::RecordLogHeader::Pool> pools_of(const ApiJson& side) {
  std::vector<formats::RecordLogHeader::Pool> pools;
  for (const ApiJson& pool : side.at("pools")) {
    formats::RecordLogHeader::Pool made;
    const auto number = [&](const char* key) {
      return static_cast<std::int32_t>(integer_in(pool, key).value_or(0));
    };
    made.name = text_in(pool, "name");
    made.nodes = number("nodes");
    made.gpus_per_node = number("gpus_per_node");
    made.stride = std::max(1, number("stride"));
    pools.push_back(std::move(made));
  }
  return pools;
}

Result<std::string> chart_of(const ApiJson& side, const std::string& heading) {
  simulate::AllocationRecorder recorder;
  for (const ApiJson& line : side.at("records")) {
    const auto entry = formats::read_record_line(line.get_ref<const std::string&>());
    if (!entry) return tl::unexpected(entry.error());
    recorder.hear(entry->record);
  }
  const simulate::AllocationHistory history = recorder.take();
  const report::Gantt chart = report::gantt(history, pools_of(side));
  std::string explanation = "Each rectangle is a job on its GPUs; hover for the reason.";
  if (!chart.note.empty()) explanation += " " + chart.note;
  return report::figure(heading, explanation,
                        "<div class=\"scroll\" tabindex=\"0\">" + chart.svg + "</div>",
                        report::gantt_table(history));
}

}  // namespace

std::string what_if_text(const ApiJson& answer) {
  const Table jobs = changed_jobs_table(answer);
  std::string text = jobs.rows.empty() ? "There are no jobs.\n" : report::to_text(jobs);
  return text + "\n" + report::to_text(totals_table(answer)) + incomplete_text(answer);
}

Result<std::string> what_if_page(const ApiJson& answer, const report::ReportHeader& header) {
  const auto now = chart_of(answer.at("now"), "As it is");
  if (!now) return tl::unexpected(now.error());
  const auto then = chart_of(answer.at("then"), "As it would be");
  if (!then) return tl::unexpected(then.error());
  const std::string charts = fmt::format(
      "<style>{}\n.pair {{ display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }}\n"
      ".pair > div {{ min-width: 0; }}\n</style>\n<div class=\"wide pair\"><div>{}</div><div>{}"
      "</div></div>\n",
      report::gantt_style(), *now, *then);
  return report::page(header, "What if", "",
                      report::to_html(totals_table(answer)) +
                          report::to_html(changed_jobs_table(answer)) + charts +
                          incomplete_text(answer),
                      "If every job runs as it is believed to run, nothing fails and nobody else "
                      "comes.");
}

}  // namespace weir::cli
