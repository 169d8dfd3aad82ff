// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/kernel_times.h"

#include <utility>

#include "predict/transformer/layer_kernels.h"

namespace weir::predict {
namespace {

constexpr double kMeasuredStepBytes = 28;  // an element: AdamW on float32, as the tables have it

}  // namespace

KernelTimes::KernelTimes(KernelModel model, const RuntimeTraits& runtime)
    : model_{std::move(model)}, runtime_{runtime}, predictor_{model_} {
  // The list of autocast's calls has everything that is not fused.
  if (runtime_.autocasts) runtime_.streaming = 1;
}

std::string KernelTimes::source() const {
  return "kernel model of " + model_.device.name;
}

ComputeSeconds KernelTimes::sum_of(const TrainingOps& ops) const {
  ComputeSeconds sum;
  for (const TrainingOp& op : ops.ops) {
    const KernelPrediction prediction = predictor_.predict(op.call);
    const auto count = static_cast<double>(op.count);
    double seconds = count * prediction.seconds;
    if (op.call.family == KernelFamily::rows && op.phase != TrainingPhase::optimizer)
      seconds *= runtime_.streaming;
    if (op.call.family == KernelFamily::attention) seconds /= runtime_.attention_rate;
    if (prediction.is_extrapolated) sum.beyond += seconds;
    if (op.phase == TrainingPhase::backward) {
      sum.backward += seconds;
      sum.backward_calls += count;
    } else {
      sum.forward += seconds;
      sum.forward_calls += count;
    }
  }
  sum.tensors = static_cast<double>(ops.tensors);
  return sum;
}

template <class Shape, class Calls>
ComputeSeconds KernelTimes::remembered(std::map<Shape, ComputeSeconds>& known, const Shape& shape,
                                       Calls calls) const {
  const std::lock_guard lock{mutex_};
  const auto at = known.find(shape);
  if (at != known.end()) return at->second;
  return known.emplace(shape, sum_of(calls())).first->second;
}

ComputeSeconds KernelTimes::layer(const LayerShape& shape) const {
  return remembered(layers_, shape, [&] { return layer_calls(shape, runtime_.autocasts); });
}

ComputeSeconds KernelTimes::attention(const AttentionShape& shape) const {
  return remembered(attentions_, shape, [&] { return attention_calls(shape, runtime_.has_flash); });
}

ComputeSeconds KernelTimes::head(const VocabularyShape& shape) const {
  return remembered(heads_, shape, [&] { return head_calls(shape, runtime_.autocasts); });
}

ComputeSeconds KernelTimes::embedding(const VocabularyShape& shape) const {
  return remembered(embeddings_, shape, [&] { return embedding_calls(shape, runtime_.autocasts); });
}

// A step that moves more bytes than the measured one takes as much longer.
ComputeSeconds KernelTimes::update(double elements) const {
  return remembered(updates_, elements, [&] {
    return update_calls(elements * runtime_.optimizer_bytes / kMeasuredStepBytes);
  });
}

double KernelTimes::launch_seconds(double calls, double tensors) const {
  const HostModel& host = model_.host;
  return host.probe_microseconds * 1e-6 * (host.op_probes * calls + host.tensor_probes * tensors);
}

}  // namespace weir::predict
