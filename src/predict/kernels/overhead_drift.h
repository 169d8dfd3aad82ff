// SPDX-License-Identifier: Apache-2.0
//
// A time that was taken around one eager call holds what the CPU needs before the first kernel starts. In the public
// convolution tables that grows from row to row, up to 0.8 ms in the last ones, as if every call had to search all
// calls before it; kernels there take 1 to 3 ms. Where rows stand in an order that has nothing to do with their work,
// their number is one more column of the least squares, and its coefficient that growth.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "domain/kernel_call.h"
#include "domain/kernel_model.h"
#include "predict/kernels/fit_kernels.h"

namespace weir::predict {

std::string drift_key(const KernelCall& call);  // "family/op"

struct OverheadDrift {
  std::map<std::string, OverheadGrowth> growth{};  // by "family/op"; not there: none found

  const OverheadGrowth* growth_of(const KernelCall& call) const;  // null: none
  double milliseconds(const KernelSample& sample) const;
  // What is left of the measured time, at least a fifth of it.
  double kernel_milliseconds(const KernelSample& sample) const;
  static double kernel_milliseconds(const KernelSample& sample, double overhead);
};

// What to expect of a call whose kernels take `kernel`, anywhere in a table with these overheads in rows evenly from the first
// to the last: the middle of all times when they weigh by what they are divided by. It has the least mean relative error of
// all constants; where the overhead grows from 0 to d evenly it is sqrt(k (k + d)).
double with_unknown_overhead(double kernel, std::span<const double> overheads);

// Beyond the last row it grows as before it.
double overhead_at(const OverheadGrowth& growth, double row);

OverheadDrift find_overhead_drift(std::span<const KernelSample* const> samples,
                                  const DeviceSpec& device);

// Samples with their drift taken out, and the pointers that a fit takes.
struct KernelsAlone {
  OverheadDrift drift{};
  std::vector<KernelSample> samples{};
  std::vector<const KernelSample*> pointers{};

  KernelsAlone() = default;
  KernelsAlone(KernelsAlone&&) = default;  // the samples stay where they are
  KernelsAlone& operator=(KernelsAlone&&) = default;
  KernelsAlone(const KernelsAlone&) = delete;
  KernelsAlone& operator=(const KernelsAlone&) = delete;
};
// Without `looks_for_drift`, as they are.
KernelsAlone kernels_alone(std::span<const KernelSample* const> samples, const DeviceSpec& device,
                           bool looks_for_drift = true);

// Fitted to the kernels alone, and with the drift that was taken out.
KernelModel fit_kernels_alone(std::span<const KernelSample* const> samples,
                              const DeviceSpec& device, const KernelFitOptions& options);

}  // namespace weir::predict
