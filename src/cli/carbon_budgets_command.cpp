// SPDX-License-Identifier: Apache-2.0
#include "cli/carbon_budgets_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/energy_options.h"
#include "cli/output_files.h"
#include "cli/progress_display.h"
#include "cli/version.h"
#include "formats/carbon_regions.h"
#include "formats/cluster_shorthand.h"
#include "formats/curves.h"
#include "formats/data_dir.h"
#include "formats/supply_csv.h"
#include "formats/time_text.h"
#include "formats/training_inputs.h"
#include "predict/energy/power_book.h"
#include "report/budget_tables.h"
#include "report/text_table.h"
#include "simulate/budget_study.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

constexpr Duration kMonth = std::chrono::hours{30 * 24};

void add(Error& failure, const Error& error) {
  if (error.code != ErrorCode::bad_input) failure.code = error.code;
  failure.details.append(error.details);
}

// The option's file, or that of the public data.
Result<fs::path> input(const OptionValues& options, const std::string& name,
                       const std::string& in_data) {
  if (options.has(name)) return fs::path{options.text(name)};
  const auto data = formats::data_dir();
  if (data && fs::exists(*data / in_data)) return *data / in_data;
  return bad_input(Diagnostic{{},
                              0,
                              "--" + name,
                              {},
                              fmt::format("a file, or the public data with {}: set WEIR_DATA to "
                                          "the folder that has it",
                                          in_data)});
}

std::optional<Time> day_of(const std::string& text) {
  return formats::parse_time(text + "T00:00:00Z");
}

// The first job comes when the file begins.
std::vector<simulate::StudyPlace> place_of_file(const fs::path& path, Time first,
                                                std::vector<std::string>& notes, Error& failure) {
  const auto supply = formats::read_supply(path);
  if (!supply) {
    add(failure, supply.error());
    return {};
  }
  if (supply->kind.quantity == SupplyQuantity::power_cap) {
    failure.details.add({path.string(), 1, "--supply", to_string(supply->kind),
                         "carbon or prices by the hour; for a cap see weir simulate --power-cap"});
    return {};
  }
  for (const std::string& note : formats::to_lines(supply->repairs)) notes.push_back(note);
  notes.push_back(fmt::format("budgets are of {}", to_string(supply->kind)));
  const SupplySeries& series = supply->series;
  return {{path.stem().string(), formats::format_time(series.begin()),
           series.shifted(first - series.begin())}};
}

// Every region from every day on, on the workload's clock.
std::vector<simulate::StudyPlace> read_places(const OptionValues& options, Time first,
                                              std::vector<std::string>& notes, Error& failure) {
  std::vector<simulate::StudyPlace> places;
  const auto known = formats::carbon_regions("--region");
  if (!known) {
    add(failure, known.error());
    return places;
  }
  const auto chosen = formats::choose_regions(*known, options.texts("region"), "--region");
  if (!chosen) {
    add(failure, chosen.error());
    return places;
  }
  for (const formats::CarbonRegion& region : *chosen) {
    const auto supply = formats::read_supply(region.series);
    if (!supply) {
      add(failure, supply.error());
      continue;
    }
    for (const std::string& note : formats::to_lines(supply->repairs))
      notes.push_back(region.name + ": " + note);
    ForecastBook forecasts;
    if (region.forecast) {
      auto read = formats::read_forecast(*region.forecast);
      if (!read) {
        add(failure, read.error());
        continue;
      }
      if (read->kind == supply->kind) forecasts = std::move(read->book);
    }
    for (const std::string& text : options.texts("start")) {
      const auto day = day_of(text);
      const SupplySeries& series = supply->series;
      if (!day || *day < series.begin() || *day >= series.end()) {
        failure.details.add({{},
                             0,
                             "--start",
                             text,
                             fmt::format("a day such as 2021-07-14 that {} knows: {} to {}",
                                         region.name, formats::format_time(series.begin()),
                                         formats::format_time(series.end()))});
        continue;
      }
      if (series.end() - *day < kMonth)
        notes.push_back(
            fmt::format("{} from {}: less than 30 days are known, then its last day repeats",
                        region.name, text));
      places.push_back({region.name, text, series.shifted(first - *day)});
      if (forecasts.known_at(*day) != nullptr)
        places.back().forecasts = forecasts.shifted(first - *day);
    }
  }
  return places;
}

