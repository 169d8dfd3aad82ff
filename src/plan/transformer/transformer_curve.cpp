// SPDX-License-Identifier: Apache-2.0
#include "plan/transformer/transformer_curve.h"

#include <cmath>
#include <utility>

#include "plan/transformer/transformer_advice.h"

namespace weir::plan {

std::vector<PlannedSize> plan_sizes(const TransformerRequest& request, std::span<const int> sizes) {
  std::vector<PlannedSize> planned;
  for (const int gpus : sizes) {
    auto answer = search_transformer(on_gpus(request, gpus));
    PlannedSize& size = planned.emplace_back(PlannedSize{gpus, std::nullopt, 0});
    if (answer.best.empty()) {
      size.least_memory = answer.least_memory;
    } else {
      size.best = std::move(answer.best.front());
    }
  }
  return planned;
}

std::vector<int> sizes_of_a_pool(int gpus_per_node, int largest) {
  std::vector<int> sizes;
  for (int gpus = 1; gpus <= largest; gpus *= 2) {
    if (gpus <= gpus_per_node || gpus % gpus_per_node == 0) sizes.push_back(gpus);
  }
  return sizes;
}

Curve planned_curve(std::span<const PlannedSize> sizes) {
  constexpr double kMicro = 1e6;
  std::vector<CurvePoint> points;
  for (const PlannedSize& size : sizes) {
    if (!size.best) continue;
    const double rate = std::floor(kMicro / size.best->time.iteration);
    if (rate < 1) continue;  // weeks for an iteration: no curve can say it
    points.push_back({size.gpus, IterationRate{static_cast<std::int64_t>(rate)}});
  }
  return Curve{std::move(points), CurveOrigin::planned};
}

}  // namespace weir::plan
