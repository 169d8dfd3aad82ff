// SPDX-License-Identifier: Apache-2.0
#include "cli/fitted_device.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/measured_iterations_csv.h"
#include "predict/kernels/fit_host.h"

namespace weir::cli {
namespace {

std::map<std::string, std::string> measured_versions(const TableFolder& folder) {
  std::map<std::string, std::string> versions;
  std::ifstream file{std::filesystem::path{folder.path} / (folder.prefix + "about.json")};
  const auto about = nlohmann::json::parse(file, nullptr, false);
  if (!about.is_object()) return versions;
  for (const char* key : {"date", "torch", "cuda", "cudnn"})
    if (about.contains(key))
      versions[key] = about[key].is_string() ? about[key].get<std::string>() : about[key].dump();
  return versions;
}

}  // namespace

DeviceTable device_table(const DeviceSpec& device, const KernelTable& table) {
  DeviceTable one{device, {}, {}};
  for (const KernelSample& sample : table.samples)
    (sample.is_held_out ? one.held_out : one.fitting).push_back(&sample);
  return one;
}

Result<std::vector<MeasuredIteration>> read_iterations(const TableFolder& folder) {
  for (const char* ending : {".csv", ".csv.gz"}) {
    const std::filesystem::path path =
        std::filesystem::path{folder.path} / (folder.prefix + "iterations" + ending);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    auto input = formats::InputFile::open(path);
    if (!input) return tl::unexpected(input.error());
    return formats::read_measured_iterations(std::move(*input));
  }
  return std::vector<MeasuredIteration>{};
}

FittedDevice fit_device(const DeviceTable& table, const std::vector<MeasuredIteration>& iterations,
                        const predict::KernelFitOptions& how, const TableFolder& folder) {
  FittedDevice fit;
  const predict::KernelsAlone alone =
      predict::kernels_alone(table.fitting, table.device, how.with_drift);
  fit.drift = alone.drift;
  fit.model = predict::fit_kernels(alone.pointers, table.device, how);
  fit.model.versions = measured_versions(folder);
  predict::fit_host(iterations, fit.model);
  auto checked = predict::check_kernels(fit.model, table.held_out, fit.drift);
  predict::mark_covered(table.fitting, checked);
  fit.figures = predict::checked_figures(checked);
  for (const auto& [key, one] : fit.figures) {
    if (key.find(' ') != std::string::npos) continue;
    fit.model.errors[key] = one.known;
    fit.model.errors[key + " predicted"] = one.predicted;
  }
  return fit;
}

}  // namespace weir::cli
