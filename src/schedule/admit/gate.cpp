// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/gate.h"

#include <algorithm>
#include <vector>

namespace weir::schedule {
namespace {

constexpr WideInteger kNanosPerSecond = 1'000'000'000;

struct Corner {
  WideInteger rate;
  WideInteger gpus;
};

// The lower convex envelope of GPUs over rate, from the origin.
std::vector<Corner> envelope(const SizeTable& sizes) {
  std::vector<Corner> corners{{0, 0}};
  for (const SizeOption& size : sizes) {
    if (size.rate.value <= corners.back().rate) continue;  // more GPUs, not faster
    const Corner next{size.rate.value, size.gpus};
    while (corners.size() >= 2) {
      const Corner& a = corners[corners.size() - 2];
      const Corner& b = corners.back();
      // b lies on or above the line from a to next.
      if ((b.gpus - a.gpus) * (next.rate - a.rate) < (next.gpus - a.gpus) * (b.rate - a.rate))
        break;
      corners.pop_back();
    }
    corners.push_back(next);
  }
  return corners;
}

}  // namespace

std::int64_t least_gpu_seconds(const SizeTable& sizes, Work left, Duration window) {
  const std::vector<Corner> corners = envelope(sizes);
  const WideInteger time = std::max<std::int64_t>(1, window.count());
  for (std::size_t i = 1; i < corners.size(); ++i) {
    const Corner& a = corners[i - 1];
    const Corner& b = corners[i];
    if (i + 1 < corners.size() && left.femto_iterations > b.rate * time) continue;
    const WideInteger beyond = left.femto_iterations - a.rate * time;
    const WideInteger gpu_nanos = a.gpus * time + (b.gpus - a.gpus) * beyond / (b.rate - a.rate);
    return static_cast<std::int64_t>(gpu_nanos / kNanosPerSecond);
  }
  return 0;
}

std::optional<std::int64_t> gate_closes(const PoolState& pool, const CapacityProfile& unpromised,
                                        std::int64_t gpu_seconds, Time now, Time deadline,
                                        const GateRules& rules) {
  if (pool.arrivals_seen < rules.seen_at_least) return std::nullopt;
  std::int64_t refused = 0;
  WideInteger cheaper = 0;
  for (const RememberedArrival& arrival : pool.arrivals) {
    if (arrival.least_gpu_seconds >= gpu_seconds) continue;
    cheaper += arrival.least_gpu_seconds;
    if (arrival.was_refused_for_room) ++refused;
  }
  if (refused < rules.refused_at_least) return std::nullopt;
  const Duration history = std::min(now - pool.first_arrival, kArrivalMemory);
  const Duration window = deadline - now;
  const WideInteger capacity =
      static_cast<WideInteger>(pool.gpus_up()) * window.count() / kNanosPerSecond;
  const WideInteger promised = capacity - unpromised.free_time(now, deadline) / kNanosPerSecond;
  const WideInteger expected = cheaper * (window.count() / 1'000'000) /
                               std::max<std::int64_t>(1, history.count() / 1'000'000) *
                               rules.future_percent / 100;
  if (promised + expected + gpu_seconds <= capacity) return std::nullopt;
  return refused;
}

}  // namespace weir::schedule
