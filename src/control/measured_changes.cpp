// SPDX-License-Identifier: Apache-2.0
#include "control/measured_changes.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

namespace weir::control {
namespace {

using schedule::RescaleCost;

// How often the cost of a doubling is counted at that size.
std::int64_t doublings(std::uint32_t gpus) {
  return std::bit_width(gpus);
}

Duration percentile(std::vector<Duration> times) {
  std::sort(times.begin(), times.end());
  const auto count = static_cast<std::int64_t>(times.size());
  const std::int64_t rank = (count * MeasuredChanges::kPercentile + 99) / 100;
  return times[static_cast<std::size_t>(rank - 1)];
}

// No size that was seen is cheaper than it was.
RescaleCost fitted(const std::map<std::uint32_t, Duration>& costs, const RescaleCost& known) {
  RescaleCost cost;
  const auto& [least, least_cost] = *costs.begin();
  const auto& [most, most_cost] = *costs.rbegin();
  if (least == most) {
    // One size does not tell how much of it a doubling is, only that it is not more than its share.
    cost.per_doubling = std::min(known.per_doubling, least_cost / (doublings(least) + 1));
  } else {
    cost.per_doubling =
        std::max(Duration{0}, (most_cost - least_cost) / (doublings(most) - doublings(least)));
  }
  cost.base = MeasuredChanges::kLeast;
  for (const auto& [gpus, lost] : costs)
    cost.base = std::max(cost.base, lost - cost.per_doubling * doublings(gpus));
  if (cost.base > MeasuredChanges::kLeast) return cost;
  // So steep that nothing is left for one GPU: no steeper than it must be.
  cost.per_doubling = Duration{0};
  for (const auto& [gpus, lost] : costs) {
    const Duration beyond = std::max(Duration{0}, lost - cost.base);
    const std::int64_t times = doublings(gpus);
    cost.per_doubling = std::max(cost.per_doubling, (beyond + Duration{times - 1}) / times);
  }
  return cost;
}

bool is_news(Duration after, Duration before) {
  const Duration change = after > before ? after - before : before - after;
  return change * 100 > before * MeasuredChanges::kNewsPercent;
}

}  // namespace

std::optional<RescaleCost> MeasuredChanges::hear(std::uint32_t gpus, Duration lost,
                                                 const RescaleCost& known) {
  if (gpus == 0 || lost <= Duration{0}) return std::nullopt;
  changes_.push_back({gpus, lost});
  if (changes_.size() > kKept) changes_.pop_front();
  if (changes_.size() < kFewest) return std::nullopt;
  std::map<std::uint32_t, std::vector<Duration>> times;
  for (const Change& change : changes_) times[change.gpus].push_back(change.lost);
  std::map<std::uint32_t, Duration> costs;
  for (auto& [size, all] : times) costs[size] = percentile(std::move(all));
  const RescaleCost cost = fitted(costs, known);
  const bool differs = std::any_of(costs.begin(), costs.end(), [&](const auto& seen) {
    return is_news(cost.full(seen.first), known.full(seen.first));
  });
  return differs ? std::optional{cost} : std::nullopt;
}

}  // namespace weir::control
