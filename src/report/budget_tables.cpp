// SPDX-License-Identifier: Apache-2.0
#include "report/budget_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "formats/json_text.h"
#include "report/report_data.h"
#include "report/svg_plot.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;
using simulate::BudgetStudy;
using simulate::StudiedPlace;
using simulate::StudyResult;
using simulate::Way;

// In the order of a place's results.
std::vector<Way> ways_of(const BudgetStudy& study) {
  std::vector<Way> ways;
  for (const StudyResult& result : study.places.front().results) {
    if (std::find(ways.begin(), ways.end(), result.way) == ways.end()) ways.push_back(result.way);
  }
  return ways;
}

std::vector<std::string> regions_of(const BudgetStudy& study) {
  std::vector<std::string> regions;
  for (const StudiedPlace& place : study.places) {
    if (std::find(regions.begin(), regions.end(), place.region) == regions.end())
      regions.push_back(place.region);
  }
  return regions;
}

std::vector<const StudyResult*> results_of(const BudgetStudy& study, Way way,
                                           std::int64_t percent) {
  std::vector<const StudyResult*> found;
  for (const StudiedPlace& place : study.places) {
    for (const StudyResult& result : place.results) {
      if (result.way == way && result.budget_percent == percent) found.push_back(&result);
    }
  }
  return found;
}

// Nothing where the budget is not reached everywhere.
std::optional<double> mean_kiloseconds(const BudgetStudy& study, Way way, std::int64_t percent) {
  double sum = 0;
  const auto results = results_of(study, way, percent);
  for (const StudyResult* result : results) {
    if (!result->is_reached) return std::nullopt;
    sum += result->completion_seconds;
  }
  if (results.empty()) return std::nullopt;
  return sum / static_cast<double>(results.size()) / 1000;
}

std::string text_of(std::optional<double> number, const char* format) {
  return number ? fmt::format(fmt::runtime(format), *number) : "-";
}

Table with_budgets(std::string title, std::span<const std::int64_t> percents) {
  Table table{std::move(title), {{"", Align::left}}, {}};
  for (const std::int64_t percent : percents)
    table.columns.push_back({fmt::format("{} %", percent)});
  return table;
}

std::string_view json_name(Way way) {
  switch (way) {
    case Way::price_tuned:
      return "price_tuned";
    case Way::price_blind:
      return "price_blind";
    case Way::price_steered:
      return "price_steered";
    case Way::price_forecast:
      return "price_forecast";
    case Way::elastic_tuned:
      return "elastic_tuned";
    case Way::elastic_steered:
      return "elastic_steered";
    case Way::elastic_path_tuned:
      return "elastic_path_tuned";
    case Way::srtf_tuned:
      return "srtf_tuned";
    case Way::elastic_clock_tuned:
      return "elastic_clock_tuned";
  }
  return {};
}

std::string curve_figure(const BudgetStudy& study, std::span<const std::int64_t> percents) {
  LinePlot plot{"Mean completion time by budget",
                "budget, % of elastic-capped without caps",
                "1,000 s",
                {},
                {},
                {},
                {}};
  std::size_t style = 0;
  for (const Way way : ways_of(study)) {
    PlotSeries series{std::string{name_of(way)}, style++, {}};
    for (const std::int64_t percent : percents) {
      const auto mean = mean_kiloseconds(study, way, percent);
      if (mean) series.points.push_back({static_cast<double>(percent), *mean, *mean, *mean});
    }
    plot.series.push_back(std::move(series));
  }
  return figure("Sooner or greener",
                "Each way at the same use of the budget; steered ways use a little more or less.",
                to_svg(plot), completion_table(study, percents));
}

}  // namespace

Table completion_table(const BudgetStudy& study, std::span<const std::int64_t> percents) {
  Table table = with_budgets("Mean completion time, 1,000 s, by budget", percents);
  for (const Way way : ways_of(study)) {
    std::vector<std::string> row{std::string{name_of(way)}};
    for (const std::int64_t percent : percents)
      row.push_back(text_of(mean_kiloseconds(study, way, percent), "{:.2f}"));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table gain_table(const BudgetStudy& study, std::span<const std::int64_t> percents) {
  Table table = with_budgets("How many times sooner green is, at the same use", percents);
  const auto add = [&](const std::string& title, const std::string& region, Way over, Way of) {
    std::vector<std::string> row{title};
    for (const std::int64_t percent : percents)
      row.push_back(text_of(simulate::gain(study, region, percent, over, of), "{:.3f}"));
    table.rows.push_back(std::move(row));
  };
  for (const std::string& region : regions_of(study))
    add(region + ", one price over best caps", region, Way::elastic_tuned, Way::price_tuned);
  for (const std::string& region : regions_of(study))
    add(region + ", steered over steered caps", region, Way::elastic_steered, Way::price_steered);
  for (const std::string& region : regions_of(study))
    add(region + ", steered over best path", region, Way::elastic_path_tuned, Way::price_steered);
  add("all, hours seen over hours unseen", "", Way::price_blind, Way::price_tuned);
  add("all, hours known over forecast", "", Way::price_forecast, Way::price_steered);
  add("all, steered green over one price", "", Way::price_steered, Way::price_tuned);
  return table;
}

Table used_table(const BudgetStudy& study, std::span<const std::int64_t> percents) {
  Table table = with_budgets("Most used anywhere, of the budget", percents);
  for (const Way way : ways_of(study)) {
    std::vector<std::string> row{std::string{name_of(way)}};
    for (const std::int64_t percent : percents) {
      std::optional<double> most;
      for (const StudyResult* result : results_of(study, way, percent)) {
        if (result->is_reached) most = std::max(most.value_or(0), result->used);
      }
      row.push_back(text_of(most, "{:.3f}"));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Result<std::string> budget_json(const BudgetStudy& study) {
  Json runs = Json::array();
  Json places = Json::array();
  for (const StudiedPlace& place : study.places) {
    places.push_back({{"region", place.region},
                      {"start", place.start},
                      {"base_units", place.base_units},
                      {"base_completion_seconds", place.base_completion_seconds},
                      {"srtf_units", place.srtf_units},
                      {"srtf_completion_seconds", place.srtf_completion_seconds}});
    for (const StudyResult& result : place.results) {
      runs.push_back({{"region", place.region},
                      {"start", place.start},
                      {"way", json_name(result.way)},
                      {"budget_percent", result.budget_percent},
                      {"is_reached", result.is_reached},
                      {"mean_completion_seconds", result.completion_seconds},
                      {"used_of_budget", result.used},
                      {"setting", result.setting}});
    }
  }
  return formats::json_text(
      {{"runs", runs}, {"places", places}, {"jobs", study.jobs}, {"simulations", study.runs}});
}

std::string budget_report(const ReportHeader& header, const BudgetStudy& study,
                          std::span<const std::int64_t> percents) {
  const std::string content = curve_figure(study, percents) + "<h2>Gains</h2>\n" +
                              to_html(gain_table(study, percents)) +
                              "<h2>Use of the budget</h2>\n" + to_html(used_table(study, percents));
  return page(header, "How soon, for how much?", "", content,
              "100 % is what elastic-capped emits without caps. Power is modelled "
              "(docs/models/energy.md), intensity is the grid's average with lifecycle factors.",
              report_data(budget_json(study), header));
}

}  // namespace weir::report
