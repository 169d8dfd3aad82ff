// SPDX-License-Identifier: Apache-2.0
#include "cli/kernels_commands.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <ostream>
#include <utility>

#include "cli/fitted_device.h"
#include "cli/output_files.h"
#include "formats/json_text.h"
#include "formats/kernel_model_json.h"
#include "formats/kernel_tables_csv.h"
#include "predict/kernels/check_kernels.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/error_figures.h"
#include "predict/kernels/iteration_prediction.h"
#include "predict/kernels/known_networks.h"
#include "predict/kernels/launch_dispatch.h"

namespace weir::cli {
namespace {

std::vector<OptionSpec> kernel_table_options() {
  return {{.name = "tables",
           .type = OptionType::file,
           .help = "Folder with gemm.csv, conv.csv, vec.csv, attention.csv, image.csv and "
                   "kernel_names.csv; gzip is as good.",
           .required = true},
          {.name = "prefix",
           .type = OptionType::text,
           .help = "What the names of the tables begin with, \"h200_\"."},
          {.name = "gpu",
           .type = OptionType::text,
           .help = "Only this device of the tables: h200, a100, \"Tesla T4\"."},
          {.name = "trees",
           .type = OptionType::integer,
           .default_text = "100",
           .least = 0,
           .most = 2000,
           .help = "Trees that correct the coefficients, for each kind of kernel. 0: none."},
          {.name = "no-drift",
           .type = OptionType::flag,
           .help = "Do not look for an overhead of calls that grows from row to row of a table."}};
}

predict::KernelFitOptions fit_options(const OptionValues& options) {
  predict::KernelFitOptions fit;
  fit.boosting.trees = static_cast<int>(options.integer("trees"));
  fit.with_corrections = fit.boosting.trees > 0;
  fit.with_drift = !options.flag("no-drift");
  return fit;
}

TableFolder table_folder(const OptionValues& options) {
  return {options.text("tables"), options.has("prefix") ? options.text("prefix") : ""};
}

// Where nothing is held out: another folder is there to check with, or nothing is to be checked.
bool takes_every_row(const OptionValues& options) {
  return options.has("against") || options.flag("every-row");
}

Result<std::vector<DeviceTable>> devices_of(const OptionValues& options,
                                            const std::vector<KernelTable>& tables) {
  std::vector<DeviceTable> devices;
  Diagnostics mistakes;
  std::string names;
  const bool is_any = !options.has("gpu");
  const auto wanted = is_any ? std::nullopt : predict::find_device(options.text("gpu"));
  const bool is_of_tables =
      !is_any && std::any_of(tables.begin(), tables.end(), [&](const KernelTable& table) {
        return table.device == options.text("gpu");
      });
  if (!is_any && !wanted && !is_of_tables)
    mistakes.add({{},
                  0,
                  "--gpu",
                  options.text("gpu"),
                  "a GPU that weir knows: h200, h100, a100, a100-80, v100, p100, t4, l4, p4"});
  for (const KernelTable& table : tables) {
    names += (names.empty() ? "" : ", ") + table.device;
    const auto device = device_of_table(table_folder(options), table);
    if (!device) {
      // Several devices may meet the same mistake of about.json.
      for (const Diagnostic& mistake : device.error().details.list())
        if (std::find(mistakes.list().begin(), mistakes.list().end(), mistake) ==
            mistakes.list().end())
          mistakes.add(mistake);
      continue;
    }
    if (!is_any && device->name != (wanted ? wanted->name : options.text("gpu"))) continue;
    DeviceTable one = device_table(*device, table);
    // Devices that are only in the test part of the public tables are fitted by that.
    if (one.fitting.empty() || takes_every_row(options)) {
      one.fitting.insert(one.fitting.end(), one.held_out.begin(), one.held_out.end());
      one.held_out.clear();
    }
    devices.push_back(std::move(one));
  }
  if (devices.empty() && mistakes.empty())
    mistakes.add({{}, 0, "--gpu", options.text("gpu"), "one of " + names});
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return devices;
}

std::string percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::string figures_row(const std::string& key, const predict::CheckedFigures& figures,
                        bool has_predicted) {
  const ErrorFigures& known = figures.known;
  return fmt::format("{:34} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6} {:>9} {:>8}\n", key, known.samples,
                     percent(known.mean), percent(known.median), percent(known.p90),
                     percent(known.bias), percent(known.within_10_percent),
                     has_predicted ? percent(figures.predicted.mean) : "",
                     percent(figures.roofline.mean));
}

std::string figures_text(const std::map<std::string, predict::CheckedFigures>& figures) {
  std::string text =
      fmt::format("{:34} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6} {:>9} {:>8}\n", "error in %",
                  "kernels", "mean", "median", "p90", "bias", "in 10", "predicted", "roofline");
  for (const auto& [key, one] : figures) text += figures_row(key, one, one.predicted.samples > 0);
  return text;
}

nlohmann::ordered_json error_json(const ErrorFigures& figures) {
  return {{"samples", figures.samples}, {"mean", figures.mean},
          {"median", figures.median},   {"p90", figures.p90},
          {"bias", figures.bias},       {"within_10_percent", figures.within_10_percent}};
}

nlohmann::ordered_json checked_json(const std::map<std::string, predict::CheckedFigures>& figures) {
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  for (const auto& [key, one] : figures) {
    document[key] = {{"launch_known", error_json(one.known)},
                     {"roofline", error_json(one.roofline)}};
    if (one.predicted.samples > 0) document[key]["launch_predicted"] = error_json(one.predicted);
  }
  return document;
}

// Predicted and measured iterations that no fit has seen.
std::string iterations_text(const KernelModel& model,
                            const std::vector<MeasuredIteration>& iterations) {
  const predict::KernelPredictor predictor{model};
  std::vector<double> errors;
  std::string rows;
  for (const MeasuredIteration& measured : iterations) {
    const auto ops = measured.is_judged ? predict::known_network(measured.network, measured.batch)
                                        : std::nullopt;
    if (!ops) continue;
    const auto predicted = predict::predict_iteration(predictor, *ops, measured.probe_microseconds);
    const double error = predicted.seconds * 1e3 / measured.milliseconds - 1;
    errors.push_back(std::abs(error));
    rows += fmt::format("{:12} {:>5} {:>5} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>+7.1f}  {}\n",
                        measured.network, measured.batch, measured.round, measured.milliseconds,
                        predicted.seconds * 1e3, predicted.gpu_seconds * 1e3,
                        predicted.cpu_seconds * 1e3, 100 * error,
                        predicted.is_launch_bound() ? "launch-bound" : "");
  }
  if (errors.empty()) return {};
  const predict::MedianAndWorst figures = predict::median_and_worst(std::move(errors));
  return fmt::format(
      "\n{:12} {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>7}\n{}median error {} %, worst {} %\n",
      "iteration", "batch", "round", "measured", "predicted", "GPU ms", "CPU ms", "error", rows,
      percent(figures.median), percent(figures.worst));
}

// "conv/conv: calls take 0.754 ms more in the last row (0.000, 0.101, 0.320, 0.544, 0.754 ms from the first to it): not counted as
// the kernel's"
std::string drift_text(const std::map<std::string, OverheadGrowth>& drift) {
  std::string text;
  for (const auto& [key, growth] : drift)
    text += fmt::format(
        "{}: calls take {:.3f} ms more in the last row ({:.3f} ms from the first to it): not "
        "counted as the kernel's\n",
        key, growth.last_milliseconds(), fmt::join(growth.milliseconds, ", "));
  return text;
}

nlohmann::ordered_json drift_json(const std::map<std::string, OverheadGrowth>& drift) {
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  for (const auto& [key, growth] : drift)
    document[key] = {{"last_row", growth.last_row}, {"ms_over_rows", growth.milliseconds}};
  return document;
}

// What was scored, beside the figures.
struct ScoredRows {
  std::size_t rows = 0;
  std::size_t covered = 0;
  std::size_t extrapolated = 0;
  std::size_t fitted = 0;    // their very call, sizes and all, was fitted to
  std::size_t unplaced = 0;  // their place matters and is not known
};

ScoredRows scored_rows(const KernelModel& model,
                       const std::vector<predict::CheckedKernel>& checked) {
  ScoredRows scored;
  scored.rows = checked.size();
  for (const predict::CheckedKernel& one : checked) {
    scored.covered += one.is_covered ? 1U : 0U;
    scored.extrapolated += one.is_extrapolated ? 1U : 0U;
    scored.unplaced += one.has_place ? 0U : 1U;
    const auto entries = model.dispatch.find(predict::dispatch_key(one.sample->call));
    if (entries == model.dispatch.end()) continue;
    const auto at = std::lower_bound(
        entries->second.begin(), entries->second.end(), one.sample->call.sizes,
        [](const DispatchEntry& entry, const KernelSizes& sizes) { return entry.sizes < sizes; });
    if (at != entries->second.end() && at->sizes == one.sample->call.sizes) ++scored.fitted;
  }
  return scored;
}

std::string scored_text(const ScoredRows& scored) {
  std::string text = fmt::format(
      "{} rows scored: {} covered, {} beyond what was measured, {} whose very call was fitted to\n",
      scored.rows, scored.covered, scored.extrapolated, scored.fitted);
  if (scored.unplaced > 0)
    text += fmt::format(
        "{} rows have no place in the fitted table, whose calls have an overhead that grows from "
        "row to row: each prediction is told with the middle of the overheads that it may have, "
        "which errs least. \"in order\": as if these rows stood in order, taken evenly out of that "
        "table. A column row tells their places\n",
        scored.unplaced);
  return text;
}

nlohmann::ordered_json scored_json(const ScoredRows& scored) {
  return {{"rows", scored.rows},
          {"covered", scored.covered},
          {"extrapolated", scored.extrapolated},
          {"fitted_calls", scored.fitted},
          {"without_place", scored.unplaced}};
}

}  // namespace

CommandSpec kernels_fit_spec() {
  CommandSpec spec = {
      .name = "kernels fit",
      .summary = "Fit a model of a GPU's kernels to measured times.",
      .about =
          "Reads tables of timed kernels (tools/collect writes them) and writes a model that `weir "
          "predict --kernel-model` "
          "takes. Fits to rows with split = train; what it prints are errors on the others. With "
          "iterations.csv beside the "
          "tables, how fast the CPU launches is fitted too, to iterations that are not judged.",
      .options = kernel_table_options(),
      .examples = {{"weir kernels fit --tables measured --out my-gpu.json",
                    "After tools/collect has run."}}};
  spec.options.push_back({.name = "every-row",
                          .type = OptionType::flag,
                          .help = "Fit to rows with split = test too: nothing is held out."});
  spec.options.push_back({.name = "out",
                          .type = OptionType::file,
                          .help = "The model, a JSON file.",
                          .required = true,
                          .in_recipe = false});
  return spec;
}

CommandSpec kernels_check_spec() {
  CommandSpec spec = {
      .name = "kernels check",
      .summary = "Tell how far predictions of kernels are off.",
      .about =
          "Fits as `weir kernels fit` does and compares with what was held out, or "
          "with --folds cross-validates by shape: "
          "a shape is in one part on every device. Errors are shares of the "
          "measured time; \"covered\" kernels are those "
          "of sequences that were measured 40 times or more; \"predicted\" is "
          "without knowing the launch. Where calls have an overhead that grows "
          "from row to row, \"without place\" is as if no row's place in the table "
          "were known, and \"perfect, no place\" the least error there can be then.",
      .options = kernel_table_options(),
      .examples = {{"weir kernels check --tables docs/measurements --prefix h200_",
                    "How good is the model that comes with weir?"},
                   {"weir kernels check --tables kernels --folds 5 --gpu a100",
                    "Cross-validated on the public tables."},
                   {"weir kernels check --tables kernels --against more-kernels",
                    "Fitted to one folder, scored on another."},
                   {"weir kernels check --kernel-model my-gpu.json --tables more",
                    "How good is this model on rows it has not seen?"}}};
  spec.options.push_back(
      {.name = "folds",
       .type = OptionType::integer,
       .least = 2,
       .most = 20,
       .help = "Cross-validate in so many parts instead of looking at what was held out."});
  spec.options.push_back(
      {.name = "against",
       .type = OptionType::file,
       .help = "Another folder of tables: fit to every row of --tables, whatever its split, and "
               "compare with every row of this folder."});
  spec.options.push_back(
      {.name = "kernel-model",
       .type = OptionType::file,
       .help = "A model that `weir kernels fit` wrote: fit nothing, compare it with every row that "
               "--tables has of its GPU."});
  spec.options.push_back({.name = "json",
                          .type = OptionType::flag,
                          .help = "Print JSON for programs instead of text for people.",
                          .in_recipe = false});
  return spec;
}

Result<void> kernels_fit_command(const OptionValues& options, Console& console) {
  const TableFolder folder = table_folder(options);
  Diagnostics mistakes;
  check_output("--out", options.text("out"), files_of(folder), mistakes);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  const auto tables = formats::read_kernel_tables(folder.path, folder.prefix);
  if (!tables) return tl::unexpected(tables.error());
  const auto devices = devices_of(options, *tables);
  if (!devices) return tl::unexpected(devices.error());
  if (devices->size() != 1)
    return bad_input(Diagnostic{
        {}, 0, "--gpu", "", fmt::format("one device: the tables hold {}", devices->size())});
  const auto iterations = read_iterations(folder);
  if (!iterations) return tl::unexpected(iterations.error());
  const FittedDevice fit = fit_device(devices->front(), *iterations, fit_options(options), folder);
  const auto json = formats::kernel_model_json(fit.model);
  if (!json) return tl::unexpected(json.error());
  const std::vector<OutputFile> files = {{options.text("out"), *json + "\n"}};
  if (auto written = write_files(files); !written) return written;
  console.out << fit.model.device.name << ": " << devices->front().fitting.size() << " kernels, "
              << fit.model.groups.size() << " groups\n"
              << drift_text(fit.model.drift);
  if (fit.figures.empty())
    console.out << "fitted to all rows, whatever their split: nothing is held out to check with\n";
  else
    console.out << figures_text(fit.figures);
  console.out << iterations_text(fit.model, *iterations);
  console.err << "wrote " << options.text("out") << "\n";
  return {};
}

// Families of kernels that several GPUs were checked on: the mean of their errors.
std::string means_text(const std::map<std::string, std::vector<double>>& means) {
  std::string text;
  for (const auto& [key, errors] : means) {
    if (errors.size() < 2) continue;
    text += fmt::format("{}: {} %, the mean of {} GPUs\n", key,
                        percent(std::accumulate(errors.begin(), errors.end(), 0.0) /
                                static_cast<double>(errors.size())),
                        errors.size());
  }
  return text;
}

namespace {

// What is told of one device.
struct DeviceCheck {
  std::string device{};
  std::map<std::string, predict::CheckedFigures> figures{};
  std::map<std::string, OverheadGrowth> drift{};
  std::optional<ScoredRows> scored{};
  std::string text{};     // further lines
  std::string skipped{};  // why nothing was checked
};

class ChecksOfDevices {
 public:
  explicit ChecksOfDevices(bool is_json) : is_json_{is_json} {}

