// SPDX-License-Identifier: Apache-2.0
#include "report/shift_savings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "formats/json_text.h"
#include "formats/time_text.h"
#include "report/report_data.h"
#include "report/svg_plot.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;
using predict::ShiftSavings;

std::string shape_text(const predict::ShiftShape& shape) {
  return fmt::format("{} h in {} h", shape.hours, shape.within);
}

std::string percent_text(std::optional<double> percent) {
  if (!percent) return "-";
  const std::string text = fmt::format("{:.1f}", *percent);
  return text == "-0.0" ? "0.0" : text;
}

std::string cell(const ShiftSavings& savings) {
  return fmt::format("{} / {} / {}", percent_text(savings.perfect_percent()),
                     percent_text(savings.forecast_percent()),
                     percent_text(savings.contiguous_percent()));
}

std::string day_of(Time time) {
  return formats::format_time(time).substr(0, std::string_view{"2021-07-01"}.size());
}

// The days on which the jobs were submitted; those of other shapes may end a little later or earlier.
std::string days_of(const SeriesSavings& series) {
  for (const ShiftSavings& savings : series.shapes) {
    if (savings.submissions > 0)
      return fmt::format("{} to {}", day_of(savings.first), day_of(savings.last));
  }
  return "-";
}

std::string_view quantity_name(SupplyQuantity quantity) {
  switch (quantity) {
    case SupplyQuantity::carbon_lifecycle:
      return "carbon_lifecycle";
    case SupplyQuantity::carbon_direct:
      return "carbon_direct";
    case SupplyQuantity::price:
      return "price";
    case SupplyQuantity::power_cap:
      break;
  }
  return "power_cap";
}

Json number_or_null(std::optional<double> number) {
  return number ? Json(*number) : Json(nullptr);
}

Json time_or_null(const ShiftSavings& savings, Time time) {
  return savings.submissions == 0 ? Json(nullptr) : Json(formats::format_time(time));
}

Json run_json(const SeriesSavings& series, const ShiftSavings& savings) {
  const double job_hours =
      static_cast<double>(savings.submissions) * static_cast<double>(savings.shape.hours);
  return {{"name", series.name},
          {"quantity", quantity_name(series.kind.quantity)},
          {"unit", unit_of(series.kind)},
          {"hours", savings.shape.hours},
          {"within", savings.shape.within},
          {"submissions", savings.submissions},
          {"first_submission", time_or_null(savings, savings.first)},
          {"last_submission", time_or_null(savings, savings.last)},
          {"at_once_mean", number_or_null(savings.submissions == 0
                                              ? std::nullopt
                                              : std::optional{savings.cost.at_once / job_hours})},
          {"perfect_percent", number_or_null(savings.perfect_percent())},
          {"forecast_percent", number_or_null(savings.forecast_percent())},
          {"contiguous_percent", number_or_null(savings.contiguous_percent())}};
}

// A bar needs something saved.
std::optional<Bar> bar_of(std::optional<double> percent) {
  if (!percent || *percent < 0) return std::nullopt;
  return Bar{*percent, *percent, *percent};
}

std::string shape_figure(std::span<const SeriesSavings> series, std::size_t shape) {
  const std::string text = shape_text(series.front().shapes[shape].shape);
  BarPlot plot{"Saved by choosing hours, " + text, "% of running at once", {}, {}, 1};
  plot.series = {{"perfect", 2, {}}, {"forecast", 0, {}}, {"contiguous", 1, {}}};
  Table table{"",
              {{"", Align::left},
               {"submissions"},
               {"at once, mean " + unit_of(series.front().kind)},
               {"perfect %"},
               {"forecast %"},
               {"contiguous %"}},
              {}};
  for (const SeriesSavings& one : series) {
    const ShiftSavings& savings = one.shapes[shape];
    plot.groups.push_back(one.name);
    plot.series[0].bars.push_back(bar_of(savings.perfect_percent()));
    plot.series[1].bars.push_back(bar_of(savings.forecast_percent()));
    plot.series[2].bars.push_back(bar_of(savings.contiguous_percent()));
    const auto job_hours = static_cast<double>(savings.submissions) * savings.shape.hours;
    table.rows.push_back(
        {one.name, fmt::format("{}", savings.submissions),
         savings.submissions == 0 ? "-" : fmt::format("{:.4g}", savings.cost.at_once / job_hours),
         percent_text(savings.perfect_percent()), percent_text(savings.forecast_percent()),
         percent_text(savings.contiguous_percent())});
  }
  return figure("A job of " + text,
                "What a job of constant power saves when it may choose its hours. No bar: waiting "
                "cost more than it saved, or there is no forecast.",
                to_svg(plot), table);
}

}  // namespace

Table savings_table(std::span<const SeriesSavings> series) {
  Table table{"Saved by choosing hours, % of running at once: perfect / forecast / contiguous",
              {{"", Align::left}, {"submitted", Align::left}},
              {}};
  if (series.empty()) return table;
  for (const ShiftSavings& savings : series.front().shapes)
    table.columns.push_back({shape_text(savings.shape)});
  for (const SeriesSavings& one : series) {
    std::vector<std::string> row = {one.name, days_of(one)};
    for (const ShiftSavings& savings : one.shapes) row.push_back(cell(savings));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string savings_basis(const SupplyKind& kind) {
  if (!is_carbon(kind.quantity)) return fmt::format("{}, as the file has it", to_string(kind));
  return fmt::format(
      "average intensity of the grid, {} factors, not marginal: what was emitted for the energy "
      "used, not what would have been avoided",
      kind.quantity == SupplyQuantity::carbon_direct ? "direct" : "lifecycle");
}

std::vector<std::string> joined_notes(std::span<const SeriesSavings> series) {
  std::vector<std::pair<std::string, std::vector<std::string>>> who_has;
  for (const SeriesSavings& one : series) {
    for (const std::string& note : one.notes) {
      auto at = std::find_if(who_has.begin(), who_has.end(),
                             [&](const auto& known) { return known.first == note; });
      if (at == who_has.end()) at = who_has.insert(at, {note, {}});
      at->second.push_back(one.name);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [note, names] : who_has)
    lines.push_back(fmt::format("{}: {}", fmt::join(names, ", "), note));
  return lines;
}

Result<std::string> savings_json(std::span<const SeriesSavings> series) {
  Json runs = Json::array();
  for (const SeriesSavings& one : series) {
    for (const ShiftSavings& savings : one.shapes) runs.push_back(run_json(one, savings));
  }
  return formats::json_text({{"runs", runs},
                             {"basis", savings_basis(series.front().kind)},
                             {"notes", joined_notes(series)}});
}

std::string savings_report(const ReportHeader& header, std::span<const SeriesSavings> series) {
  std::string content = "<h2>Summary</h2>\n" + to_html(savings_table(series));
  for (std::size_t shape = 0; shape < series.front().shapes.size(); ++shape)
    content += shape_figure(series, shape);
  std::string footer = fmt::format(
      "perfect: the cheapest hours in hindsight. forecast: the hours that the forecast called "
      "cheapest, at what they really cost. contiguous: the same in one piece. Of all submissions "
      "together, four a day. The figures are for the {}.",
      savings_basis(series.front().kind));
  for (const std::string& note : joined_notes(series)) footer += " " + note + ".";
  return page(header, "What does waiting for cleaner hours save?", "", content, footer,
              report_data(savings_json(series), header));
}

}  // namespace weir::report
