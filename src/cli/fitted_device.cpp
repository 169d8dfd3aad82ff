// SPDX-License-Identifier: Apache-2.0
#include "cli/fitted_device.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/measured_iterations_csv.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/fit_host.h"

namespace weir::cli {
namespace {

nlohmann::json about_of(const TableFolder& folder) {
  std::ifstream file{std::filesystem::path{folder.path} / (folder.prefix + "about.json")};
  return nlohmann::json::parse(file, nullptr, false);
}

// 0 where there is none that makes sense.
double about_number(const nlohmann::json& about, const char* key) {
  const auto at = about.find(key);
  if (at == about.end() || !at->is_number()) return 0;
  const double value = at->get<double>();
  return value >= 1 && value <= 1e15 ? value : 0;
}

// By compute capability; others have 64.
double warps_per_sm(const nlohmann::json& about) {
  const auto at = about.find("capability");
  if (at == about.end() || !at->is_array() || at->size() != 2 || !at->front().is_number_integer() ||
      !at->back().is_number_integer())
    return 64;
  const auto major = at->front().get<std::int64_t>();
  const auto minor = at->back().get<std::int64_t>();
  if (major == 7 && minor == 5) return 32;
  return (major == 8 && minor >= 6) || major == 12 ? 48 : 64;
}

std::map<std::string, std::string> measured_versions(const TableFolder& folder) {
  std::map<std::string, std::string> versions;
  const nlohmann::json about = about_of(folder);
  if (!about.is_object()) return versions;
  for (const char* key : {"date", "torch", "cuda", "cudnn"})
    if (about.contains(key))
      versions[key] = about[key].is_string() ? about[key].get<std::string>() : about[key].dump();
  return versions;
}

}  // namespace

std::optional<DeviceSpec> device_of_table(const TableFolder& folder, const KernelTable& table) {
  if (auto known = predict::find_device(table.device)) return known;
  const nlohmann::json about = about_of(folder);
  if (!about.is_object() || !about.contains("device") || about["device"] != table.device)
    return std::nullopt;
  DeviceSpec device;
  device.name = table.device;
  device.sms = about_number(about, "sm_count");
  device.l2_bytes = about_number(about, "l2_bytes");
  device.clock_mhz = about.contains("at_start") && about["at_start"].is_object()
                         ? about_number(about["at_start"], "highest_sm_clock_mhz")
                         : 0;
  device.max_warps_per_sm = warps_per_sm(about);
  if (device.sms < 1 || device.clock_mhz < 1) return std::nullopt;
  device = predict::with_reached_rates(std::move(device), table.samples);
  if (!(device.bytes_per_second >= 1)) return std::nullopt;
  return device;
}

std::string described_device(const TableFolder& folder) {
  const nlohmann::json about = about_of(folder);
  return about.is_object() && about.contains("device") && about["device"].is_string()
             ? about["device"].get<std::string>()
             : "";
}

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
  fit.model = predict::fit_kernels_alone(table.fitting, table.device, how);
  fit.model.versions = measured_versions(folder);
  predict::fit_host(iterations, fit.model);
  auto checked = predict::check_kernels(fit.model, table.held_out);
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
