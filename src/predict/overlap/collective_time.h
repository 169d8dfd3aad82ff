// SPDX-License-Identifier: Apache-2.0
//
// How long a collective takes alone, by the thread blocks (CTAs) it may use.
//
//   t = latency + 2 (n - 1) / n * bytes / min(channels * channel_gbps, network_gbps)
//
// for a ring all-reduce over n ranks. One CTA serves one channel. Rates are GB/s of bus bandwidth (what one rank
// puts on the wire), times milliseconds. The latency is NCCL's own model of its ring with the Simple protocol:
// 8.4 us, 3.4 us for every step inside a node and 14 us between nodes, 1.4 times that between nodes.
// Sources and limits: docs/models/overlap.md. No tree, LL protocols, NVLS or copy engines.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::predict {

struct CollectiveSystem {
  int ranks = 8;
  int nodes = 1;                       // over which the ranks are spread
  double network_gbps = 50;            // what the network gives this job
  double channel_gbps = 36;            // of one channel while nothing computes
  double channel_beside_gbps = 0;      // beside computation; 0: as alone
  std::optional<double> latency_us{};  // of one call, if measured
};

// NCCL takes fewer channels for small messages: 512 threads with 64 bytes each want 32 KiB per channel.
int channels_used(int ctas, std::int64_t bytes);

double collective_latency_us(const CollectiveSystem& system, std::int64_t bytes, int channels);

// GB/s on the wire.
double bus_gbps(const CollectiveSystem& system, int channels);
// The same while something computes, as a part of what it is alone; in (0, 1].
double beside_share(const CollectiveSystem& system, int channels);

// Milliseconds of an all-reduce of so many bytes alone. Requires: ctas >= 1, bytes >= 0.
double collective_ms(const CollectiveSystem& system, std::int64_t bytes, int ctas);

}  // namespace weir::predict
