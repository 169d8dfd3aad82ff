// SPDX-License-Identifier: Apache-2.0
#include "report/energy_use.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "formats/json_text.h"
#include "report/report_data.h"

namespace weir::report {
namespace {

EnergyRow total_of(const EnergyUseReport& report) {
  EnergyRow total{"together", 0, 0};
  for (const EnergyRow& row : report.rows) {
    total.kwh += row.kwh;
    total.amount += row.amount;
  }
  return total;
}

// Of a thousand grams and more nobody counts single ones.
struct AmountScale {
  std::string unit;
  double of_one = 1;
};
AmountScale scale_for(const EnergyUseReport& report) {
  if (report.unit == "g CO2" && total_of(report).amount >= 1000) return {"kg CO2", 1000};
  return {report.unit, 1};
}

}  // namespace

Table energy_table(const EnergyUseReport& report) {
  const AmountScale scale = scale_for(report);
  Table table{"",
              {{report.by, Align::left},
               {"kWh", Align::right},
               {scale.unit, Align::right},
               {"% of it", Align::right}},
              {}};
  const EnergyRow total = total_of(report);
  const auto add = [&](const EnergyRow& row) {
    table.rows.push_back({row.name, fmt::format("{:.3f}", row.kwh),
                          fmt::format("{:.3f}", row.amount / scale.of_one),
                          total.amount > 0 ? fmt::format("{:.1f}", row.amount / total.amount * 100)
                                           : std::string{"-"}});
  };
  for (const EnergyRow& row : report.rows) add(row);
  add(total);
  return table;
}

Result<std::string> energy_json(const EnergyUseReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto json_of = [](const EnergyRow& row) {
    return nlohmann::ordered_json{{"name", row.name}, {"kwh", row.kwh}, {"amount", row.amount}};
  };
  for (const EnergyRow& row : report.rows) rows.push_back(json_of(row));
  nlohmann::ordered_json total = json_of(total_of(report));
  total.erase("name");
  return formats::json_text({{"by", report.by},
                             {"unit", report.unit},
                             {"rows", rows},
                             {"total", total},
                             {"notes", report.notes}});
}

std::string energy_page(const ReportHeader& header, const EnergyUseReport& report) {
  const EnergyRow total = total_of(report);
  const AmountScale scale = scale_for(report);
  std::string footer =
      "A job's energy is that of its GPUs with its share of what its nodes draw beside them, times "
      "the site's overhead; modelled, unless its GPUs have counters.";
  for (const std::string& note : report.notes) footer += " " + note + ".";
  return page(
      header, "What did it use?",
      fmt::format("{:.1f} kWh, {:.1f} {}.", total.kwh, total.amount / scale.of_one, scale.unit),
      "<h2>By " + report.by + "</h2>\n" + to_html(energy_table(report)), footer,
      report_data(energy_json(report), header));
}

}  // namespace weir::report
