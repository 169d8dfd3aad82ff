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
#include "formats/supply_csv.h"
#include "formats/time_text.h"
#include "predict/energy/power_book.h"

namespace weir::cli {
namespace {

constexpr std::array kNeedSupply = {"supply-from", "budget", "energy-price", "when-spent",
                                    "power-cap"};
constexpr double kGramsPerKilogram = 1000;

Result<std::filesystem::path> supply_file(const std::string& given) {
  if (std::filesystem::exists(given)) return std::filesystem::path{given};
  const auto known = formats::carbon_regions("--supply");
  if (!known) return tl::unexpected(known.error());
  const auto chosen = formats::choose_regions(*known, {given}, "--supply");
  if (!chosen) return tl::unexpected(chosen.error());
  return chosen->front().series;
}

// GPU-seconds on the least size.
std::int64_t work_of(const TrainingWorkload& workload, const CurveBook& curves) {
  double sum = 0;
  for (const TrainingArrival& arrival : workload.jobs) {
    const Curve* curve = curves.find(arrival.spec.curve);
    if (curve == nullptr || curve->empty()) continue;
    const CurvePoint& least = curve->useful().front();
    sum += static_cast<double>(arrival.spec.iterations) /
           (static_cast<double>(least.rate.value) / 1e6) * least.gpus;
  }
  return std::llround(sum);
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
          {.name = "budget",
           .type = OptionType::number,
           .unit = "kg of CO2, or money",
           .least = 0,
           .most = 1e9,
           .help = "What all jobs together may use: kilograms of CO2, or money in the unit of the "
                   "series. green finds the price at which it lasts. Only with --supply."},
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
  if (options.is_given("when-spent") && !options.has("budget"))
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
      setup.terms.expected_gpu_seconds = work_of(workload, curves.front());
    }
    if (options.has("energy-price"))
      setup.terms.price_nanos = std::llround(options.number("energy-price") * 1e9);
    if (options.has("power-cap"))
      setup.terms.cap_milliwatts = std::llround(options.number("power-cap") * 1e6);
    input.by_workload.push_back(std::move(setup));
  }
  return input;
}

}  // namespace weir::cli
