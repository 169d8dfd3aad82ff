// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/iteration_prediction.h"

#include <algorithm>

namespace weir::predict {

IterationPrediction predict_iteration(const KernelPredictor& predictor, const TrainingOps& ops,
                                      double probe_microseconds) {
  const HostModel& host = predictor.model().host;
  IterationPrediction iteration;
  iteration.ops.reserve(ops.ops.size());
  for (const TrainingOp& op : ops.ops) {
    const KernelPrediction prediction = predictor.predict(op.call);
    const auto count = static_cast<double>(op.count);
    const double seconds = prediction.seconds * count;
    iteration.gpu_seconds += seconds;
    iteration.phase_seconds[static_cast<std::size_t>(op.phase)] += seconds;
    iteration.class_seconds[static_cast<std::size_t>(prediction.kind)] += seconds;
    if (op.phase != TrainingPhase::optimizer) iteration.calls += count;
    iteration.kernels += count * prediction.kernels;
    if (prediction.is_extrapolated) iteration.extrapolated_seconds += seconds;
    iteration.ops.push_back(
        {op, seconds, prediction.kind, std::string{prediction.kernel}, prediction.is_extrapolated});
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
