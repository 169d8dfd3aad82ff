// SPDX-License-Identifier: Apache-2.0
//
// How many GPUs of a pool are not promised, now and at every later time: a step function. The last
// piece lasts for ever.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/time.h"

namespace weir::schedule {

class CapacityProfile {
 public:
  CapacityProfile() = default;
  CapacityProfile(Time start, std::int32_t free) : at_{start}, free_{free} {}

  std::size_t size() const { return at_.size(); }
  Time begin_of(std::size_t piece) const { return at_[piece]; }
  Time end_of(std::size_t piece) const {
    return piece + 1 < at_.size() ? at_[piece + 1] : Time::max();
  }
  std::int32_t free_in(std::size_t piece) const { return free_[piece]; }
  // The piece that holds that time. Requires: not before the start.
  std::size_t piece_at(Time time) const;
  std::int32_t free_at(Time time) const { return free_[piece_at(time)]; }

  // Adds `change` to what is free during [from, to). Requires: from not before the start.
  void add(Time from, Time to, std::int32_t change);

  // What is free changes by that much from that time on.
  struct Change {
    Time at;
    std::int32_t by = 0;
  };
  // Many changes at once, in any order. Those before the start count from the start on.
  void apply(std::vector<Change> changes);

  // The same or less free, in fewer pieces: a piece that lies t ahead is at least t / `parts` long,
  // and has what is free throughout it.
  CapacityProfile coarsened(std::int64_t parts) const;

  // Forgets everything before that time.
  void start_at(Time time);

  // GPU-time that is free during [from, to), in GPU-nanoseconds.
  __extension__ using GpuTime = __int128;
  GpuTime free_time(Time from, Time to) const;

  friend bool operator==(const CapacityProfile&, const CapacityProfile&) = default;

 private:
  std::size_t split_at(Time time);
  void merge_before(std::size_t piece);

  std::vector<Time> at_;            // ascending
  std::vector<std::int32_t> free_;  // neighbours differ
};

// At every time what is free in both. Requires: they start at the same time.
CapacityProfile smaller_of(const CapacityProfile& a, const CapacityProfile& b);

}  // namespace weir::schedule
