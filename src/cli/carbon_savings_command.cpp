// SPDX-License-Identifier: Apache-2.0
#include "cli/carbon_savings_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/output_files.h"
#include "cli/version.h"
#include "formats/carbon_regions.h"
#include "formats/file_title.h"
#include "formats/supply_csv.h"
#include "predict/energy/shifting.h"
#include "report/shift_savings.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;
using formats::CarbonRegion;
using report::SeriesSavings;

constexpr std::string_view kRegion = "--region";

std::optional<CarbonFactors> asked_factors(const OptionValues& options) {
  if (!options.has("factors")) return std::nullopt;
  return options.text("factors") == "direct" ? CarbonFactors::direct : CarbonFactors::lifecycle;
}

std::vector<predict::ShiftShape> asked_shapes(const OptionValues& options) {
  if (!options.has("hours")) return {predict::kUsualShapes.begin(), predict::kUsualShapes.end()};
  return {{static_cast<std::int32_t>(options.integer("hours")),
           static_cast<std::int32_t>(options.integer("within"))}};
}

Diagnostics check_savings_options(const OptionValues& options) {
  Diagnostics mistakes;
  const auto must = [&](const char* option, std::string found, std::string what) {
    mistakes.add({{}, 0, option, std::move(found), std::move(what)});
  };
  if (options.has("file") && options.has("region"))
    must("--region", {}, "to be left out beside --file: one or the other");
  if (options.has("forecast") && !options.has("file"))
    must("--forecast", options.text("forecast"), "--file with what came true beside it");
  if (options.has("hours") != options.has("within")) {
    must(options.has("hours") ? "--within" : "--hours", {},
         "both --hours and --within, or neither");
  } else if (options.has("hours") && options.integer("hours") > options.integer("within")) {
    must("--within", std::to_string(options.integer("within")),
         fmt::format("{} or more, the hours of the job", options.integer("hours")));
  }
  std::vector<fs::path> inputs;
  for (const char* option : {"file", "forecast"}) {
    if (options.has(option)) inputs.emplace_back(options.text(option));
  }
  if (options.has("report")) check_output("--report", options.text("report"), inputs, mistakes);
  return mistakes;
}

// The files to read: that of --file, the regions named, or all regions with forecasts.
Result<std::vector<CarbonRegion>> sources_of(const OptionValues& options) {
  if (options.has("file")) {
    const std::string& file = options.text("file");
    CarbonRegion own{formats::file_title(file), file, {}};
    if (options.has("forecast")) own.forecast = options.text("forecast");
    return std::vector<CarbonRegion>{std::move(own)};
  }
  auto known = formats::carbon_regions(std::string{kRegion});
  if (!known) return known;
  if (options.has("region"))
    return formats::choose_regions(*known, options.texts("region"), std::string{kRegion});
  std::erase_if(*known, [](const CarbonRegion& region) { return !region.forecast; });
  return known;
}

struct Supply {
  SupplyKind kind{};
  SupplySeries series{};
  std::optional<ForecastBook> forecasts{};
  std::vector<std::string> notes{};
};

void note_repairs(Supply& supply, const formats::SupplyRepairs& repairs) {
  for (std::string& line : formats::to_lines(repairs)) supply.notes.push_back(std::move(line));
}

// What is wrong with the files joins the other mistakes.
std::optional<Supply> read_source(const CarbonRegion& source, std::optional<CarbonFactors> factors,
                                  bool is_region, Error& failure) {
  const auto keep = [&](const Error& error) {
    if (error.code != ErrorCode::bad_input) failure.code = error.code;
    failure.details.append(error.details);
  };
  auto series = formats::read_supply(source.series, factors);
  if (!series) keep(series.error());
  std::optional<Result<formats::ForecastFile>> forecast;
  if (source.forecast) forecast = formats::read_forecast(*source.forecast);
  if (forecast && !*forecast) keep(forecast->error());
  if (!series || (forecast && !*forecast)) return std::nullopt;
  Supply supply{series->kind, std::move(series->series), {}, {}};
  note_repairs(supply, series->repairs);
  if (supply.kind.quantity == SupplyQuantity::power_cap) {
    failure.details.add({source.series.string(), 1, "unit", to_string(supply.kind),
                         "carbon or a price: a cap costs nothing that waiting could save"});
  }
  if (!forecast) return supply;
  if (is_region && (*forecast)->kind != supply.kind) {
    supply.notes.push_back(
        fmt::format("forecasts left out: they are of {}", to_string((*forecast)->kind)));
    return supply;
  }
  formats::check_same_kind(source.series, supply.kind, *source.forecast, (*forecast)->kind,
                           failure.details);
  supply.forecasts = std::move((*forecast)->book);
  note_repairs(supply, (*forecast)->repairs);
  return supply;
}

