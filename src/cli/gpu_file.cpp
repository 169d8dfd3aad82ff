// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_file.h"

#include <utility>

#include "formats/gpu_types_yaml.h"

namespace weir::cli {
namespace {

// The models count elements of two bytes: where they have four, half as many pass in a second. The optimizer's update comes
// to 68 bytes an element then, about what PyTorch moves without fused kernels. Memory is counted as for two bytes.
predict::GpuType as_type(const formats::DescribedGpu& gpu) {
  const double per_byte = 2.0 / gpu.element_bytes;
  predict::GpuType type;
  type.tflops = gpu.tflops;
  type.memory_gib = gpu.memory_gib;
  type.memory_gb_s = gpu.memory_gb_s * per_byte;
  type.link_gb_s = gpu.link_gb_s * per_byte;
  type.link_efficiency = gpu.link_efficiency;
  type.nics = gpu.nics;
  type.nic_gbit_s = gpu.nic_gbit_s * per_byte;
  type.gemm_efficiency = gpu.gemm_efficiency;
  type.attention_forward = gpu.attention_forward;
  type.attention_backward = gpu.attention_backward;
  type.price_per_hour = gpu.price_per_hour;
  type.latency_us = gpu.latency_us;
  type.short_side = gpu.short_side;
  type.call_us = gpu.call_us;
  type.is_described = true;
  return type;
}

}  // namespace

OptionSpec gpu_file_option(std::string help) {
  return {.name = "gpu-file", .type = OptionType::file, .help = std::move(help)};
}

Result<GpuFile> read_gpu_file(const OptionValues& options) {
  if (!options.has("gpu-file")) return GpuFile{};
  return read_gpu_file(std::filesystem::path{options.text("gpu-file")});
}

Result<GpuFile> read_gpu_file(const std::filesystem::path& path) {
  GpuFile file;
  const auto types = formats::read_gpu_types_yaml(path);
  if (!types) return tl::unexpected(types.error());
  for (const formats::DescribedGpu& gpu : *types) file.catalogue.add(gpu.name, as_type(gpu));
  file.first = types->front().name;
  return file;
}

}  // namespace weir::cli