  void add(const DeviceCheck& check, std::ostream& out) {
    for (const char* family : {"gemm", "conv", "rows"}) {
      for (const char* of :
           {"", " > 0.2 ms", " without place", " without place > 0.2 ms", " perfect, no place",
            " perfect, no place > 0.2 ms", " in order", " in order > 0.2 ms", " alone"}) {
        const std::string key = std::string{family} + of;
        if (const auto at = check.figures.find(key); at != check.figures.end())
          means_[key].push_back(at->second.known.mean);
      }
    }
    if (!is_json_) {
      out << check.device << "\n" << check.skipped;
      if (check.skipped.empty()) {
        out << drift_text(check.drift);
        if (check.scored) out << scored_text(*check.scored);
        out << figures_text(check.figures) << check.text;
      }
      out << "\n";
      return;
    }
    nlohmann::ordered_json& one = document_[check.device];
    one = checked_json(check.figures);
    if (!check.drift.empty()) one["overhead_drift"] = drift_json(check.drift);
    if (check.scored) one["scored"] = scored_json(*check.scored);
    if (!check.skipped.empty())
      one["skipped"] = check.skipped.substr(0, check.skipped.find_last_not_of('\n') + 1);
  }

  Result<void> finish(std::ostream& out) const {
    if (!is_json_) {
      out << means_text(means_);
      return {};
    }
    const auto json = formats::json_text(document_, formats::JsonLayout::indented);
    if (!json) return tl::unexpected(json.error());
    out << *json;
    return {};
  }

