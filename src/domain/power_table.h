// SPDX-License-Identifier: Apache-2.0
//
// What training jobs of one kind draw, and how fast they are, by number of GPUs and by clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "domain/curve.h"
#include "domain/work.h"

namespace weir {

inline constexpr std::int32_t kFullClock = 1000;

inline constexpr std::int64_t kAllMillionths = 1'000'000;

constexpr IterationRate clocked(IterationRate full, std::int64_t millionths) {
  return IterationRate{static_cast<std::int64_t>(static_cast<WideInteger>(full.value) * millionths /
                                                 kAllMillionths)};
}

struct PowerPoint {
  std::int32_t gpus = 0;
  std::int32_t clock_permille = kFullClock;  // of the GPU's highest
  IterationRate rate;
  std::int64_t milliwatts = 0;  // of all the job's GPUs together, on average over an iteration
  friend bool operator==(const PowerPoint&, const PowerPoint&) = default;
};

// By ascending size, then by ascending clock. At the full clock the rates are those of the curve.
using PowerTable = std::vector<PowerPoint>;

// One kind of GPU in one kind of node.
struct PowerBook {
  std::string gpu;
  std::int64_t idle_milliwatts = 0;    // of a GPU without a job, on a node that is awake
  std::int64_t node_milliwatts = 0;    // of a node that is awake, without its GPUs
  std::int64_t asleep_milliwatts = 0;  // of a node without jobs, with its GPUs
  std::int32_t overhead_permille =
      1000;  // power usage effectiveness: what the site draws for 1000 here
  std::map<CurveKey, PowerTable> tables;

  const PowerTable* find(const CurveKey& key) const {
    const auto found = tables.find(key);
    return found == tables.end() ? nullptr : &found->second;
  }
  friend bool operator==(const PowerBook&, const PowerBook&) = default;
};

}  // namespace weir