Result<simulate::StudySetup> read_setup(const OptionValues& options,
                                        std::vector<std::string>& notes) {
  Error failure{ErrorCode::bad_input, {}};
  simulate::StudySetup setup;
  const auto curves_file = input(options, "curves", "elasticflow/throughput_a100");
  const auto jobs_file = input(options, "jobs", "elasticflow/traces/195job.csv.gz");
  if (!curves_file) add(failure, curves_file.error());
  if (!jobs_file) add(failure, jobs_file.error());
  auto cluster = formats::read_cluster_or_shorthand(options.text("cluster"));
  if (!cluster) add(failure, cluster.error());
  if (!failure.details.empty()) return tl::unexpected(std::move(failure));
  std::optional<std::string> gpu;
  if (options.has("gpu")) gpu = options.text("gpu");
  auto curves = formats::read_curves(*curves_file, gpu);
  if (!curves) return tl::unexpected(curves.error());
  auto workload = formats::read_training(*jobs_file, *curves);
  if (!workload) return tl::unexpected(workload.error());
  setup.cluster = std::move(*cluster);
  setup.workload = std::move(*workload);
  predict::PowerAssumptions assumed;
  assumed.clock_bound_share = options.number("clock-share");
  assumed.gpu.static_share = options.number("static-share");
  setup.books = {predict::power_book(*curves, assumed)};
  setup.curves = {std::move(*curves)};
  const Time first = first_submission(setup.workload);
  setup.places = options.has("supply")
                     ? place_of_file(options.text("supply"), first, notes, failure)
                     : read_places(options, first, notes, failure);
  if (!failure.details.empty()) return tl::unexpected(std::move(failure));
  setup.budget_percents = options.integers("budgets");
  setup.without_largest_job = options.flag("without-largest");
  setup.expected_permille = 10 * options.integer("expected");
  setup.price_memory = std::chrono::hours{options.integer("memory")};
  return setup;
}

Diagnostics check_budgets_options(const OptionValues& options) {
  Diagnostics mistakes;
  std::vector<fs::path> inputs;
  if (options.has("supply")) {
    for (const char* option : {"region", "start"}) {
      if (options.is_given(option))
        mistakes.add(
            {{}, 0, fmt::format("--{}", option), {}, "left out: --supply has its own hours"});
    }
  }
  for (const char* option : {"jobs", "curves", "supply"}) {
    if (options.has(option)) inputs.emplace_back(options.text(option));
  }
  if (options.has("report")) check_output("--report", options.text("report"), inputs, mistakes);
  return mistakes;
}

std::string text_of(const OptionValues& options, const simulate::BudgetStudy& study,
                    const std::vector<std::string>& notes) {
  const auto percents = options.integers("budgets");
  std::string text = report::to_text(report::completion_table(study, percents)) + "\n" +
                     report::to_text(report::gain_table(study, percents)) + "\n" +
                     report::to_text(report::used_table(study, percents));
  text += fmt::format(
      "\n{} jobs, deadlines left out, all finished by every way; {} places; {} simulations.\n"
      "100 %: what elastic-capped uses without caps. A dash: the budget is out of reach "
      "somewhere.\n"
      "Best caps and one price are found with hindsight; steered ways expect {} % of the work "
      "that\n"
      "comes and know no more. Power is modelled: docs/models/energy.md.\n",
      study.jobs, study.places.size(), study.runs, options.integer("expected"));
  for (const std::string& note : notes) text += fmt::format("Note: {}.\n", note);
  return text + "\n" + options.recipe() + "\n";
}

}  // namespace

