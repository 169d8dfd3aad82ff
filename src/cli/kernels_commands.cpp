// SPDX-License-Identifier: Apache-2.0
#include "cli/kernels_commands.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "cli/fitted_device.h"
#include "cli/output_files.h"
#include "formats/json_text.h"
#include "formats/kernel_model_json.h"
#include "formats/kernel_tables_csv.h"
#include "predict/kernels/check_kernels.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/iteration_prediction.h"
#include "predict/kernels/known_networks.h"

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

Result<std::vector<DeviceTable>> devices_of(const OptionValues& options,
                                            const std::vector<KernelTable>& tables) {
  std::vector<DeviceTable> devices;
  Diagnostics mistakes;
  std::string names;
  const auto wanted = options.has("gpu") ? predict::find_device(options.text("gpu")) : std::nullopt;
  if (options.has("gpu") && !wanted)
    mistakes.add({{},
                  0,
                  "--gpu",
                  options.text("gpu"),
                  "a GPU that weir knows: h200, h100, a100, a100-80, v100, p100, t4, l4, p4"});
  for (const KernelTable& table : tables) {
    names += (names.empty() ? "" : ", ") + table.device;
    const auto device = predict::find_device(table.device);
    if (!device) {
      mistakes.add({options.text("tables"), 0, "device", table.device,
                    "a GPU that weir knows (src/predict/kernels/device_specs.cpp)"});
      continue;
    }
    if (wanted && wanted->name != device->name) continue;
    DeviceTable one = device_table(*device, table);
    // Devices that are only in the test part of the public tables are fitted by that.
    if (one.fitting.empty()) std::swap(one.fitting, one.held_out);
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
  std::sort(errors.begin(), errors.end());
  return fmt::format(
      "\n{:12} {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>7}\n{}median error {} %, worst {} %\n",
      "iteration", "batch", "round", "measured", "predicted", "GPU ms", "CPU ms", "error", rows,
      percent(errors[(errors.size() - 1) / 2]), percent(errors.back()));
}

// "conv/conv: calls take 0.178 us more from row to row, 0.754 ms in the last: not counted as the kernel's"
std::string drift_text(const predict::OverheadDrift& drift) {
  std::string text;
  for (const auto& [key, growth] : drift.growth)
    text += fmt::format(
        "{}: calls take {:.3f} us more from row to row, {:.3f} ms in the last: not counted as the "
        "kernel's\n",
        key, growth.milliseconds_per_row * 1e3, growth.last_milliseconds());
  return text;
}

nlohmann::ordered_json drift_json(const predict::OverheadDrift& drift) {
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  for (const auto& [key, growth] : drift.growth)
    document[key] = {{"us_per_row", growth.milliseconds_per_row * 1e3},
                     {"last_row_ms", growth.last_milliseconds()}};
  return document;
}

TableFolder table_folder(const OptionValues& options) {
  return {options.text("tables"), options.has("prefix") ? options.text("prefix") : ""};
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
  spec.options.push_back({.name = "out",
                          .type = OptionType::file,
                          .help = "The model, a JSON file.",
                          .required = true,
                          .in_recipe = false});
  return spec;
}

CommandSpec kernels_check_spec() {
  CommandSpec spec = {.name = "kernels check",
                      .summary = "Tell how far predictions of kernels are off.",
                      .about =
                          "Fits as `weir kernels fit` does and compares with what was held out, or "
                          "with --folds cross-validates by shape: "
                          "a shape is in one part on every device. Errors are shares of the "
                          "measured time; \"covered\" kernels are those "
                          "of sequences that were measured 40 times or more; \"predicted\" is "
                          "without knowing the launch.",
                      .options = kernel_table_options(),
                      .examples = {{"weir kernels check --tables docs/measurements --prefix h200_",
                                    "How good is the model that comes with weir?"},
                                   {"weir kernels check --tables kernels --folds 5 --gpu a100",
                                    "Cross-validated on the public tables."}}};
  spec.options.push_back(
      {.name = "folds",
       .type = OptionType::integer,
       .least = 2,
       .most = 20,
       .help = "Cross-validate in so many parts instead of looking at what was held out."});
  spec.options.push_back({.name = "json",
                          .type = OptionType::flag,
                          .help = "Print JSON for programs instead of text for people.",
                          .in_recipe = false});
  return spec;
}

Result<void> kernels_fit_command(const OptionValues& options, Console& console) {
  Diagnostics mistakes;
  check_output("--out", options.text("out"), {}, mistakes);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  const TableFolder folder = table_folder(options);
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
              << drift_text(fit.drift) << figures_text(fit.figures)
              << iterations_text(fit.model, *iterations);
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

Result<void> kernels_check_command(const OptionValues& options, Console& console) {
  const TableFolder folder = table_folder(options);
  const auto tables = formats::read_kernel_tables(folder.path, folder.prefix);
  if (!tables) return tl::unexpected(tables.error());
  const auto devices = devices_of(options, *tables);
  if (!devices) return tl::unexpected(devices.error());
  const auto iterations = read_iterations(folder);
  if (!iterations) return tl::unexpected(iterations.error());
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  std::map<std::string, std::vector<double>> means;
  for (const DeviceTable& table : *devices) {
    std::map<std::string, predict::CheckedFigures> figures;
    predict::OverheadDrift drift;
    std::string text;
    if (options.has("folds")) {
      predict::KernelFitOptions fit = fit_options(options);
      fit.with_dispatch = false;  // of the launch itself
      // Every row is left out once, whichever part of the table it is in.
      std::vector<const KernelSample*> all = table.fitting;
      all.insert(all.end(), table.held_out.begin(), table.held_out.end());
      auto checked = predict::cross_validate_kernels(all, table.device, fit,
                                                     static_cast<int>(options.integer("folds")));
      predict::mark_covered(all, checked);
      figures = predict::checked_figures(checked);
      if (fit.with_drift) drift = predict::find_overhead_drift(all, table.device);
    } else {
      if (table.held_out.empty()) continue;
      const FittedDevice fit = fit_device(table, *iterations, fit_options(options), folder);
      figures = fit.figures;
      drift = fit.drift;
      text = iterations_text(fit.model, *iterations);
    }
    for (const char* family : {"gemm", "conv", "rows"}) {
      for (const std::string& key : {std::string{family}, std::string{family} + " > 0.2 ms",
                                     std::string{family} + " alone"}) {
        if (const auto at = figures.find(key); at != figures.end())
          means[key].push_back(at->second.known.mean);
      }
    }
    if (options.flag("json")) {
      document[table.device.name] = checked_json(figures);
      if (!drift.growth.empty()) document[table.device.name]["overhead_drift"] = drift_json(drift);
    } else {
      console.out << table.device.name << "\n"
                  << drift_text(drift) << figures_text(figures) << text << "\n";
    }
  }
  if (!options.flag("json")) {
    console.out << means_text(means);
    return {};
  }
  const auto json = formats::json_text(document, formats::JsonLayout::indented);
  if (!json) return tl::unexpected(json.error());
  console.out << *json;
  return {};
}

}  // namespace weir::cli