SeriesSavings savings_of(const std::string& name, Supply supply,
                         const std::vector<predict::ShiftShape>& shapes) {
  SeriesSavings savings{name, supply.kind, {}, std::move(supply.notes)};
  for (const predict::ShiftShape& shape : shapes) {
    savings.shapes.push_back(supply.forecasts
                                 ? shift_savings(supply.series, *supply.forecasts, shape)
                                 : shift_savings(supply.series, shape));
  }
  return savings;
}

// How many hours a window may have, for the message.
std::int64_t longest_window(const Supply& supply) {
  const auto hours = [](const SupplySeries& series) {
    return (series.end() - series.begin()) / std::chrono::hours{1};
  };
  std::int64_t longest = supply.forecasts ? 0 : hours(supply.series);
  if (!supply.forecasts) return longest;
  for (const SupplyForecast& forecast : supply.forecasts->all())
    longest = std::max(longest, hours(forecast.expected));
  return std::min(longest, hours(supply.series));
}

Result<std::vector<SeriesSavings>> all_savings(const OptionValues& options,
                                               const std::vector<CarbonRegion>& sources) {
  const std::vector<predict::ShiftShape> shapes = asked_shapes(options);
  std::vector<SeriesSavings> all;
  Error failure{ErrorCode::bad_input, {}};
  for (const CarbonRegion& source : sources) {
    auto supply = read_source(source, asked_factors(options), !options.has("file"), failure);
    if (!supply) continue;
    const std::int64_t longest = longest_window(*supply);
    all.push_back(savings_of(source.name, std::move(*supply), shapes));
    const auto& rows = all.back().shapes;
    const bool is_empty = std::all_of(rows.begin(), rows.end(),
                                      [](const auto& savings) { return savings.submissions == 0; });
    if (!is_empty) continue;
    failure.details.add(
        {{},
         0,
         "--within",
         std::to_string(shapes.front().within),
         fmt::format("a window that lies within what is known of {}: {} hours at most, and "
                     "forecasts of times that the series has",
                     source.name, longest)});
  }
  if (!failure.details.empty()) return tl::unexpected(std::move(failure));
  return all;
}

std::string text_of(const OptionValues& options, const std::vector<SeriesSavings>& all) {
  std::string text = report::to_text(report::savings_table(all));
  text +=
      "\nperfect: the cheapest hours in hindsight; forecast: those the forecast called cheapest, "
      "at what\nthey really cost; contiguous: the same in one piece. Of all submissions together, "
      "four a day.\n";
  text += fmt::format("Basis: {}.\n", report::savings_basis(all.front().kind));
  for (const std::string& note : report::joined_notes(all))
    text += fmt::format("Note: {}.\n", note);
  return text + "\n" + options.recipe() + "\n";
}

std::string report_of(const OptionValues& options, const std::vector<SeriesSavings>& all) {
  report::ReportHeader header{options.recipe(), std::string{kVersion}, {}};
  header.facts = {{options.has("file") ? "file" : "regions",
                   options.has("file") ? all.front().name : std::to_string(all.size())},
                  {"series", to_string(all.front().kind)}};
  return report::savings_report(header, all);
}

}  // namespace

Result<void> carbon_savings_command(const OptionValues& options, Console& console) {
  if (auto mistakes = check_savings_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto sources = sources_of(options);
  if (!sources) return tl::unexpected(sources.error());
  const auto all = all_savings(options, *sources);
  if (!all) return tl::unexpected(all.error());
  std::string text;
  if (options.flag("json")) {
    auto json = report::savings_json(*all);
    if (!json) return tl::unexpected(std::move(json.error()));
    text = std::move(*json);
  } else {
    text = text_of(options, *all);
  }
  if (options.has("report")) {
    const OutputFile file{options.text("report"), report_of(options, *all)};
    if (auto written = write_files({&file, 1}); !written) return written;
    console.err << "wrote " << file.path.string() << "\n";
  }
  console.out << text;
  return {};
}

}  // namespace weir::cli
