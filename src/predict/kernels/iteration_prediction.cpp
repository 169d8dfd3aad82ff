// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/iteration_prediction.h"

#include <algorithm>
#include <numeric>

namespace weir::predict {
namespace {

// Calls of a kind one after another: what is known of a kind is large and stays in the cache then.
std::vector<KernelPrediction> predictions_of(const KernelPredictor& predictor,
                                             const std::vector<TrainingOp>& ops) {
  std::vector<std::size_t> order(ops.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return ops[a].call < ops[b].call; });
  std::vector<KernelPrediction> predictions(ops.size());
  for (const std::size_t i : order) predictions[i] = predictor.predict(ops[i].call);
  return predictions;
}

}  // namespace

IterationPrediction predict_iteration(const KernelPredictor& predictor, const TrainingOps& ops,
                                      double probe_microseconds) {
  const HostModel& host = predictor.model().host;
  IterationPrediction iteration;
  iteration.ops.reserve(ops.ops.size());
  const std::vector<KernelPrediction> predictions = predictions_of(predictor, ops.ops);
  for (std::size_t i = 0; i < ops.ops.size(); ++i) {
    const TrainingOp& op = ops.ops[i];
    const KernelPrediction& prediction = predictions[i];
    const auto count = static_cast<double>(op.count);
    const double seconds = prediction.seconds * count;
    iteration.gpu_seconds += seconds;
    iteration.phase_seconds[static_cast<std::size_t>(op.phase)] += seconds;
    iteration.class_seconds[static_cast<std::size_t>(prediction.kind)] += seconds;
    if (op.phase != TrainingPhase::optimizer) iteration.calls += count;
    iteration.kernels += count * prediction.kernels;
    if (prediction.is_extrapolated) iteration.extrapolated_seconds += seconds;
    iteration.ops.push_back({op, seconds, prediction.kind, std::string{prediction.kernel},
                             prediction.is_extrapolated, prediction.blocks, prediction.kernels});
  }
  const double probe =
      (probe_microseconds > 0 ? probe_microseconds : host.probe_microseconds) * 1e-6;
  iteration.cpu_seconds = probe * (host.op_probes * iteration.calls +
                                   host.tensor_probes * static_cast<double>(ops.tensors));
  iteration.seconds = std::max(iteration.gpu_seconds, iteration.cpu_seconds);
  std::stable_sort(
      iteration.ops.begin(), iteration.ops.end(),
      [](const PredictedOp& a, const PredictedOp& b) { return a.seconds > b.seconds; });
  return iteration;
}

}  // namespace weir::predict
