// SPDX-License-Identifier: Apache-2.0
//
// Jobs for a network simulation: how many GPUs, what they compute and what they exchange.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

enum class CollectiveKind : std::uint8_t {
  ring_all_reduce,
  ring_all_gather,
  ring_reduce_scatter,
  halving_doubling,
  double_tree,
  hierarchical,
  all_to_all,
  all_to_all_at_once,
  broadcast,
  reduce,
  pipeline,
};

// By kind.
inline constexpr std::string_view kNetworkCollectiveNames[] = {
    "ring",      "all-gather",   "reduce-scatter", "halving-doubling",
    "tree",      "hierarchical", "all-to-all",     "all-to-all-at-once",
    "broadcast", "reduce",       "pipeline"};

// Whether each step of a collective waits for the one before, or all go on at once.
enum class PlayMode : std::uint8_t { stepwise, steady };

struct MixJob {
  std::string name;
  std::uint64_t line = 0;  // in its file
  std::int32_t gpus = 2;
  CollectiveKind collective = CollectiveKind::ring_all_reduce;
  PlayMode mode = PlayMode::stepwise;
  double bytes = 0;            // of a rank's buffer
  double compute_seconds = 0;  // per iteration
  double ready_seconds = 0;    // of that, before the collective may begin
  double start_seconds = 0;
  std::int64_t iterations = 1;
  friend bool operator==(const MixJob&, const MixJob&) = default;
};

struct NetworkMix {
  std::vector<MixJob> jobs;
};

}  // namespace weir
