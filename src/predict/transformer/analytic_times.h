// SPDX-License-Identifier: Apache-2.0
//
// Compute times without a measurement: from the GPU's type and how well programs use it (gpu_type.h). The CPU calls the
// operators of layer_kernels.h, each in GpuType::call_us.
#pragma once

#include "predict/transformer/compute_times.h"
#include "predict/transformer/gpu_type.h"
#include "predict/transformer/runtime_traits.h"

namespace weir::predict {

class AnalyticTimes final : public ComputeTimes {
 public:
  AnalyticTimes(const GpuType& gpu, const RuntimeTraits& runtime) : gpu_{gpu}, runtime_{runtime} {}

  std::string source() const override { return "analytic"; }

  ComputeSeconds layer(const LayerShape& shape) const override;
  ComputeSeconds attention(const AttentionShape& shape) const override;
  ComputeSeconds head(const VocabularyShape& shape) const override;
  ComputeSeconds embedding(const VocabularyShape& shape) const override;  // only its calls
  ComputeSeconds update(double elements) const override;
  double launch_seconds(double calls, double tensors) const override;

 private:
  GpuType gpu_;
  RuntimeTraits runtime_;
};

}  // namespace weir::predict
