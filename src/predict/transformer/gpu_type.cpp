// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/gpu_type.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace weir::predict {
namespace {

// docs/reference/gpus.md has this table for people; a test compares them.
// Rates, memory and links: NVIDIA's data sheets (V100 2020-01, A100 2021-06, H100 2023-03, H200 2024-11,
// L40S 2023-08). The A10G is AWS's variant of the A10, with the same memory and 70 instead of 125 TFLOP/s (Baseten, "NVIDIA
// A10 vs A10G for ML model inference"). A800 and H800 are A100 and H100 with NVLink at 400 GB/s both ways. Networks: the
// vendor's reference node (DGX-1V 4 x 100 Gb, DGX A100 8 x 200 Gb, DGX H100 8 x 400 Gb), L40S and A10G as cloud
// nodes have them. GEMM: what training sustains. A100: 0.78, the one constant set on measured runs: the eight of Korthikanti
// et al. 2022, table 5 (22B to 1T), which are in no other comparison. That is nine tenths of the best case of the "maximum
// achievable matmul FLOPS" tables of ml-engineering (271 of 312); the same nine tenths of its H100 (792 of 989), others taken
// as the nearest of their kind. Attention: FlashAttention-2 (A100 up to 73 % forward, 63 % backward), FlashAttention-3 (H100
// up to 65 % with a causal mask, backward 55 %); V100, A10G and L40S have no published kernel of that quality: an assumption.
// Prices: an order of magnitude of 2024 on-demand offers, to be replaced with --price.
constexpr std::array<GpuType, 10> kGpuTypes{{
    {"V100-16G", 125, 16, 900, 150, 0.80, 4, 100, 0.80, 0.35, 0.30, 1.5},
    {"V100-32G", 125, 32, 900, 150, 0.80, 4, 100, 0.80, 0.35, 0.30, 1.7},
    {"A10G", 70, 24, 600, 16, 0.75, 1, 100, 0.70, 0.45, 0.40, 1.0},
    {"L40S", 362, 48, 864, 32, 0.75, 1, 100, 0.70, 0.45, 0.40, 1.5},
    {"A100-40G", 312, 40, 1555, 300, 0.78, 8, 200, 0.78, 0.70, 0.60, 2.0},
    {"A100-80G", 312, 80, 2039, 300, 0.78, 8, 200, 0.78, 0.70, 0.60, 2.5},
    {"A800-80G", 312, 80, 2039, 200, 0.78, 8, 200, 0.78, 0.70, 0.60, 2.5},
    {"H100-80G", 989, 80, 3352, 450, 0.78, 8, 400, 0.72, 0.62, 0.54, 4.0},
    {"H800-80G", 989, 80, 3352, 200, 0.78, 8, 400, 0.72, 0.62, 0.54, 4.0},
    {"H200-141G", 989, 141, 4800, 450, 0.78, 8, 400, 0.72, 0.62, 0.54, 5.0},
}};

constexpr double kShortSequence = 512;
constexpr double kLaunchSeconds = 5e-6;
// Streaming kernels come to about nine tenths of the sheet (BabelStream on A100: 1.8 of 2.0 TB/s).
constexpr double kMemoryShare = 0.9;

double saturated(double size, double half) {
  return size / (size + half);
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::toupper(x) == std::toupper(y);
  });
}

double attention_seconds(const GpuType& gpu, double share, double flops, double tokens) {
  if (flops <= 0) return 0;
  return flops / (gpu.tflops * 1e12 * share * saturated(tokens, kShortSequence));
}

}  // namespace

std::span<const GpuType> gpu_types() {
  return kGpuTypes;
}

bool is_chip_of(std::string_view name, const GpuType& type) {
  return same_name(type.name.substr(0, type.name.find('-')), name);
}

const GpuType* find_gpu_type(std::string_view name) {
  for (const GpuType& type : kGpuTypes) {
    if (same_name(type.name, name)) return &type;
  }
  const GpuType* found = nullptr;
  for (const GpuType& type : kGpuTypes) {
    if (!is_chip_of(name, type)) continue;
    if (found != nullptr) return nullptr;
    found = &type;
  }
  return found;
}

std::string gpu_type_names() {
  std::string names;
  for (const GpuType& type : kGpuTypes) {
    if (!names.empty()) names += ", ";
    names += type.name;
  }
  return names;
}

double gemm_seconds(const GpuType& gpu, double m, double n, double k) {
  if (m <= 0 || n <= 0 || k <= 0) return 0;
  const double efficiency = gpu.gemm_efficiency * saturated(m, gpu.short_side) *
                            saturated(n, gpu.short_side) * saturated(k, gpu.short_side);
  const double computing = 2.0 * m * n * k / (gpu.tflops * 1e12 * efficiency);
  return std::max(computing, memory_seconds(gpu, 2.0 * (m * k + k * n + m * n))) + kLaunchSeconds;
}

double attention_forward_seconds(const GpuType& gpu, double flops, double tokens) {
  return attention_seconds(gpu, gpu.attention_forward, flops, tokens);
}

double attention_backward_seconds(const GpuType& gpu, double flops, double tokens) {
  return attention_seconds(gpu, gpu.attention_backward, flops, tokens);
}

double memory_seconds(const GpuType& gpu, double bytes) {
  return bytes / (gpu.memory_gb_s * 1e9 * kMemoryShare);
}

}  // namespace weir::predict
