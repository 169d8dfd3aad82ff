// SPDX-License-Identifier: Apache-2.0
#include "domain/curve.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weir {

Curve::Curve(std::vector<CurvePoint> measured, CurveOrigin origin)
    : measured_{std::move(measured)}, origin_{origin} {
  std::erase_if(measured_,
                [](const CurvePoint& point) { return point.gpus < 1 || point.rate.value < 1; });
  std::sort(measured_.begin(), measured_.end(), [](const CurvePoint& a, const CurvePoint& b) {
    return a.gpus != b.gpus ? a.gpus < b.gpus : a.rate > b.rate;
  });
  const auto same_size = [](const CurvePoint& a, const CurvePoint& b) { return a.gpus == b.gpus; };
  measured_.erase(std::unique(measured_.begin(), measured_.end(), same_size), measured_.end());
  for (const CurvePoint& point : measured_) {
    if (!std::has_single_bit(static_cast<std::uint32_t>(point.gpus))) continue;
    if (useful_.empty() || point.rate > useful_.back().rate) useful_.push_back(point);
  }
}

IterationRate Curve::rate_at(std::int32_t gpus) const {
  const auto at = std::lower_bound(
      measured_.begin(), measured_.end(), gpus,
      [](const CurvePoint& point, std::int32_t size) { return point.gpus < size; });
  return at != measured_.end() && at->gpus == gpus ? at->rate : IterationRate{0};
}

const Curve* CurveBook::find(const CurveKey& key) const {
  const auto at = curves.find(key);
  return at == curves.end() ? nullptr : &at->second;
}

}  // namespace weir
