// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/device_specs.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "predict/kernels/kernel_work.h"

namespace weir::predict {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMebibyte = 1024.0 * 1024.0;

std::string letters_and_digits(std::string_view name) {
  std::string kept;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') kept += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) kept += c;
  }
  return kept;
}

struct ShortName {
  std::string_view name;
  std::string_view driver_name;
};
constexpr std::array<ShortName, 9> kShortNames{{{"h200", "NVIDIA H200"},
                                                {"h100", "NVIDIA H100 80GB HBM3"},
                                                {"a100", "NVIDIA A100-PCIE-40GB"},
                                                {"a100-80", "NVIDIA A100 80GB PCIe"},
                                                {"v100", "Tesla V100-PCIE-32GB"},
                                                {"p100", "Tesla P100-PCIE-16GB"},
                                                {"t4", "Tesla T4"},
                                                {"l4", "NVIDIA L4"},
                                                {"p4", "Tesla P4"}}};

// As the catalogue of GPU types calls them.
constexpr std::array<ShortName, 8> kOtherNames{{{"H200-141G", "NVIDIA H200"},
                                                {"H100-80G", "NVIDIA H100 80GB HBM3"},
                                                {"A100-40G", "NVIDIA A100-PCIE-40GB"},
                                                {"A100-80G", "NVIDIA A100 80GB PCIe"},
                                                {"V100-32G", "Tesla V100-PCIE-32GB"},
                                                {"P100-16G", "Tesla P100-PCIE-16GB"},
                                                {"T4-16G", "Tesla T4"},
                                                {"L4-24G", "NVIDIA L4"}}};

}  // namespace

std::span<const DeviceSpec> known_devices() {
  // Clocks are the highest of the sheets; float32 rates of the public tables are SMs x lanes x clock.
  static const std::vector<DeviceSpec> kDevices = {
      {"NVIDIA H200",
       132,
       1980,
       4800 * kGiga,
       60 * kMebibyte,
       {{"bf16", 989 * kTera}, {"tf32", 494 * kTera}, {"fp32", 66.908 * kTera}},
       64},
      {"NVIDIA H100 80GB HBM3",
       132,
       1980,
       3430 * kGiga,
       50 * kMebibyte,
       {{"bf16", 989 * kTera}, {"tf32", 494 * kTera}, {"fp32", 66.908 * kTera}},
       64},
      {"NVIDIA A100-PCIE-40GB",
       108,
       1410,
       1555 * kGiga,
       40 * kMebibyte,
       {{"bf16", 312 * kTera}, {"tf32", 156 * kTera}, {"fp32", 19.492 * kTera}},
       64},
      {"NVIDIA A100 80GB PCIe",
       108,
       1410,
       1935 * kGiga,
       40 * kMebibyte,
       {{"bf16", 312 * kTera}, {"tf32", 156 * kTera}, {"fp32", 19.492 * kTera}},
       64},
      {"Tesla V100-PCIE-32GB",
       80,
       1370,
       900 * kGiga,
       6 * kMebibyte,
       {{"fp32", 14.029 * kTera}},
       64},
      {"Tesla P100-PCIE-16GB", 56, 1328, 732 * kGiga, 4 * kMebibyte, {{"fp32", 9.519 * kTera}}, 64},
      {"Tesla T4", 40, 1590, 320 * kGiga, 4 * kMebibyte, {{"fp32", 8.141 * kTera}}, 32},
      {"NVIDIA L4",
       60,
       2040,
       300 * kGiga,
       48 * kMebibyte,
       {{"bf16", 121 * kTera}, {"tf32", 60 * kTera}, {"fp32", 31.334 * kTera}},
       48},
      {"Tesla P4", 40, 1113, 192 * kGiga, 2 * kMebibyte, {{"fp32", 5.699 * kTera}}, 64}};
  return kDevices;
}

std::optional<DeviceSpec> find_device(std::string_view name) {
  std::string wanted = letters_and_digits(name);
  for (const std::span<const ShortName> names :
       {std::span<const ShortName>{kShortNames}, std::span<const ShortName>{kOtherNames}}) {
    for (const ShortName& one : names)
      if (letters_and_digits(one.name) == wanted) wanted = letters_and_digits(one.driver_name);
  }
  for (const DeviceSpec& device : known_devices())
    if (letters_and_digits(device.name) == wanted) return device;
  return std::nullopt;
}

std::string short_device_name(std::string_view name) {
  for (const ShortName& one : kShortNames)
    if (letters_and_digits(one.driver_name) == letters_and_digits(name))
      return std::string{one.name};
  return std::string{name};
}

namespace {

// Convolutions may do less than they are counted with: Winograd's arithmetic, or a stride that skips inputs.
double most_flops(std::span<const KernelSample> samples, const std::string& dtype,
                  KernelFamily family) {
  double most = 0;
  for (const KernelSample& sample : samples)
    if (sample.call.family == family && sample.call.dtype == dtype)
      most = std::max(most, kernel_work(sample.call).flops / (sample.milliseconds * 1e-3));
  return most;
}

// What fits into the L2 cache says nothing about DRAM.
double most_bytes(std::span<const KernelSample> samples, double l2_bytes, KernelFamily family) {
  double most = 0;
  for (const KernelSample& sample : samples) {
    const double bytes = kernel_work(sample.call).bytes;
    if (sample.call.family == family && bytes > 4 * l2_bytes)
      most = std::max(most, bytes / (sample.milliseconds * 1e-3));
  }
  return most;
}

}  // namespace

DeviceSpec with_reached_rates(DeviceSpec spec, std::span<const KernelSample> samples) {
  std::set<std::string> formats;
  for (const KernelSample& sample : samples) formats.insert(sample.call.dtype);
  for (const std::string& format : formats) {
    double most = most_flops(samples, format, KernelFamily::gemm);
    if (most == 0) most = most_flops(samples, format, KernelFamily::conv);
    if (most > 0) spec.flops[format] = std::max(spec.flops[format], most);
  }
  double most = most_bytes(samples, spec.l2_bytes, KernelFamily::rows);
  for (const KernelFamily family : {KernelFamily::image, KernelFamily::gemm, KernelFamily::conv})
    if (most == 0) most = most_bytes(samples, spec.l2_bytes, family);
  spec.bytes_per_second = std::max(spec.bytes_per_second, most);
  return spec;
}

}  // namespace weir::predict
