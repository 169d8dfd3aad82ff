// SPDX-License-Identifier: Apache-2.0
#include "control/progress_points.h"

namespace weir::control {
namespace {

constexpr std::size_t kWanted = kMostProgressPoints / 2;

// Drops what leaves no gap wider than that. Two neighbouring gaps are then wider together, so no more
// than twice as many points stay as there are such gaps in all the time.
std::vector<Time> drop_within(const std::vector<ProgressPoint>& points, Duration widest,
                              bool keeps_changes) {
  std::vector<Time> dropped;
  Time kept = points.front().at;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const bool is_change = points[i].gpus != points[i - 1].gpus;
    if (points[i + 1].at - kept <= widest && !(keeps_changes && is_change)) {
      dropped.push_back(points[i].at);
    } else {
      kept = points[i].at;
    }
  }
  return dropped;
}

}  // namespace

std::vector<Time> points_to_drop(const std::vector<ProgressPoint>& points) {
  if (points.size() <= kMostProgressPoints) return {};
  const Duration widest = (points.back().at - points.front().at) * 2 / kWanted;
  std::vector<Time> dropped = drop_within(points, widest, true);
  constexpr std::size_t kTooMany = kMostProgressPoints - kWanted / 2;
  if (points.size() - dropped.size() > kTooMany) dropped = drop_within(points, widest, false);
  return dropped;
}

}  // namespace weir::control
