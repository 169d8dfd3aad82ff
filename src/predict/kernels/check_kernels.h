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
#include "predict/kernels/overhead_drift.h"

namespace weir::predict {

struct CheckedKernel {
  const KernelSample* sample = nullptr;
  double known = 0;      // seconds, the launch known
  double predicted = 0;  // the launch predicted; 0: not asked
  double roofline = 0;   // by the fitted roofline
  double overhead = 0;   // seconds of each of them that drifted (overhead_drift.h)
  double alone = 0;      // measured, without that
  KernelClass kind = KernelClass::dram_bound;
  bool is_covered = false;  // its sequence of kernels was fitted by enough samples of its own
};

// By the model as it is; what the measured times hold besides the kernels is added to each prediction.
std::vector<CheckedKernel> check_kernels(const KernelModel& model,
                                         const std::vector<const KernelSample*>& samples,
                                         const OverheadDrift& drift = {});

// Each shape by a model that has not seen it, in so many parts. The overhead that drifts is found anew in each part's
// rows to fit to, unless options say not to look for it.
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
// By "gemm", "gemm > 0.2 ms", "gemm covered", "gemm covered > 0.2 ms", "gemm compute-bound" ..., "gemm bf16 linear"; "rows
// and image", which wait for memory; and "conv alone" where calls have an overhead that drifts: as a share of what the
// kernels took, not of the call.
std::map<std::string, CheckedFigures> checked_figures(const std::vector<CheckedKernel>& checked);

}  // namespace weir::predict
