// SPDX-License-Identifier: Apache-2.0
//
// How long a training iteration takes: the GPU's kernels one after another, or the CPU's launches where those take longer.
// Iterations follow each other without waiting, so the slower of both sets the pace.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "predict/kernels/kernel_predictor.h"
#include "predict/kernels/training_ops.h"

namespace weir::predict {

struct PredictedOp {
  TrainingOp op{};
  double seconds = 0;  // of all `op.count` calls
  KernelClass kind = KernelClass::dram_bound;
  std::string kernel{};
  bool is_extrapolated = false;
  double blocks = 1;   // of one call's main kernel
  double kernels = 1;  // of one call
};

struct IterationPrediction {
  double seconds = 0;
  double gpu_seconds = 0;
  double cpu_seconds = 0;
  std::array<double, 3> phase_seconds{};  // of the GPU, by TrainingPhase
  std::array<double, 3> class_seconds{};  // of the GPU, by KernelClass
  double calls = 0;
  double kernels = 0;
  double extrapolated_seconds = 0;  // of calls with more or less work than was measured
  std::vector<PredictedOp> ops{};   // longest first

  bool is_launch_bound() const { return cpu_seconds > gpu_seconds; }
};

// probe_microseconds: how long this CPU takes for the probe's small training step; 0: as where the model was fitted.
IterationPrediction predict_iteration(const KernelPredictor& predictor, const TrainingOps& ops,
                                      double probe_microseconds);

}  // namespace weir::predict
