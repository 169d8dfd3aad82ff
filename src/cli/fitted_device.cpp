// SPDX-License-Identifier: Apache-2.0
#include "cli/fitted_device.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "formats/input_file.h"
#include "formats/json_cursor.h"
#include "formats/json_values.h"
#include "formats/kernel_tables_csv.h"
#include "formats/measured_iterations_csv.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/fit_host.h"

namespace weir::cli {
namespace {

constexpr std::uint64_t kMaxAboutBytes = std::uint64_t{1} << 20;
constexpr std::int64_t kMostSms = 100'000;
constexpr std::int64_t kMostClockMhz = 100'000;
constexpr std::int64_t kMostL2Bytes = std::int64_t{1} << 50;
constexpr std::array<std::string_view, 5> kAboutKeys = {"device", "sm_count", "l2_bytes",
                                                        "capability", "at_start"};
constexpr std::array<std::string_view, 1> kAtStartKeys = {"highest_sm_clock_mhz"};
constexpr std::array<std::string_view, 4> kVersionKeys = {"date", "torch", "cuda", "cudnn"};
constexpr std::string_view kDeviceRule = "the name of the GPU that was measured";
constexpr std::string_view kNeededOfAbout =
    "device, sm_count and at_start.highest_sm_clock_mhz, as tools/collect writes it";

// Plain and gzip.
std::array<std::filesystem::path, 2> iterations_paths(const TableFolder& folder) {
  const std::filesystem::path path{folder.path};
  return {path / (folder.prefix + "iterations.csv"), path / (folder.prefix + "iterations.csv.gz")};
}

std::string about_path(const TableFolder& folder) {
  return (std::filesystem::path{folder.path} / (folder.prefix + "about.json")).string();
}

// Nothing when the folder has no such file.
Result<std::optional<std::string>> about_text(const TableFolder& folder) {
  const std::string path = about_path(folder);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  auto input = formats::InputFile::open(path, kMaxAboutBytes);
  if (!input) return tl::unexpected(input.error());
  auto text = input->read_all(kMaxAboutBytes);
  if (!text) return tl::unexpected(text.error());
  return std::optional<std::string>{std::move(*text)};
}

std::string about_device(formats::JsonValues& json, const formats::JsonValue& root,
                         const formats::JsonValues::Members& about) {
  const auto at = about.find("device");
  std::string name;
  if (at == about.end()) {
    json.reject_missing(root, "device", std::string{kDeviceRule});
  } else if (!formats::JsonCursor{at->second.text}.take_string(name) || name.empty()) {
    json.reject(at->second, std::string{kDeviceRule});
  }
  return name;
}

// 0 where the key is missing or wrong, which is noted.
double about_number(formats::JsonValues& json, const formats::JsonValue& object,
                    const formats::JsonValues::Members& members, std::string_view key,
                    std::int64_t most) {
  const auto at = members.find(key);
  if (at != members.end())
    return static_cast<double>(json.integer(at->second, 1, most).value_or(0));
  json.reject_missing(object, key, fmt::format("an integer from 1 to {}", most));
  return 0;
}

double about_clock_mhz(formats::JsonValues& json, const formats::JsonValue& root,
                       const formats::JsonValues::Members& about) {
  const auto at = about.find("at_start");
  if (at == about.end()) {
    json.reject_missing(root, "at_start.highest_sm_clock_mhz",
                        fmt::format("an integer from 1 to {}", kMostClockMhz));
    return 0;
  }
  const std::size_t before = json.mistakes().total();
  const auto members = json.members(at->second, kAtStartKeys);
  if (json.mistakes().total() > before) return 0;  // no object, or the key twice
  return about_number(json, at->second, members, kAtStartKeys[0], kMostClockMhz);
}

// By compute capability; others have 64.
double warps_per_sm(formats::JsonValues& json, const formats::JsonValues::Members& about) {
  const auto at = about.find("capability");
  if (at == about.end()) return 64;
  std::vector<std::int64_t> parts;
  formats::JsonCursor list{at->second.text};
  if (list.enter_array()) {
    while (list.next_element()) {
      std::string_view part;
      list.skip_value(part);
      parts.push_back(formats::json_integer(part).value_or(-1));
    }
  }
  if (parts.size() != 2 || parts[0] < 0 || parts[1] < 0) {
    json.reject(at->second, "a list of two integers, such as [9, 0]");
    return 64;
  }
  if (parts[0] == 7 && parts[1] == 5) return 32;
  return (parts[0] == 8 && parts[1] >= 6) || parts[0] == 12 ? 48 : 64;
}

std::map<std::string, std::string> measured_versions(const TableFolder& folder) {
  std::map<std::string, std::string> versions;
  const auto text = about_text(folder);
  if (!text || !*text) return versions;
  formats::JsonValues json{about_path(folder), **text};
  const auto root = json.root();
  if (!root) return versions;
  for (const auto& [key, value] : json.members(*root, kVersionKeys)) {
    std::string version;
    const bool is_text = formats::JsonCursor{value.text}.take_string(version);
    versions[std::string{key}] = is_text ? version : std::string{value.text};
  }
  return versions;
}

}  // namespace

std::vector<std::filesystem::path> files_of(const TableFolder& folder) {
  std::vector<std::filesystem::path> files =
      formats::kernel_table_paths(folder.path, folder.prefix);
  for (const std::filesystem::path& path : iterations_paths(folder)) files.push_back(path);
  files.emplace_back(about_path(folder));
  return files;
}

Result<DeviceSpec> device_of_table(const TableFolder& folder, const KernelTable& table) {
  const auto known = predict::find_device(table.device);
  const auto text = about_text(folder);
  if (!text) return tl::unexpected(text.error());
  if (!*text && known) return *known;
  if (!*text)
    return bad_input(
        Diagnostic{folder.path, 0, "device", table.device,
                   fmt::format("a GPU that weir knows, or a file {} (it is missing) with {}",
                               about_path(folder), kNeededOfAbout)});
  formats::JsonValues json{about_path(folder), **text};
  const auto root = json.root();
  if (!root) return bad_input(json.mistakes());
  const auto about = json.members(*root, kAboutKeys);
  if (!json.mistakes().empty()) return bad_input(json.mistakes());
  if (known) return *known;
  DeviceSpec device;
  device.name = about_device(json, *root, about);
  if (!device.name.empty() && device.name != table.device)
    json.reject(about.at("device"), fmt::format("{}, as in the tables", table.device));
  device.sms = about_number(json, *root, about, "sm_count", kMostSms);
  device.clock_mhz = about_clock_mhz(json, *root, about);
  device.max_warps_per_sm = warps_per_sm(json, about);
  if (const auto at = about.find("l2_bytes"); at != about.end())
    device.l2_bytes = static_cast<double>(json.integer(at->second, 0, kMostL2Bytes).value_or(0));
  if (!json.mistakes().empty()) return bad_input(json.mistakes());
  device = predict::with_reached_rates(std::move(device), table.samples);
  if (!(device.bytes_per_second >= 1))
    return bad_input(Diagnostic{folder.path, 0, "device", table.device,
                                "calls that move more than four times its l2_bytes: they tell how "
                                "fast its memory is"});
  return device;
}

Result<std::string> described_device(const TableFolder& folder) {
  const auto text = about_text(folder);
  if (!text) return tl::unexpected(text.error());
  if (!*text)
    return bad_input(Diagnostic{about_path(folder), 0, "file", "",
                                fmt::format("a file with {}", kNeededOfAbout)});
  formats::JsonValues json{about_path(folder), **text};
  const auto root = json.root();
  if (!root) return bad_input(json.mistakes());
  const auto about = json.members(*root, kAboutKeys);
  std::string name;
  if (json.mistakes().empty()) name = about_device(json, *root, about);
  if (!json.mistakes().empty()) return bad_input(json.mistakes());
  return name;
}

DeviceTable device_table(const DeviceSpec& device, const KernelTable& table) {
  DeviceTable one{device, {}, {}};
  for (const KernelSample& sample : table.samples)
    (sample.is_held_out ? one.held_out : one.fitting).push_back(&sample);
  return one;
}

Result<std::vector<MeasuredIteration>> read_iterations(const TableFolder& folder) {
  for (const std::filesystem::path& path : iterations_paths(folder)) {
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
