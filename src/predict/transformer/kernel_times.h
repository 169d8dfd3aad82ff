// SPDX-License-Identifier: Apache-2.0
//
// Compute times from measured kernels: the calls of layer_kernels.h, each timed by the model of one device. Equal shapes are
// asked once, so a search over thousands of plans asks for a few hundred. Safe to use from several threads.
#pragma once

#include <map>
#include <mutex>

#include "predict/kernels/kernel_predictor.h"
#include "predict/kernels/training_ops.h"
#include "predict/transformer/compute_times.h"
#include "predict/transformer/runtime_traits.h"

namespace weir::predict {

class KernelTimes final : public ComputeTimes {
 public:
  KernelTimes(KernelModel model, const RuntimeTraits& runtime);

  std::string source() const override;

  ComputeSeconds layer(const LayerShape& shape) const override;
  ComputeSeconds attention(const AttentionShape& shape) const override;
  ComputeSeconds head(const VocabularyShape& shape) const override;
  ComputeSeconds embedding(const VocabularyShape& shape) const override;
  ComputeSeconds update(double elements) const override;
  double launch_seconds(double calls, double tensors) const override;

 private:
  ComputeSeconds sum_of(const TrainingOps& ops) const;
  template <class Shape, class Calls>
  ComputeSeconds remembered(std::map<Shape, ComputeSeconds>& known, const Shape& shape,
                            Calls calls) const;

  KernelModel model_;
  RuntimeTraits runtime_;
  KernelPredictor predictor_;
  mutable std::mutex mutex_;
  mutable std::map<LayerShape, ComputeSeconds> layers_;
  mutable std::map<AttentionShape, ComputeSeconds> attentions_;
  mutable std::map<VocabularyShape, ComputeSeconds> heads_;
  mutable std::map<VocabularyShape, ComputeSeconds> embeddings_;
  mutable std::map<double, ComputeSeconds> updates_;
};

}  // namespace weir::predict
