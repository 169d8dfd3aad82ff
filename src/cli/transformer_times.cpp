// SPDX-License-Identifier: Apache-2.0
#include "cli/transformer_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "cli/embedded_kernel_models.h"
#include "formats/kernel_model_json.h"
#include "predict/transformer/kernel_times.h"

namespace weir::cli {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower{text};
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// "h200" of "H200-141G": kernels are the chip's, whatever its memory.
std::string chip_of(const predict::GpuType& gpu) {
  return lower_case(gpu.name.substr(0, gpu.name.find('-')));
}

// "NVIDIA H200" has the word "h200"; "NVIDIA GH200 480GB" has not.
bool is_of_chip(const std::string& device, const std::string& chip) {
  const std::string name = lower_case(device);
  const auto is_letter = [&](std::size_t i) {
    return i < name.size() && std::isalnum(static_cast<unsigned char>(name[i])) != 0;
  };
  for (std::size_t at = name.find(chip); at != std::string::npos; at = name.find(chip, at + 1)) {
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + chip.size())) return true;
  }
  return false;
}

Result<KernelModel> model_of_file(const std::string& path, const predict::GpuType& gpu) {
  auto input = formats::InputFile::open(path, formats::kMaxKernelModelBytes);
  if (!input) return tl::unexpected(input.error());
  auto model = formats::read_kernel_model(std::move(*input));
  if (model && !is_of_chip(model->device.name, chip_of(gpu))) {
    return bad_input(
        {path, 0, "device", model->device.name, fmt::format("a model of {}, as --gpu", gpu.name)});
  }
  return model;
}

}  // namespace

Result<std::shared_ptr<const predict::ComputeTimes>> read_compute_times(
    const OptionValues& options, const predict::GpuType& gpu,
    const predict::RuntimeTraits& runtime) {
  using Times = std::shared_ptr<const predict::ComputeTimes>;
  const std::string& wanted = options.text("times");
  const bool has_file = options.has("kernel-model");
  if (wanted == "analytic") {
    if (has_file)
      return bad_input({{}, 0, "--kernel-model", "given", "none with --times analytic"});
    return Times{};
  }
  const auto inside = embedded_kernel_models();
  const std::string chip = chip_of(gpu);
  if (wanted == "auto" && !has_file && gpu.is_described) return Times{};
  if (!has_file && std::find(inside.begin(), inside.end(), chip) == inside.end()) {
    if (wanted == "auto") return Times{};
    return bad_input({{},
                      0,
                      "--times",
                      wanted,
                      fmt::format("analytic, or --kernel-model with a file that `weir kernels fit` "
                                  "wrote for {}: inside are {}",
                                  gpu.name, fmt::join(inside, ", "))});
  }
  auto model =
      has_file ? model_of_file(options.text("kernel-model"), gpu) : embedded_kernel_model(chip);
  if (!model) return tl::unexpected(model.error());
  return Times{std::make_shared<const predict::KernelTimes>(std::move(*model), runtime)};
}

std::shared_ptr<const predict::ComputeTimes> times_of_kernels_inside(
    const predict::GpuType& gpu, const predict::RuntimeTraits& runtime) {
  static const std::map<std::string, Result<KernelModel>> kInside = [] {
    std::map<std::string, Result<KernelModel>> models;
    for (const std::string_view name : embedded_kernel_models())
      models.emplace(std::string{name}, embedded_kernel_model(name));
    return models;
  }();
  if (gpu.is_described) return nullptr;
  const auto model = kInside.find(chip_of(gpu));
  if (model == kInside.end() || !model->second) return nullptr;
  return std::make_shared<const predict::KernelTimes>(*model->second, runtime);
}

}  // namespace weir::cli
