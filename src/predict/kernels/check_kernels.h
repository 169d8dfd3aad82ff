// SPDX-License-Identifier: Apache-2.0
//
// How far predictions are off on shapes that were not fitted to.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/kernel_call.h"
#include "predict/kernels/error_figures.h"
#include "predict/kernels/fit_kernels.h"
#include "predict/kernels/kernel_class.h"
#include "predict/kernels/kernel_predictor.h"

namespace weir::predict {

struct CheckedKernel {
  const KernelSample* sample = nullptr;
  double known = 0;      // seconds, the launch known
  double predicted = 0;  // the launch predicted; 0: not asked
  double roofline = 0;   // by the fitted roofline
  KernelClass kind = KernelClass::dram_bound;
  bool is_covered = false;  // its sequence of kernels was fitted by enough samples of its own
};

// By the model as it is. `covered`: fewest samples of a sequence of kernels, counted over `among`.
std::vector<CheckedKernel> check_kernels(const KernelModel& model,
                                         const std::vector<const KernelSample*>& samples);

// Each shape by a model that has not seen it, in so many parts.
std::vector<CheckedKernel> cross_validate_kernels(const std::vector<const KernelSample*>& samples,
                                                  const DeviceSpec& device,
                                                  const KernelFitOptions& options, int folds);

inline constexpr std::int64_t kCoveredSamples = 40;
// Marks what is covered: at least kCoveredSamples of `among` launch the same sequence of kernels for the same operator.
void mark_covered(const std::vector<const KernelSample*>& among,
                  std::vector<CheckedKernel>& checked);

struct CheckedFigures {
  ErrorFigures known{};
  ErrorFigures predicted{};
  ErrorFigures roofline{};
};
// By "gemm", "gemm > 0.2 ms", "gemm covered", "gemm covered > 0.2 ms", "gemm compute-bound" ..., "gemm bf16 linear".
std::map<std::string, CheckedFigures> checked_figures(const std::vector<CheckedKernel>& checked);

}  // namespace weir::predict
