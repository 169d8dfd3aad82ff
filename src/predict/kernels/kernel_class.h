// SPDX-License-Identifier: Apache-2.0
//
// What a kernel waits for: arithmetic, memory, or nothing but itself because it does not fill the GPU.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::predict {

enum class KernelClass : std::uint8_t { compute_bound, dram_bound, under_utilised };

inline constexpr std::array<std::string_view, 3> kKernelClassNames = {
    "compute-bound", "memory-bound", "under-utilised"};

constexpr std::string_view to_string(KernelClass kind) {
  return kKernelClassNames[static_cast<std::size_t>(kind)];
}

inline constexpr double kFewestWarps = 8;  // on an SM, to hide how long everything takes

// intensity: FLOPs per byte; ridge: where the fitted roofline bends.
constexpr KernelClass kernel_class(double blocks, double sms, double warps_per_sm, double intensity,
                                   double ridge) {
  if (blocks < sms || warps_per_sm < kFewestWarps) return KernelClass::under_utilised;
  return intensity >= ridge ? KernelClass::compute_bound : KernelClass::dram_bound;
}

// Between the larger of both and 2^(1/6) of it: no jump where a kernel changes its class.
inline double soft_maximum(double a, double b) {
  constexpr double kPower = 6;
  const double larger = a > b ? a : b;
  const double smaller = a > b ? b : a;
  if (!(larger > 0)) return larger;
  return larger * std::pow(1 + std::pow(smaller / larger, kPower), 1 / kPower);
}

}  // namespace weir::predict