 private:
  bool is_json_ = false;
  nlohmann::ordered_json document_ = nlohmann::ordered_json::object();
  std::map<std::string, std::vector<double>> means_;
};

DeviceCheck scored_by(const KernelModel& model, const std::vector<const KernelSample*>& samples,
                      predict::RowPlaces places) {
  auto checked = predict::check_kernels(model, samples, places);
  predict::mark_covered(model, checked);
  DeviceCheck check;
  check.device = model.device.name;
  check.figures = predict::checked_figures(checked);
  check.drift = model.drift;
  check.scored = scored_rows(model, checked);
  return check;
}

const KernelTable* table_of_device(const std::vector<KernelTable>& tables,
                                   const DeviceSpec& device) {
  const auto at = std::find_if(tables.begin(), tables.end(), [&](const KernelTable& table) {
    const auto found = predict::find_device(table.device);
    return table.device == device.name || (found && found->name == device.name);
  });
  return at == tables.end() ? nullptr : &*at;
}

std::vector<const KernelSample*> every_row(const KernelTable& table) {
  std::vector<const KernelSample*> samples;
  samples.reserve(table.samples.size());
  for (const KernelSample& sample : table.samples) samples.push_back(&sample);
  return samples;
}

std::string device_names(const std::vector<KernelTable>& tables) {
  std::string names;
  for (const KernelTable& table : tables) names += (names.empty() ? "" : ", ") + table.device;
  return names;
}

// A model that was fitted before: nothing is fitted.
Result<void> score_with_model(const OptionValues& options, const TableFolder& folder,
                              const std::vector<KernelTable>& tables, Console& console) {
  auto input =
      formats::InputFile::open(options.text("kernel-model"), formats::kMaxKernelModelBytes);
  if (!input) return tl::unexpected(input.error());
  const auto model = formats::read_kernel_model(std::move(*input));
  if (!model) return tl::unexpected(model.error());
  const KernelTable* const table = table_of_device(tables, model->device);
  if (table == nullptr)
    return bad_input(Diagnostic{folder.path, 0, "device", device_names(tables),
                                fmt::format("{}, as in the model", model->device.name)});
  ChecksOfDevices checks{options.flag("json")};
  checks.add(scored_by(*model, every_row(*table), predict::RowPlaces::another_table), console.out);
  return checks.finish(console.out);
}

// Every row is left out once, whichever part of the table it is in.
std::vector<const KernelSample*> rows_to_cross_validate(const DeviceTable& table) {
  std::vector<const KernelSample*> all = table.fitting;
  all.insert(all.end(), table.held_out.begin(), table.held_out.end());
  return all;
}

// Where no device has shapes for two parts. With several devices, one that has too few is told as not checked.
Result<void> expect_shapes_for_folds(const TableFolder& folder,
                                     const std::vector<DeviceTable>& devices, int folds) {
  Diagnostics mistakes;
  for (const DeviceTable& table : devices) {
    const auto rows = rows_to_cross_validate(table);
    if (predict::can_cross_validate(rows, folds)) return {};
    mistakes.add({folder.path, 0, "rows of " + table.device.name,
                  fmt::format("{}, all in one of {} parts", rows.size(), folds),
                  "more shapes: parts are of shapes, and each is checked by the others"});
  }
  return bad_input(std::move(mistakes));
}

// With several devices, one that the other folder has no rows of is told as not checked.
Result<void> expect_a_device_of(const std::vector<DeviceTable>& devices,
                                const std::vector<KernelTable>& against,
                                const std::string& folder) {
  std::string names;
  for (const DeviceTable& table : devices) {
    if (table_of_device(against, table.device) != nullptr) return {};
    names += (names.empty() ? "" : " or ") + table.device.name;
  }
  return bad_input(Diagnostic{folder, 0, "device", device_names(against),
                              fmt::format("{}, as in --tables", names)});
}

DeviceCheck cross_validated(const OptionValues& options, const DeviceTable& table) {
  predict::KernelFitOptions fit = fit_options(options);
  fit.with_dispatch = false;  // of the launch itself
  const std::vector<const KernelSample*> all = rows_to_cross_validate(table);
  if (!predict::can_cross_validate(all, static_cast<int>(options.integer("folds")))) {
    DeviceCheck check;
    check.device = table.device.name;
    check.skipped = fmt::format(
        "not checked: its {} rows are all in one part, more shapes are needed\n", all.size());
    return check;
  }
  auto checked = predict::cross_validate_kernels(all, table.device, fit,
                                                 static_cast<int>(options.integer("folds")));
  DeviceCheck check;
  check.device = table.device.name;
  check.figures = predict::checked_figures(checked);
  if (fit.with_drift) check.drift = predict::find_overhead_drift(all, table.device).growth;
  return check;
}

DeviceCheck check_of_held_out(const OptionValues& options, const DeviceTable& table,
                              const std::vector<MeasuredIteration>& iterations,
                              const TableFolder& folder) {
  DeviceCheck check;
  check.device = table.device.name;
  if (table.held_out.empty()) {
    check.skipped = fmt::format(
        "not checked: its {} rows are all of one split, so nothing is held out; "
        "--folds and --against can check it\n",
        table.fitting.size());
    return check;
  }
  const FittedDevice fit = fit_device(table, iterations, fit_options(options), folder);
  check.figures = fit.figures;
  check.drift = fit.model.drift;
  check.text = iterations_text(fit.model, iterations);
  return check;
}

}  // namespace

Result<void> kernels_check_command(const OptionValues& options, Console& console) {
  Diagnostics mistakes;
  const auto alone = [&](const char* option, std::initializer_list<const char*> others) {
    if (!options.has(option)) return;
    for (const char* other : others)
      if (options.has(other))
        mistakes.add({{},
                      0,
                      fmt::format("--{}", other),
                      "given",
                      fmt::format("no such option with --{}", option)});
  };
  alone("kernel-model", {"against", "folds", "gpu"});
  alone("against", {"folds"});
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  const TableFolder folder = table_folder(options);
  const auto tables = formats::read_kernel_tables(folder.path, folder.prefix);
  if (!tables) return tl::unexpected(tables.error());
  if (options.has("kernel-model")) return score_with_model(options, folder, *tables, console);
  const auto devices = devices_of(options, *tables);
  if (!devices) return tl::unexpected(devices.error());
  if (options.has("folds")) {
    if (auto enough =
            expect_shapes_for_folds(folder, *devices, static_cast<int>(options.integer("folds")));
        !enough)
      return enough;
  }
  std::vector<KernelTable> against;
  if (options.has("against")) {
    auto read = formats::read_kernel_tables(options.text("against"), folder.prefix);
    if (!read) return tl::unexpected(read.error());
    against = std::move(*read);
    if (auto same = expect_a_device_of(*devices, against, options.text("against")); !same)
      return same;
  }
  const auto iterations = read_iterations(folder);
  if (!iterations) return tl::unexpected(iterations.error());
  ChecksOfDevices checks{options.flag("json")};
  for (const DeviceTable& table : *devices) {
    if (options.has("folds")) {
      checks.add(cross_validated(options, table), console.out);
    } else if (!options.has("against")) {
      checks.add(check_of_held_out(options, table, *iterations, folder), console.out);
    } else if (const KernelTable* other = table_of_device(against, table.device)) {
      const FittedDevice fit = fit_device(table, *iterations, fit_options(options), folder);
      checks.add(scored_by(fit.model, every_row(*other), predict::RowPlaces::another_table),
                 console.out);
    } else {
      DeviceCheck check;
      check.device = table.device.name;
      check.skipped = "not checked: --against has no rows of it\n";
      checks.add(check, console.out);
    }
  }
  return checks.finish(console.out);
}

}  // namespace weir::cli
