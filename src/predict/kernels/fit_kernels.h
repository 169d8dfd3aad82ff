// SPDX-License-Identifier: Apache-2.0
//
// From measured kernels to a model: a roofline, coefficients by group of kernels (non-negative least squares of
// relative errors), trees that correct them, and what was launched for which shape. Deterministic.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "domain/kernel_call.h"
#include "domain/kernel_model.h"
#include "predict/kernels/boosted_trees.h"

namespace weir::predict {

struct KernelFitOptions {
  std::int64_t least_group = 16;  // fewer samples fall back to a more general group
  BoostingOptions boosting{};
  BoostingOptions shape_boosting{120, 5, 0.15, 8};
  bool with_corrections = true;
  // For whoever fits to a table as it was measured: look for overhead_drift.h first. fit_kernels takes samples as they are.
  bool with_drift = true;
  // "family/op" of calls whose times are too noisy, one by one, to correct their neighbours by.
  std::set<std::string> noisy{};
  bool with_dispatch = true;  // learn launches too, and corrections for predicted ones
};

// Requires: samples of that device with a launch each.
KernelModel fit_kernels(std::span<const KernelSample* const> samples, const DeviceSpec& device,
                        const KernelFitOptions& options);

}  // namespace weir::predict
