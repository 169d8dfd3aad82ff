// SPDX-License-Identifier: Apache-2.0
//
// Flows over time of which many take the same path. Flows of one path always have equal rates, so
// one flow with their number as weight stands for all: rates are found once for the path, and what
// each has been served is one number that grows for all of them. A flow ends when that number has
// grown by its bytes since it came.
//
// Gives the same ends as FlowRun, and pays where there are several flows per path.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "network/fair_rates.h"
#include "network/finish_heap.h"

namespace weir::network {

class PathClasses {
 public:
  using PathIndex = std::uint32_t;
  using MemberIndex = std::uint64_t;

  explicit PathClasses(std::span<const double> capacities, RateMethod method = RateMethod::hybrid);

  // Hops of weight 1 are assumed. Requires: at least one, no link twice.
  PathIndex add_path(std::span<const LinkIndex> links);
  // Numbered from 0 in the order in which they start.
  MemberIndex start(PathIndex path, double bytes);
  // As FlowRun::advance.
  std::span<const MemberIndex> advance(double until = kNoLimit);

  double now() const { return now_; }
  std::size_t active() const { return active_; }
  std::uint64_t events() const { return events_; }

 private:
  // What is served when it ends, and which it is.
  using Waiting = std::pair<double, MemberIndex>;
  struct PathClass {
    std::vector<Hop> path;
    FlowIndex flow = 0;
    double served = 0;  // bytes per member, at `since`
    double since = 0;
    double rate = 0;
    bool is_touched = false;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> members;
  };

  void serve(PathClass& each) const;
  void touch(PathIndex path);
  void commit();

  FairRates rates_;
  FinishHeap finish_;  // by path: when its first member ends
  std::vector<PathClass> classes_;
  std::vector<PathIndex> path_of_;  // by flow
  std::vector<PathIndex> touched_;
  std::vector<MemberIndex> ended_;
  double now_ = 0;
  std::size_t active_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace weir::network
