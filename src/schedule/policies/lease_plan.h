// SPDX-License-Identifier: Apache-2.0
//
// Time cut into leases, and which job has which of them. A job of fixed size needs so much running
// time before its deadline. Whenever it is given a lease without having had the one before, it pays:
// for its price it makes no progress. Leases that run on end to end pay once.
//
// All that matters of a lease is how many GPUs are free in it: blocks are powers of two, so what fits
// by count fits by place. Filling goes by deadlines and takes the earliest leases. It never calls
// feasible what is not, but it may miss a timetable that exists; few jobs over few leases are
// therefore searched for completely.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/time.h"

namespace weir::schedule {

// Lease 0 begins now and may be the rest of one; the others are whole.
struct LeaseGrid {
  Duration first;
  Duration length;
  std::int32_t gpus = 0;
  std::int32_t kept_first = 0;  // GPUs in lease 0 that are somebody's until it ends

  Duration start(std::int32_t lease) const {
    return lease == 0 ? Duration{0} : first + length * (lease - 1);
  }
  Duration end(std::int32_t lease) const { return first + length * lease; }
};

// Times count from now.
struct LeaseJob {
  std::int32_t gpus = 1;
  Duration need{0};
  Duration price{0};
  Duration deadline{0};
  bool runs = false;         // lease 0 costs it nothing
  bool keeps_first = false;  // lease 0 is its own, and part of kept_first
};

// The leases [from, to) of the job at that place in the list.
struct LeaseRun {
  std::uint32_t job = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;
  friend bool operator==(const LeaseRun&, const LeaseRun&) = default;
};
using LeaseTimetable = std::vector<LeaseRun>;

// Free GPUs by lease, filled job by job.
class LeaseFiller {
 public:
  explicit LeaseFiller(const LeaseGrid& grid);

  // The earliest leases with room, until the job has what it needs; as many as there are when that
  // is not enough. False when it is not. `timetable` may be null.
  bool fill(const LeaseJob& job, std::uint32_t place, LeaseTimetable* timetable);

 private:
  void reach(std::int32_t end);
  std::int32_t past_full(std::int32_t lease);
  bool fits(const LeaseJob& job, std::int32_t lease) const;

  LeaseGrid grid_;
  std::vector<std::int32_t> free_;  // by lease, as far as anybody has looked
  std::vector<std::int32_t> next_;  // from a full lease: all before this one are full too
};

// Whether the timetable gives every job what it needs, and no lease has more GPUs than there are.
bool is_timetable_for(const LeaseTimetable& timetable, const LeaseGrid& grid,
                      std::span<const LeaseJob> jobs);

// By filling, in the given order. Nothing when a job does not get what it needs.
std::optional<LeaseTimetable> fill_in_order(const LeaseGrid& grid, std::span<const LeaseJob> jobs);

// What is small enough to search completely, and how many steps that may take.
inline constexpr std::size_t kMostJobsSearched = 8;
inline constexpr std::int32_t kMostLeasesSearched = 16;
inline constexpr std::int64_t kMostSearchSteps = 20'000;

bool is_small(const LeaseGrid& grid, std::span<const LeaseJob> jobs);

// By searching. Nothing when there is no timetable, or the steps have run out.
std::optional<LeaseTimetable> search_timetable(const LeaseGrid& grid,
                                               std::span<const LeaseJob> jobs,
                                               std::int64_t most_steps = kMostSearchSteps);

// By filling, and where that fails and the case is small, by searching.
std::optional<LeaseTimetable> plan_leases(const LeaseGrid& grid, std::span<const LeaseJob> jobs);

}  // namespace weir::schedule