CommandSpec carbon_budgets_spec() {
  return {
      .name = "carbon budgets",
      .summary = "Tell how soon jobs are done under a carbon budget, by policy.",
      .about =
          "Plays training jobs, deadlines left out, in some regions of the grid from some days on, "
          "under budgets of carbon: weir's price for carbon (green) with hindsight and steered "
          "without, and policies with limits for sizes and clocks, tuned just as carefully. All "
          "are compared at the same carbon, and all finish the same jobs. Without options: the "
          "experiment of docs/models/energy.md on the public data.",
      .options =
          {{.name = "jobs",
            .type = OptionType::file,
            .help =
                "Training jobs, as for weir simulate --jobs. Default: 195job of the public data."},
           {.name = "curves",
            .type = OptionType::file,
            .help =
                "How fast they train, as for weir simulate --curves. Default: the A100 tables of "
                "the public data."},
           {.name = "gpu",
            .type = OptionType::text,
            .help = "The kind of GPU, where --curves has several."},
           {.name = "cluster",
            .type = OptionType::text,
            .default_text = "16x8xA100",
            .help = "Nodes x GPUs x model, or a cluster file."},
           {.name = "region",
            .type = OptionType::text_list,
            .default_text = "ciso,de,pjm",
            .help = "Regions of the public data (under WEIR_DATA)."},
           {.name = "start",
            .type = OptionType::text_list,
            .default_text = "2021-07-14,2021-08-25,2021-10-06,2021-11-17",
            .help = "The days on which the first job comes (UTC)."},
           {.name = "supply",
            .type = OptionType::file,
            .help = "Instead: one file of carbon or prices by the hour, from its first hour on, as "
                    "for weir simulate --supply."},
           {.name = "budgets",
            .type = OptionType::integer_list,
            .unit = "%",
            .default_text = "40,50,60,70,80,90,100",
            .least = 1,
            .most = 1000,
            .help = "Budgets, in percent of what the policy elastic-capped emits without caps."},
           {.name = "without-largest",
            .type = OptionType::flag,
            .help = "Leave the largest job out: one job may emit a large part of the whole."},
           {.name = "expected",
            .type = OptionType::integer,
            .unit = "%",
            .default_text = "100",
            .least = 1,
            .most = 1000,
            .help = "How much work steered policies expect, of what really comes."},
           {.name = "memory",
            .type = OptionType::integer,
            .unit = "h",
            .default_text = "24",
            .least = 0,
            .most = 10000,
            .help = "How slowly steered policies follow what would be right for the budget; 0: at "
                    "once."},
           {.name = "clock-share",
            .type = OptionType::number,
            .default_text = "0.4",
            .least = 0,
            .most = 1,
            .help = "Assumed: how much of a job's computing follows the clock."},
           {.name = "static-share",
            .type = OptionType::number,
            .default_text = "0.35",
            .least = 0,
            .most = 1,
            .help = "Assumed: how much of a GPU's highest power it draws at any clock."},
           {.name = "report",
            .type = OptionType::file,
            .help = "Write a page with plots to this HTML file. It opens without a network.",
            .in_recipe = false},
           {.name = "json",
            .type = OptionType::flag,
            .help = "Print JSON for programs instead of text for people.",
            .in_recipe = false}},
      .examples = {
          {"weir carbon budgets", "What does a carbon price give, beside well-tuned caps?"},
          {"weir carbon budgets --region ciso --start 2021-07-14 --budgets 50,70 --report "
           "budgets.html",
           "One region, one day, and a page with the curve."},
          {"weir carbon budgets --supply examples/energy/tariff.csv --budgets 50,70,90",
           "Money instead of carbon: what does it help to know the tariff's hours?"}}};
}

Result<void> carbon_budgets_command(const OptionValues& options, Console& console) {
  if (auto mistakes = check_budgets_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  std::vector<std::string> notes;
  auto setup = read_setup(options, notes);
  if (!setup) return tl::unexpected(setup.error());
  ProgressDisplay progress{console.err, console.err_is_terminal};
  setup->on_progress = [&](std::size_t done, std::size_t all) {
    progress.advance("places", done, all);
  };
  const simulate::BudgetStudy study = simulate::study_budgets(*setup);
  progress.wipe();
  std::string text;
  if (options.flag("json")) {
    auto json = report::budget_json(study);
    if (!json) return tl::unexpected(std::move(json.error()));
    text = std::move(*json);
  } else {
    text = text_of(options, study, notes);
  }
  if (options.has("report")) {
    report::ReportHeader header{options.recipe(), std::string{kVersion}, {}};
    header.facts = {{"jobs", std::to_string(study.jobs)},
                    {"places", std::to_string(study.places.size())}};
    const OutputFile file{options.text("report"),
                          report::budget_report(header, study, setup->budget_percents)};
    if (auto written = write_files({&file, 1}); !written) return written;
    console.err << "wrote " << file.path.string() << "\n";
  }
  console.out << text;
  return {};
}

}  // namespace weir::cli
