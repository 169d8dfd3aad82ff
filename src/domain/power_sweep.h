// SPDX-License-Identifier: Apache-2.0
//
// What a training job on one GPU took and drew under several power limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

struct SweepPoint {
  double limit_watts = 0;
  double seconds = 0;  // of one epoch
  double watts = 0;    // on average over the epoch
  friend bool operator==(const SweepPoint&, const SweepPoint&) = default;

  double joules() const { return watts * seconds; }
};

struct SweptJob {
  std::string dataset;
  std::string network;
  std::int64_t batch = 0;
  std::string optimizer;
  friend auto operator<=>(const SweptJob&, const SweptJob&) = default;
};

struct PowerSweep {
  SweptJob job;
  std::vector<SweepPoint> points;  // ascending by limit, each limit once; never empty
  friend bool operator==(const PowerSweep&, const PowerSweep&) = default;
};

// The sweeps on one kind of GPU, in the order of their jobs.
struct PowerSweeps {
  std::string gpu;  // "V100"; empty when not known
  std::vector<PowerSweep> sweeps;
  friend bool operator==(const PowerSweeps&, const PowerSweeps&) = default;
};

}  // namespace weir
