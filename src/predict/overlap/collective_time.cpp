// SPDX-License-Identifier: Apache-2.0
#include "predict/overlap/collective_time.h"

#include <algorithm>

namespace weir::predict {
namespace {

constexpr std::int64_t kBytesPerChannel = 512 * 64;
// NCCL's ring, Simple protocol, in microseconds.
constexpr double kRingBase = 8.4;
constexpr double kHopInside = 3.4;
constexpr double kHopBetween = 14;
// Between nodes once a rank's part of a channel is large enough.
constexpr double kManyNodesFactor = 1.4;
constexpr std::int64_t kBytesForFactor = 64;
constexpr double kBytesPerMsAtOneGbps = 1e6;

}  // namespace

int channels_used(int ctas, std::int64_t bytes) {
  const std::int64_t most = std::max<std::int64_t>(1, bytes / kBytesPerChannel);
  return static_cast<int>(std::min<std::int64_t>(ctas, most));
}

double collective_latency_us(const CollectiveSystem& system, std::int64_t bytes, int channels) {
  if (system.latency_us) return *system.latency_us;
  const int between = 2 * (system.nodes - 1);
  const int inside = 2 * (system.ranks - 1) - between;
  const double latency = kRingBase + inside * kHopInside + between * kHopBetween;
  const bool is_slower =
      system.nodes > 1 &&
      bytes / (static_cast<std::int64_t>(channels) * system.ranks) >= kBytesForFactor;
  return is_slower ? kManyNodesFactor * latency : latency;
}

double bus_gbps(const CollectiveSystem& system, int channels) {
  return std::min(channels * system.channel_gbps, system.network_gbps);
}

double beside_share(const CollectiveSystem& system, int channels) {
  if (system.channel_beside_gbps <= 0) return 1;
  const double beside = std::min(channels * system.channel_beside_gbps, system.network_gbps);
  return std::min(1.0, beside / bus_gbps(system, channels));
}

double collective_ms(const CollectiveSystem& system, std::int64_t bytes, int ctas) {
  if (bytes == 0 || system.ranks < 2) return 0;
  const int channels = channels_used(ctas, bytes);
  const double wire =
      2.0 * (system.ranks - 1) / system.ranks * static_cast<double>(bytes) / kBytesPerMsAtOneGbps;
  return collective_latency_us(system, bytes, channels) / 1000 + wire / bus_gbps(system, channels);
}

}  // namespace weir::predict
