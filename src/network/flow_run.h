// SPDX-License-Identifier: Apache-2.0
//
// Flows over time: each has bytes to move along a path, at the rate FairRates gives it. The clock
// jumps from one instant at which flows end to the next.
//
//   FlowRun run{capacities};
//   run.start(path, bytes);
//   for (auto ended = run.advance(); !ended.empty(); ended = run.advance()) ... run.start(...) ...
//
// Ends within kSameInstant of each other are one instant, and all that is started before the next
// advance() belongs to it: collectives start thousands of flows at once, and rates are found once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/fair_rates.h"
#include "network/finish_heap.h"

namespace weir::network {

inline constexpr double kSameInstant = 1e-9;  // seconds

class FlowRun {
 public:
  // Capacities in bytes per second.
  explicit FlowRun(std::span<const double> capacities, RateMethod method = RateMethod::hybrid);

  // A flow of `bytes` per unit of weight, no faster than `cap` bytes per second. Requires: bytes
  // >= 0, and what FairRates::add requires; a path without hops and cap ends at once.
  FlowIndex start(std::span<const Hop> path, double bytes, double cap = kNoLimit);
  // It goes away without having ended.
  void cancel(FlowIndex flow);
  // The rest of its bytes takes another path. Returns the flow it is from now on.
  FlowIndex reroute(FlowIndex flow, std::span<const Hop> path, double cap = kNoLimit);
  void set_capacity(LinkIndex link, double capacity);

  // Goes to the next instant at which flows end, but not beyond `until`. The flows that end there:
  // none when `until` came first, or when nothing moves and `until` is kNoLimit. Their indices may
  // be given to flows started after the next call.
  std::span<const FlowIndex> advance(double until = kNoLimit);
  // Finds the rates of what was started, without going anywhere. advance() does so itself.
  void commit();

  double now() const { return now_; }
  std::size_t active() const { return active_; }
  // Bytes per second and unit of weight, as of the last commit.
  double rate(FlowIndex flow) const { return progress_[flow].rate; }
  double remaining(FlowIndex flow) const;
  const FairRates& rates() const { return rates_; }
  // Starts and ends so far.
  std::uint64_t events() const { return events_; }
  std::uint64_t commits() const { return commits_; }

 private:
  struct Progress {
    double remaining = 0;  // at `since`
    double since = 0;
    double rate = 0;
  };

  FairRates rates_;
  FinishHeap finish_;
  std::vector<Progress> progress_;
  std::vector<FlowIndex> ended_;
  double now_ = 0;
  std::size_t active_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t commits_ = 0;
  bool has_changes_ = false;
};

}  // namespace weir::network
