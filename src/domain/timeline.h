// SPDX-License-Identifier: Apache-2.0
//
// Which GPUs a job has, now and later. A block is an aligned run of GPUs of one pool, numbered
// through its nodes: its size is a power of two and its first GPU a multiple of that size, so a
// block never straddles a node unless it is made of whole nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/time.h"

namespace weir {

struct GpuBlock {
  std::uint32_t first = 0;
  std::uint32_t size = 0;  // 0: no GPUs

  constexpr bool is_none() const { return size == 0; }
  constexpr std::uint32_t end() const { return first + size; }
  constexpr bool overlaps(GpuBlock other) const {
    return first < other.end() && other.first < end();
  }
  constexpr bool contains(GpuBlock other) const {
    return first <= other.first && other.end() <= end();
  }
  friend constexpr bool operator==(GpuBlock, GpuBlock) = default;
};

inline constexpr GpuBlock kNoGpus{};

struct TimelineStep {
  Time from;
  GpuBlock block;
  friend bool operator==(const TimelineStep&, const TimelineStep&) = default;
};

// Steps follow each other without gaps (a pause is a step without GPUs); the last one ends at
// `end`. Every change of block costs the job its rescale price at the start of the step, which the
// timeline has counted.
struct Timeline {
  std::vector<TimelineStep> steps;
  Time end;

  // When the step ends.
  Time end_of(std::size_t step) const {
    return step + 1 < steps.size() ? steps[step + 1].from : end;
  }
  // The block at that time; none before the first step and from the end on.
  GpuBlock block_at(Time time) const;
  // The first change after that time; `end` counts as one. Time::max() when there is none.
  Time next_change(Time after) const;
  friend bool operator==(const Timeline&, const Timeline&) = default;
};

}  // namespace weir
