// SPDX-License-Identifier: Apache-2.0
#include "report/published_summary.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "formats/csv_writer.h"
#include "formats/json_text.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;

double percent_met(const PublishedSummary& run) {
  return run.outcome.jobs == 0
             ? 0
             : 100.0 * static_cast<double>(run.outcome.met) / static_cast<double>(run.outcome.jobs);
}

Json to_json(const PublishedSummary& run) {
  return {{"accounting", "as published"},
          {"policy", run.outcome.policy},
          {"workload", run.workload},
          {"jobs_file", run.jobs_file},
          {"jobs", run.outcome.jobs},
          {"met", run.outcome.met},
          {"refused", run.outcome.refused},
          {"late", run.late()},
          {"mean_jct_s", std::round(run.outcome.mean_jct_s * 10) / 10}};
}

}  // namespace

std::vector<Table> published_tables(std::span<const PublishedSummary> runs) {
  std::vector<Table> tables;
  for (const PublishedSummary& run : runs) {
    if (tables.empty() || tables.back().title != run.workload + ", as published") {
      tables.push_back({run.workload + ", as published",
                        {{"policy", Align::left},
                         {"jobs"},
                         {"met"},
                         {"met %"},
                         {"refused"},
                         {"late"},
                         {"mean JCT s"}},
                        {}});
    }
    const auto& outcome = run.outcome;
    tables.back().rows.push_back(
        {outcome.policy, fmt::format("{}", outcome.jobs), fmt::format("{}", outcome.met),
         fmt::format("{:.1f}", percent_met(run)), fmt::format("{}", outcome.refused),
         fmt::format("{}", run.late()), fmt::format("{:.0f}", outcome.mean_jct_s)});
  }
  return tables;
}

Result<std::string> published_json(std::span<const PublishedSummary> runs) {
  std::string text = "{\"runs\":[";
  std::string_view separator = "\n";
  for (const PublishedSummary& run : runs) {
    const auto line = formats::json_text(to_json(run), formats::JsonLayout::compact);
    if (!line) return tl::unexpected(line.error());
    text.append(separator).append(*line);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

// The columns are the keys of the JSON.
std::string published_csv(std::span<const PublishedSummary> runs) {
  std::ostringstream out;
  formats::CsvWriter csv{out};
  const Json headings = to_json(PublishedSummary{});
  for (const auto& [column, value] : headings.items()) csv.cell(column);
  csv.end_row();
  for (const PublishedSummary& run : runs) {
    const Json row = to_json(run);
    for (const auto& [column, value] : row.items())
      csv.cell(value.is_string() ? value.get<std::string>() : value.dump());
    csv.end_row();
  }
  return out.str();
}

}  // namespace weir::report
