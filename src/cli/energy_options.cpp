// SPDX-License-Identifier: Apache-2.0
#include "cli/energy_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "formats/carbon_regions.h"
#include "formats/quantity_text.h"
#include "formats/supply_csv.h"
#include "formats/time_text.h"
#include "predict/energy/power_book.h"

namespace weir::cli {
namespace {

constexpr std::array kNeedSupply = {"supply-from",  "forecast",   "budget",   "tenant-budgets",
                                    "energy-price", "when-spent", "power-cap"};
constexpr double kGramsPerKilogram = 1000;
constexpr std::int64_t kMostMicros = 1'000'000'000'000'000;  // a billion

Result<std::filesystem::path> supply_file(const std::string& given) {
  if (std::filesystem::exists(given)) return std::filesystem::path{given};
  const auto known = formats::carbon_regions("--supply");
  if (!known) return tl::unexpected(known.error());
  const auto chosen = formats::choose_regions(*known, {given}, "--supply");
  if (!chosen) return tl::unexpected(chosen.error());
  return chosen->front().series;
}

// GPU-seconds on the least size.
template <class Counts>
std::int64_t work_of(const TrainingWorkload& workload, const CurveBook& curves,
                     const Counts& counts) {
  double sum = 0;
  for (const TrainingArrival& arrival : workload.jobs) {
    if (!counts(arrival.spec)) continue;
    const Curve* curve = curves.find(arrival.spec.curve);
    if (curve == nullptr || curve->empty()) continue;
    const CurvePoint& least = curve->useful().front();
    sum += static_cast<double>(arrival.spec.iterations) /
           (static_cast<double>(least.rate.value) / 1e6) * least.gpus;
  }
  return std::llround(sum);
}

// In millionths of a kilogram, or of the money; by name.
Result<std::vector<TenantBudget>> tenant_budgets(const OptionValues& options) {
  std::vector<TenantBudget> budgets;
  if (!options.has("tenant-budgets")) return budgets;
  Diagnostics mistakes;
  for (const std::string_view item : options.texts("tenant-budgets")) {
    const std::size_t sign = item.rfind('=');
    const auto amount = sign == std::string_view::npos || sign == 0
                            ? std::nullopt
                            : formats::parse_decimal(item.substr(sign + 1), 6);
    const bool is_right = amount && *amount >= 0 && *amount <= kMostMicros;
    if (!is_right) {
      mistakes.add({{},
                    0,
                    "--tenant-budgets",
                    std::string{item},
                    "a tenant and what it may use, such as vision=12"});
      continue;
    }
    budgets.push_back({std::string{item.substr(0, sign)}, *amount});
  }
  std::stable_sort(budgets.begin(), budgets.end(),
                   [](const auto& a, const auto& b) { return a.tenant < b.tenant; });
  for (std::size_t i = 1; i < budgets.size(); ++i) {
    if (budgets[i].tenant == budgets[i - 1].tenant)
      mistakes.add({{}, 0, "--tenant-budgets", budgets[i].tenant, "each tenant once"});
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return budgets;
}

// Empty where nobody asks for them.
Result<ForecastBook> read_forecasts(const OptionValues& options,
                                    const std::filesystem::path& supply_path,
                                    const formats::SupplyFile& supply, Time from) {
  if (!options.has("forecast")) return ForecastBook{};
  const std::string& given = options.text("forecast");
  std::filesystem::path path = given;
  if (!std::filesystem::exists(given)) {
    const auto known = formats::carbon_regions("--forecast");
    if (!known) return tl::unexpected(known.error());
    const auto chosen = formats::choose_regions(*known, {given}, "--forecast");
    if (!chosen) return tl::unexpected(chosen.error());
    if (!chosen->front().forecast)
      return bad_input(Diagnostic{{}, 0, "--forecast", given, "a region with forecasts"});
    path = *chosen->front().forecast;
  }
  auto file = formats::read_forecast(path);
  if (!file) return tl::unexpected(file.error());
  Diagnostics mistakes;
  formats::check_same_kind(supply_path, supply.kind, path, file->kind, mistakes);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (file->book.known_at(from) == nullptr) {
    return bad_input(
        Diagnostic{{},
                   0,
                   "--supply-from",
                   options.has("supply-from") ? options.text("supply-from") : "not given",
                   fmt::format("a day with a forecast: {} or later",
                               formats::format_time(file->book.all().front().issued))});
  }
  return std::move(file->book);
}

WhenSpent when_spent(const std::string& text) {
  if (text == "pause") return WhenSpent::pause;
  return text == "min-power" ? WhenSpent::min_power : WhenSpent::overdraw;
}

}  // namespace

Time first_submission(const TrainingWorkload& workload) {
  Time first = Time::max();
  for (const TrainingArrival& arrival : workload.jobs) first = std::min(first, arrival.submitted);
  return first;
}

std::vector<OptionSpec> energy_options() {
  return {{.name = "supply",
           .type = OptionType::text,
           .help = "With --jobs: what a kilowatt-hour costs, hour by hour: a region of the public "
                   "data such as ciso, or a series file (utc_time and carbon_g_per_kwh or "
                   "price_eur_per_kwh). The energy of the jobs is then modelled and told; the "
                   "policy green minds it."},
          {.name = "supply-from",
           .type = OptionType::text,
           .unit = "day",
           .help = "The day (UTC) on which the first job comes, as in 2021-07-14. Default: the "
                   "first day of the series. Only with --supply."},
          {.name = "forecast",
           .type = OptionType::text,
           .help = "What the scheduler knows of the hours to come, instead of what they will be: a "
                   "region's public forecasts (July to December 2021), such as ciso, or a forecast "
                   "file. Only with --supply."},
          {.name = "budget",
           .type = OptionType::number,
           .unit = "kg of CO2, or money",
           .least = 0,
           .most = 1e9,
           .help = "What all jobs together may use: kilograms of CO2, or money in the unit of the "
                   "series. green finds the price at which it lasts. Only with --supply."},
          {.name = "tenant-budgets",
           .type = OptionType::text_list,
           .unit = "name=amount",
           .help = "What the jobs of a tenant may use, as in vision=12,speech=8: beside --budget, "
                   "or alone, in its unit. Only with --supply."},
          {.name = "energy-price",
           .type = OptionType::number,
           .unit = "seconds",
           .least = 0,
           .most = 1e6,
           .help = "Instead of --budget: how many seconds of a job's time a gram of CO2, or one "
                   "unit of money, is worth. Only with --supply."},
          {.name = "when-spent",
           .type = OptionType::text,
           .default_text = "overdraw",
           .choices = {"overdraw", "min-power", "pause"},
           .help = "What green does when --budget is spent: go on, go on with the least energy, or "
                   "let jobs without a promise wait (a day at most). Only with --budget."},
          {.name = "power-cap",
           .type = OptionType::number,
           .unit = "kW",
           .least = 0.001,
           .most = 1e9,
           .help = "What the site may draw at most; green keeps to it. Only with --supply."}};
}

void check_energy(const OptionValues& options, Diagnostics& mistakes) {
  const auto must = [&](const char* option, const char* what) {
    mistakes.add({{}, 0, "option", fmt::format("--{}", option), what});
  };
  for (const char* option : kNeedSupply) {
    if (options.is_given(option) && !options.has("supply"))
      must(option, "--supply beside it: what a kilowatt-hour costs");
  }
  if (options.has("budget") && options.has("energy-price"))
    must("energy-price", "to be left out beside --budget: one or the other");
  if (options.is_given("when-spent") && !options.has("budget") && !options.has("tenant-budgets"))
    must("when-spent", "--budget beside it: what may be spent");
}

Result<EnergyInput> read_energy(const OptionValues& options, const std::vector<CurveBook>& curves,
                                const std::vector<TrainingWorkload>& workloads) {
  EnergyInput input;
  if (!options.has("supply")) return input;
  const auto file = supply_file(options.text("supply"));
  if (!file) return tl::unexpected(file.error());
  const auto supply = formats::read_supply(*file);
  if (!supply) return tl::unexpected(supply.error());
  if (supply->kind.quantity == SupplyQuantity::power_cap)
    return bad_input(Diagnostic{file->string(), 1, "unit", to_string(supply->kind),
                                "carbon or a price: a cap is given as --power-cap"});
  input.notes = formats::to_lines(supply->repairs);
  const bool is_carbon_series = is_carbon(supply->kind.quantity);
  input.unit = is_carbon_series ? "g CO2" : supply->kind.currency;
  Time from = supply->series.begin();
  if (options.has("supply-from")) {
    const auto day = formats::parse_time(options.text("supply-from") + "T00:00:00Z");
    if (!day || *day < supply->series.begin() || *day >= supply->series.end()) {
      return bad_input(
          Diagnostic{{},
                     0,
                     "--supply-from",
                     options.text("supply-from"),
                     fmt::format("a day such as 2021-07-14 that the series knows: {} to {}",
                                 formats::format_time(supply->series.begin()),
                                 formats::format_time(supply->series.end()))});
    }
    from = *day;
  }
  const auto payers = tenant_budgets(options);
  if (!payers) return tl::unexpected(payers.error());
  const auto forecasts = read_forecasts(options, *file, *supply, from);
  if (!forecasts) return tl::unexpected(forecasts.error());
  std::vector<PowerBook> books;
  for (const CurveBook& book : curves)
    books.push_back(predict::power_book(book, predict::PowerAssumptions{}));
  for (const TrainingWorkload& workload : workloads) {
    simulate::EnergySetup setup;
    setup.books = books;
    const Time first = first_submission(workload);
    setup.supply = supply->series.shifted(first - from);
    setup.terms.from = first;
    setup.terms.until = first + (supply->series.end() - from);
    setup.terms.when_spent = when_spent(options.text("when-spent"));
    if (options.has("budget")) {
      const double units = options.number("budget") * (is_carbon_series ? kGramsPerKilogram : 1);
      setup.terms.budget_micros = std::llround(units * 1e6);
      setup.terms.expected_gpu_seconds =
          work_of(workload, curves.front(), [](const TrainingSpec&) { return true; });
    }
    setup.terms.tenants = *payers;
    for (std::size_t i = 0; i < payers->size(); ++i) {
      TenantBudget& budget = setup.terms.tenants[i];
      if (is_carbon_series) budget.budget_micros *= static_cast<std::int64_t>(kGramsPerKilogram);
      budget.expected_gpu_seconds =
          work_of(workload, curves.front(),
                  [&](const TrainingSpec& spec) { return setup.terms.payer_of(spec.tenant) == i; });
    }
    if (!forecasts->empty()) setup.forecasts = forecasts->shifted(first - from);
    if (options.has("energy-price"))
      setup.terms.price_nanos = std::llround(options.number("energy-price") * 1e9);
    if (options.has("power-cap"))
      setup.terms.cap_milliwatts = std::llround(options.number("power-cap") * 1e6);
    input.by_workload.push_back(std::move(setup));
  }
  return input;
}

}  // namespace weir::cli
