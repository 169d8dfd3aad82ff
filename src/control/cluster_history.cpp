// SPDX-License-Identifier: Apache-2.0
#include "control/cluster_history.h"

#include <algorithm>

namespace weir::control {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kLongest = 366 * kDay;

}  // namespace

std::array<HistoryResolution, 3> history_resolutions(Duration keep) {
  const std::int64_t longest =
      std::clamp<std::int64_t>(std::chrono::floor<std::chrono::seconds>(keep).count(), 0, kLongest);
  return {{{5, 2 * kHour}, {60, 2 * kDay}, {900, longest}}};
}

std::int64_t history_step_for(std::int64_t seconds) {
  const auto all = history_resolutions(Duration{0});
  const auto covers = [&](const HistoryResolution& each) { return each.kept_for >= seconds; };
  const auto found = std::find_if(all.begin(), all.end() - 1, covers);
  return found->step;
}

std::int64_t beginning_of_step(Time at, std::int64_t step) {
  const std::int64_t seconds =
      std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
  const std::int64_t rest = seconds % step;
  return seconds - (rest < 0 ? rest + step : rest);
}

void add_sample(HistoryRow& row, const ClusterFigures& sample) {
  ++row.samples;
  const auto samples = static_cast<double>(row.samples);
  for (double ClusterFigures::*gauge :
       {&ClusterFigures::gpus_up, &ClusterFigures::gpus_in_use, &ClusterFigures::gpus_fragmented,
        &ClusterFigures::running, &ClusterFigures::waiting, &ClusterFigures::open,
        &ClusterFigures::at_risk}) {
    row.figures.*gauge += (sample.*gauge - row.figures.*gauge) / samples;
  }
  row.figures.promises = sample.promises;
}

}  // namespace weir::control
