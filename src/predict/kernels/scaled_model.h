// SPDX-License-Identifier: Apache-2.0
//
// A GPU that nobody measured, from one that was (after Habitat, ATC'21): a kernel's time scales with bandwidth as far as it
// waits for memory, and with the rate of its arithmetic as far as it computes. (Habitat has SMs x clock there, which misses
// that SMs have become wider: products on an H100 come out 72 % off from an A100 by that, 19 % by the rate.) Kernels may
// differ on the other GPU: such predictions are marked, and err by more, a third on average.
#pragma once

#include "domain/kernel_model.h"
#include "predict/kernels/kernel_predictor.h"

namespace weir::predict {

// How many times as long a call takes on `to` as on `from`. Requires: both have SMs and bandwidth.
double habitat_factor(const KernelCall& call, const DeviceSpec& from, const DeviceSpec& to,
                      double blocks);

// What an empty kernel takes in a CUDA graph: hardly different from GPU to GPU. Measured on the H200 (docs/measurements,
// h200_about.json).
inline constexpr double kEmptyKernelSeconds = 1.3e-6;

// `seconds` of a call on `from`, as it takes on `to`: all but the launches of its kernels is scaled.
double scaled_seconds(const KernelCall& call, double seconds, double kernels, double blocks,
                      const DeviceSpec& from, const DeviceSpec& to);

}  // namespace weir::predict
