// SPDX-License-Identifier: Apache-2.0
//
// Flows for the network benchmark, in a form that any simulator can play: links with capacities,
// paths over them, and which path is used when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/flow_graph.h"

namespace weir::bench {

struct PlayedFlow {
  std::uint32_t path = 0;
  std::uint64_t bytes = 0;
};

struct NetworkWorkload {
  std::string name;
  std::vector<double> capacities;
  std::vector<std::vector<network::LinkIndex>> paths;
  // Unsynchronised: so many slots, and the flows of each one after the other; over when `ends` flows
  // have ended.
  std::vector<std::vector<PlayedFlow>> slots;
  std::uint64_t ends = 0;
  // Synchronised: all flows of a step start together when the step before has ended.
  std::vector<std::vector<PlayedFlow>> steps;
};

struct NetworkRun {
  double cpu_seconds = 0;
  double end_time = 0;       // of the simulated world
  std::uint64_t events = 0;  // starts and ends, without the first start of each slot
  // When asked for: between two ends, the rate of every slot.
  struct Interval {
    double from = 0;
    double to = 0;
    std::vector<double> rates;
  };
  std::vector<Interval> intervals;
};

// `flows` at a time between random GPUs of a leaf-spine fabric of leaves x gpus x spines.
NetworkWorkload unsynchronised(std::uint32_t leaves, std::uint32_t gpus, std::uint32_t flows,
                               std::uint64_t ends);
// 8,192 GPUs in jobs of 8 to 256 that share no link, one flow per GPU.
NetworkWorkload isolated_jobs(std::uint64_t ends);
// Steps of a collective over all GPUs of a leaf-spine fabric.
enum class SteppedKind : std::uint8_t {
  ring_in_order,
  ring_shuffled,
  all_to_all,
  all_to_all_at_once
};
NetworkWorkload stepped(SteppedKind kind, std::uint32_t leaves, std::uint32_t gpus);

// 2,048 flows at a time on the 240 paths between 16 GPUs.
NetworkWorkload crowded_paths(std::uint64_t ends);

// The same with one flow for all of a path (network/path_classes.h). Only unsynchronised flows.
NetworkRun play_classed(const NetworkWorkload& workload);

// weir's own.
NetworkRun play(const NetworkWorkload& workload, bool notes_rates);

// SimGrid in a process of its own, with its network optimisation "Lazy" or "Full". Nothing when this
// build has no SimGrid, or when it took longer than `most_seconds` of processor time.
bool has_peer();
bool play_on_peer(const NetworkWorkload& workload, const std::string& optimisation,
                  bool notes_rates, unsigned most_seconds, NetworkRun& run);

double cpu_seconds();

}  // namespace weir::bench
