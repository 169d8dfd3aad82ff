// SPDX-License-Identifier: Apache-2.0
#include "worker/advice_from_curve.h"

#include <algorithm>
#include <string>
#include <utility>

namespace weir::worker {
namespace {

// The samples of the busiest GPU.
std::int64_t samples_on(std::int64_t global_batch, std::int32_t gpus) {
  return (global_batch + gpus - 1) / gpus;
}

Diagnostics mistakes_in(std::int64_t global_batch, std::int64_t most_local,
                        const std::vector<MeasuredStep>& sorted) {
  Diagnostics wrong;
  const auto note = [&](std::string field, std::int64_t found, std::string expected) {
    wrong.add({.field = std::move(field),
               .found = std::to_string(found),
               .expected = std::move(expected)});
  };
  if (global_batch < 1) note("global_batch", global_batch, "1 or more");
  if (most_local < 1) note("most_local", most_local, "1 or more");
  if (sorted.size() < 2) {
    note("steps", static_cast<std::int64_t>(sorted.size()), "two sizes or more that were measured");
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i].gpus < 1) note("steps.gpus", sorted[i].gpus, "1 or more");
    if (sorted[i].time <= Duration{0}) {
      note("steps.time", sorted[i].time.count(), "more than 0 ns");
    }
    if (i > 0 && sorted[i].gpus == sorted[i - 1].gpus) {
      note("steps.gpus", sorted[i].gpus, "each size once");
    }
  }
  return wrong;
}

}  // namespace

Result<MeasuredGpu> gpu_from_curve(std::int64_t global_batch, std::int64_t most_local,
                                   std::vector<MeasuredStep> steps) {
  std::ranges::sort(steps, {}, &MeasuredStep::gpus);
  if (auto wrong = mistakes_in(global_batch, most_local, steps); !wrong.empty()) {
    return bad_input(std::move(wrong));
  }
  const auto per_sample = [&](const MeasuredStep& step) {
    return step.time / samples_on(global_batch, step.gpus);
  };
  MeasuredGpu gpu;
  gpu.most_local = most_local;
  gpu.per_sample = per_sample(*std::ranges::min_element(steps, {}, per_sample));
  for (const MeasuredStep& step : steps) {
    const Duration computing = samples_on(global_batch, step.gpus) * gpu.per_sample;
    gpu.sizes.push_back({step.gpus, step.time - computing});
  }
  return gpu;
}

}  // namespace weir::worker
