// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/fit_host.h"

#include <algorithm>
#include <array>
#include <vector>

#include "predict/kernels/iteration_prediction.h"
#include "predict/kernels/known_networks.h"
#include "predict/kernels/nonnegative_least_squares.h"

namespace weir::predict {
namespace {

// Larger batches of a network are nearer to what the GPU limits.
bool is_smallest_batch(const MeasuredIteration& one, std::span<const MeasuredIteration> all) {
  return std::none_of(all.begin(), all.end(), [&](const MeasuredIteration& other) {
    return !other.is_judged && other.network == one.network && other.batch < one.batch;
  });
}

}  // namespace

void fit_host(std::span<const MeasuredIteration> iterations, KernelModel& model) {
  NonnegativeLeastSquares squares{2};
  std::vector<double> probes;
  {
    const KernelPredictor predictor{model};
    for (const MeasuredIteration& measured : iterations) {
      if (measured.is_judged || !is_smallest_batch(measured, iterations)) continue;
      const auto ops = known_network(measured.network, measured.batch);
      if (!ops) continue;
      const IterationPrediction gpu = predict_iteration(predictor, *ops, 0);
      if (gpu.gpu_seconds * 1e3 > kLaunchBoundShare * measured.milliseconds) continue;
      const double in_probes = measured.milliseconds * 1e3 / measured.probe_microseconds;
      squares.add(std::array{gpu.calls, static_cast<double>(ops->tensors)}, in_probes,
                  1 / in_probes);
      probes.push_back(measured.probe_microseconds);
    }
  }
  if (probes.empty()) return;
  const std::vector<double> fitted = squares.solve();
  model.host.op_probes = fitted[0];
  model.host.tensor_probes = fitted[1];
  std::sort(probes.begin(), probes.end());
  model.host.probe_microseconds = probes[(probes.size() - 1) / 2];
}

}  // namespace weir::predict
