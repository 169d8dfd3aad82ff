// SPDX-License-Identifier: Apache-2.0
//
// What one task asks of one node. A task takes a share of one GPU (gpu_count 1, gpu_share < 1000),
// or whole GPUs (gpu_share 1000), or none (both 0). A share always comes from a single GPU.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include "domain/gpu_model.h"
#include "domain/units.h"

namespace weir {

inline constexpr int kMaxGpusPerNode = 16;

struct Shape {
  MilliCpu cpu;
  Mebibytes memory;
  std::int32_t gpu_count = 0;
  MilliGpu gpu_share;  // of each GPU
  GpuModelSet models;

  constexpr bool is_cpu_only() const { return gpu_count == 0; }
  constexpr bool shares_gpu() const { return gpu_count == 1 && gpu_share < kWholeGpu; }
  constexpr MilliGpu gpu_total() const { return gpu_share * gpu_count; }

  friend constexpr auto operator<=>(const Shape&, const Shape&) = default;
};

// What the rest of weir takes for granted: nothing negative, at most kMaxGpusPerNode GPUs, a share
// of 1..1000 with one GPU, whole GPUs with several, no share without a GPU.
constexpr bool is_well_formed(const Shape& shape) {
  if (shape.cpu < MilliCpu{0} || shape.memory < Mebibytes{0}) return false;
  if (shape.gpu_count < 0 || shape.gpu_count > kMaxGpusPerNode) return false;
  if (shape.gpu_count == 0) return shape.gpu_share == MilliGpu{0};
  if (shape.gpu_count > 1) return shape.gpu_share == kWholeGpu;
  return shape.gpu_share > MilliGpu{0} && shape.gpu_share <= kWholeGpu;
}

}  // namespace weir

template <>
struct std::hash<weir::Shape> {
  std::size_t operator()(const weir::Shape& shape) const noexcept {
    std::uint64_t h = 0;
    const auto mix = [&h](std::uint64_t v) {
      h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 29;
    };
    mix(static_cast<std::uint64_t>(shape.cpu.value));
    mix(static_cast<std::uint64_t>(shape.memory.value));
    mix(static_cast<std::uint64_t>(shape.gpu_total().value) ^
        (static_cast<std::uint64_t>(shape.gpu_count) << 32));
    mix(shape.models.bits());
    return h;
  }
};
