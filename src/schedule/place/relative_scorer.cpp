// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/relative_scorer.h"

#include <algorithm>

namespace weir::schedule {

std::optional<BestMarked> best_marked(const RelativeScorer& scorer, const MarkedNodes& nodes) {
  const auto& parts = scorer.parts();
  const std::size_t width = parts.size();
  std::vector<std::int32_t> worst(width, INT32_MAX);
  std::vector<std::int32_t> best(width, INT32_MIN);
  for (std::size_t node = 0; node < nodes.fits.size(); ++node) {
    if (nodes.fits[node] == 0) continue;
    for (std::size_t part = 0; part < width; ++part) {
      const std::int32_t mark = nodes.marks[node * width + part];
      worst[part] = std::min(worst[part], mark);
      best[part] = std::max(best[part], mark);
    }
  }
  std::int64_t highest = -1;
  std::size_t first = 0;
  for (std::size_t node = 0; node < nodes.fits.size(); ++node) {
    if (nodes.fits[node] == 0) continue;
    std::int64_t sum = 0;
    for (std::size_t part = 0; part < width; ++part) {
      std::int64_t mark = nodes.marks[node * width + part];
      if (parts[part].is_rescaled) {
        const std::int64_t range = std::int64_t{best[part]} - worst[part];
        mark = range == 0 ? kBestRescaled : kBestRescaled * (mark - worst[part]) / range;
      }
      sum += parts[part].weight * mark;
    }
    if (sum <= highest) continue;
    highest = sum;
    first = node;
  }
  if (highest < 0) return std::nullopt;
  std::int64_t weights = 0;
  for (const RelativeScorer::Part& part : parts) weights += part.weight;
  return BestMarked{first, static_cast<Score>(highest / weights)};
}

}  // namespace weir::schedule
