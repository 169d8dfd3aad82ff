// SPDX-License-Identifier: Apache-2.0
//
// What one iteration of a job puts on the links of a leaf-spine fabric: a quiet time (computing, and
// data that stays under one leaf), then phases, each a set of equal flows that start together. A phase
// alone ends when its most loaded link is done: its flows run at 1 / (most flows on a link) of the line
// rate. Collectives as in docs/models/network.md:
//   ring               one phase, a flow from each rank to the next (pipelined)
//   halving-doubling   a phase per distance 1, 2, 4, ..., half as many bytes each time
//   all-to-all         shifts; of n - 1 at most kShiftsSampled, evenly spaced, stand for all
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace weir::network {

inline constexpr int kShiftsSampled = 16;

// What a job exchanges in one iteration. The parts are of an iteration at line rate.
struct JobIteration {
  double iteration_seconds = 0;
  bool halves_and_doubles = false;  // its all-reduce; else a ring
  double all_reduce = 0;
  double all_to_all = 0;
  double all_gather = 0;
};

struct LinkLoad {
  int link = 0;
  float flows = 0;
};

// Of one sender: the two links between its leaf and the receiver's.
struct CrossingFlow {
  int uplink = 0;
  int downlink = 0;
};

struct TrafficPhase {
  double seconds = 0;  // at line rate
  double rate = 1;     // of the line, alone
  std::vector<LinkLoad> loads;
  std::vector<CrossingFlow> flows;
};

struct JobTraffic {
  double quiet_seconds = 0;
  std::vector<TrafficPhase> phases;
  // The most it asks of a link at any time, as a part of the line.
  std::vector<LinkLoad> demands;

  double alone_seconds() const;  // of one iteration without other jobs
};

struct FabricSize {
  int leaves = 0;
  int hosts_per_leaf = 0;
  int spines = 0;

  int uplink(int leaf, int spine) const { return leaf * spines + spine; }
  int downlink(int leaf, int spine) const { return (leaves + leaf) * spines + spine; }
  int links() const { return 2 * leaves * spines; }
};

// Through which spine a flow between hosts of two leaves goes; -1: there is no way.
using SpineChoice = std::function<int(int from_host, int to_host)>;

// `hosts` in the order of ranks: leaf * hosts_per_leaf + position. Nothing but quiet time when a flow
// has no way (is_connected says so).
struct RoutedTraffic {
  JobTraffic traffic;
  bool is_connected = true;
};
RoutedTraffic route_traffic(const JobIteration& job, std::span<const int> hosts,
                            const FabricSize& fabric, const SpineChoice& spine_of);

}  // namespace weir::network
