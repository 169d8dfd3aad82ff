// SPDX-License-Identifier: Apache-2.0
//
// For tests: whether GPUs, links and ports of a fabric have one owner each.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "schedule/core/training_state.h"

namespace weir::schedule::testing {

// Empty when all is well; otherwise what is not.
inline std::string trouble_with_links(const TrainingState& state) {
  for (const PoolState& pool : state.pools) {
    const auto network = state.network_of(pool);
    std::map<std::uint32_t, JobId> gpus;
    std::map<std::tuple<int, int>, JobId> links;
    std::map<std::tuple<int, int>, JobId> leaf_ports;
    std::map<std::tuple<int, int>, int> spine_ports;
    for (const JobId id : pool.active) {
      const TrainingJob& job = state.job(id);
      const std::string name = "job " + std::to_string(id.value);
      for (std::uint32_t gpu = job.block.first; gpu < job.block.end(); ++gpu) {
        if (!gpus.emplace(gpu, id).second) return name + " has a GPU of another";
      }
      if (job.links == nullptr) {
        // Its network may have been told after the last decision; decisions are checked by callers.
        continue;
      }
      if (!network) return name + " has links of no fabric";
      if (!can_have(*network, job.block, *job.links)) return name + " has links it cannot have";
      const LeafRange leaves = network->leaves_of(job.block);
      for (const std::int32_t uplink : job.links->uplinks) {
        for (int leaf = leaves.first; leaf <= leaves.last; ++leaf) {
          if (!links.emplace(std::tuple{leaf, uplink}, id).second)
            return name + " has a link of another";
        }
      }
      for (const OpticalCircuit& circuit : job.links->circuits) {
        const auto take = [&](int leaf) {
          return leaf_ports.emplace(std::tuple{circuit.optical_switch, leaf}, id).second;
        };
        if (!take(circuit.leaf)) return name + " has a leaf's port of another";
        if (circuit.is_direct && !take(circuit.end)) return name + " has a leaf's port of another";
        if (!circuit.is_direct &&
            ++spine_ports[{circuit.optical_switch, circuit.end}] > network->fabric.spine_ports)
          return name + " has a spine's port of another";
      }
    }
  }
  return {};
}

// The same, right after a decision: every job that needs links has them.
inline std::string trouble_after_a_decision(const TrainingState& state) {
  if (std::string trouble = trouble_with_links(state); !trouble.empty()) return trouble;
  for (const PoolState& pool : state.pools) {
    const auto network = state.network_of(pool);
    for (const JobId id : pool.active) {
      const TrainingJob& job = state.job(id);
      const bool needs = network && network->needs_links(job.block);
      if (needs != (job.links != nullptr))
        return "job " + std::to_string(id.value) + (needs ? " lacks links" : " has needless links");
    }
  }
  return {};
}

}  // namespace weir::schedule::testing
