// SPDX-License-Identifier: Apache-2.0
#include "cli/carbon_power_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "domain/nearest_name.h"
#include "formats/curves.h"
#include "formats/data_dir.h"
#include "formats/file_title.h"
#include "formats/zeus_sweeps.h"
#include "predict/energy/power_book.h"
#include "report/power_book_tables.h"
#include "report/sweep_summary.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

Diagnostics check_power_options(const OptionValues& options) {
  Diagnostics mistakes;
  if (options.has("curves") && options.has("sweeps")) {
    mistakes.add({{}, 0, "--sweeps", {}, "to be left out beside --curves: one or the other"});
  }
  for (const char* option : {"gpu", "model"}) {
    if (options.has(option) && !options.has("curves")) {
      mistakes.add({{},
                    0,
                    fmt::format("--{}", option),
                    options.text(option),
                    "--curves beside it: sweeps are shown for all their jobs"});
    }
  }
  return mistakes;
}

tl::unexpected<Error> no_public_sweeps(std::string found) {
  return bad_input(Diagnostic{{},
                              0,
                              "--sweeps",
                              std::move(found),
                              "the public data: set WEIR_DATA to the folder that has "
                              "carbon/power, or name files of your own"});
}

Result<std::vector<std::string>> public_sweeps() {
  const auto data = formats::data_dir();
  if (!data) return no_public_sweeps("");
  const fs::path folder = *data / "carbon" / "power";
  std::vector<std::string> files;
  std::error_code error;
  fs::directory_iterator at{folder, error};
  for (; !error && at != fs::directory_iterator{}; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("zeus_power_") && formats::is_csv_name(name))
      files.push_back(at->path().string());
  }
  if (error) return no_public_sweeps(fmt::format("{} ({})", folder.string(), error.message()));
  if (files.empty()) return no_public_sweeps(fmt::format("{} (no sweeps)", folder.string()));
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<report::SweepSummary>> summaries_of(const std::vector<std::string>& files) {
  std::vector<report::SweepSummary> summaries;
  Error failure{ErrorCode::bad_input, {}};
  for (const std::string& file : files) {
    const auto sweeps = formats::read_zeus_sweeps(fs::path{file});
    if (sweeps) {
      summaries.push_back(report::summarise_sweeps(file, *sweeps));
      continue;
    }
    if (sweeps.error().code != ErrorCode::bad_input) failure.code = sweeps.error().code;
    failure.details.append(sweeps.error().details);
  }
  if (!failure.details.empty()) return tl::unexpected(std::move(failure));
  return summaries;
}

Result<std::string> sweeps_text(const OptionValues& options) {
  const auto files = options.has("sweeps")
                         ? Result<std::vector<std::string>>{options.texts("sweeps")}
                         : public_sweeps();
  if (!files) return tl::unexpected(files.error());
  const auto summaries = summaries_of(*files);
  if (!summaries) return tl::unexpected(summaries.error());
  if (options.flag("json")) return report::sweeps_json(*summaries);
  return fmt::format("{}\n{}\n{}\n{}\n", report::to_text(report::saving_table(*summaries)),
                     report::to_text(report::sweep_fit_table(*summaries)), report::sweep_legend(),
                     options.recipe());
}

// Keeps the tables of one model only.
Result<void> keep_model(PowerBook& book, const std::string& model) {
  std::set<std::string> names;
  for (const auto& [key, table] : book.tables) names.insert(key.model);
  std::erase_if(book.tables, [&](const auto& entry) { return entry.first.model != model; });
  if (!book.tables.empty()) return {};
  const std::vector<std::string> known{names.begin(), names.end()};
  return bad_input(
      Diagnostic{{},
                 0,
                 "--model",
                 model,
                 fmt::format("one of {}{}", fmt::join(known, ", "), did_you_mean(model, known))});
}

Result<std::string> curves_text(const OptionValues& options) {
  std::optional<std::string> gpu;
  if (options.has("gpu")) gpu = options.text("gpu");
  const auto curves = formats::read_curves(options.text("curves"), gpu);
  if (!curves) return tl::unexpected(curves.error());
  PowerBook book = predict::power_book(*curves, predict::PowerAssumptions{});
  if (options.has("model")) {
    if (auto kept = keep_model(book, options.text("model")); !kept)
      return tl::unexpected(kept.error());
  }
  if (options.flag("json")) return report::power_book_json(book);
  std::string text;
  for (const report::Table& table : report::power_book_tables(book))
    text += report::to_text(table) + "\n";
  return text + report::power_book_legend(book) + "\n" + options.recipe() + "\n";
}

}  // namespace

CommandSpec carbon_power_spec() {
  return {
      .name = "carbon power",
      .summary = "Tell what jobs draw, and what lower power limits and clocks save.",
      .about =
          "From sweeps over power limits: the energy that the best limit saves, how much slower "
          "jobs are under it, and how well weir's model of power and clock fits. Without files, "
          "the sweeps of the public data (V100, A40, P100, RTX6000). With --curves instead: what "
          "jobs draw at each size and clock, as a scheduler with a budget sees it; the rates at "
          "the full clock are measured, the rest is assumed as docs/models/energy.md says.",
      .options = {{.name = "sweeps",
                   .type = OptionType::file_list,
                   .help = "Sweeps of single-GPU jobs over power limits, one CSV file per kind of "
                           "GPU, with the columns dataset, network, batch_size, optimizer, "
                           "power_limit, time_per_epoch and average_power. May be gzip."},
                  {.name = "curves",
                   .type = OptionType::file,
                   .help = "Throughput of training jobs: a folder of tables or a JSON file, as for "
                           "weir simulate --curves."},
                  {.name = "gpu",
                   .type = OptionType::text,
                   .help = "With --curves: the kind of GPU, where a file has several."},
                  {.name = "model",
                   .type = OptionType::text,
                   .help = "With --curves: this model only."},
                  {.name = "json",
                   .type = OptionType::flag,
                   .help = "Print JSON for programs instead of text for people.",
                   .in_recipe = false}},
      .examples = {{"weir carbon power", "What does a power limit save?"},
                   {"weir carbon power --curves examples/curves --model resnet50",
                    "Which sizes and clocks can a job have, and what do they draw?"}}};
}

Result<void> carbon_power_command(const OptionValues& options, Console& console) {
  if (auto mistakes = check_power_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto text = options.has("curves") ? curves_text(options) : sweeps_text(options);
  if (!text) return tl::unexpected(text.error());
  console.out << *text;
  return {};
}

}  // namespace weir::cli
