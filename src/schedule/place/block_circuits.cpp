// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/block_circuits.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weir::schedule {
namespace {

using network::CircuitWiring;

bool join_two_leaves(CircuitWiring& wiring, const PoolNetwork& network, JobId job, GpuBlock block) {
  const LeafRange leaves = network.leaves_of(block);
  for (std::uint32_t i = 0; i < network.crossing(block, leaves.first); ++i) {
    if (!wiring.connect_leaves(job, leaves.first, leaves.last)) return false;
  }
  return true;
}

// Links of each leaf to each of so many spines.
std::vector<int> links_per_spine(const PoolNetwork& network, GpuBlock block, int spines) {
  const LeafRange leaves = network.leaves_of(block);
  std::vector<int> links;
  for (int leaf = leaves.first; leaf <= leaves.last; ++leaf)
    links.push_back((static_cast<int>(network.crossing(block, leaf)) + spines - 1) / spines);
  return links;
}

// The spines that this fills most, and leaves others whole.
std::vector<int> tightest_spines(const CircuitWiring& wiring, int all, int count, int ports) {
  std::vector<std::pair<int, int>> enough;
  for (int spine = 0; spine < all; ++spine) {
    const int free = wiring.free_ports_of_spine(spine);
    if (free >= ports) enough.emplace_back(free, spine);
  }
  std::sort(enough.begin(), enough.end());
  std::vector<int> spines;
  for (const auto& [free, spine] : enough) {
    if (std::ssize(spines) < count) spines.push_back(spine);
  }
  return spines;
}

bool join_to_spines(CircuitWiring& wiring, const PoolNetwork& network, JobId job, GpuBlock block,
                    int count) {
  const std::vector<int> links = links_per_spine(network, block, count);
  int ports = 0;
  for (const int of_leaf : links) ports += of_leaf;
  const std::vector<int> spines = tightest_spines(wiring, network.fabric.spines, count, ports);
  if (std::ssize(spines) < count) return false;
  network::Disturbance disturbance;
  const int first = network.leaves_of(block).first;
  for (std::size_t leaf = 0; leaf < links.size(); ++leaf) {
    for (const int spine : spines) {
      for (int i = 0; i < links[leaf]; ++i) {
        if (!wiring.connect(job, first + static_cast<int>(leaf), spine, true, disturbance))
          return false;
      }
    }
  }
  return true;
}

}  // namespace

CircuitWiring no_circuits(const PoolNetwork& network) {
  return {network.fabric.leaves, network.fabric.spines, static_cast<int>(network.hosts_per_leaf()),
          network.fabric.spine_ports};
}

void hold_circuits(CircuitWiring& wiring, JobId job, const std::vector<OpticalCircuit>& circuits) {
  for (const OpticalCircuit& circuit : circuits) {
    const bool is_held =
        circuit.is_direct
            ? wiring.occupy_leaves(job, circuit.optical_switch, circuit.leaf, circuit.end)
            : wiring.occupy(job, circuit.optical_switch, circuit.leaf, circuit.end);
    assert(is_held && "a port has one circuit");
    static_cast<void>(is_held);
  }
}

bool wire(CircuitWiring& wiring, const PoolNetwork& network, JobId job, GpuBlock block) {
  if (network.leaves_of(block).count() == 2) {
    CircuitWiring after = wiring;
    if (join_two_leaves(after, network, job, block)) {
      wiring = std::move(after);
      return true;
    }
  }
  for (int spines = 1; spines <= network.fabric.spines; spines *= 2) {
    CircuitWiring after = wiring;
    if (!join_to_spines(after, network, job, block, spines)) continue;
    wiring = std::move(after);
    return true;
  }
  return false;
}

std::map<JobId, std::vector<OpticalCircuit>> circuits_by_job(const CircuitWiring& wiring) {
  std::map<JobId, std::vector<OpticalCircuit>> circuits;
  for (const network::Circuit& circuit : wiring.circuits()) {
    const bool is_direct = circuit.spine < 0;
    circuits[circuit.job].push_back({circuit.optical_switch, circuit.leaf,
                                     is_direct ? circuit.other_leaf : circuit.spine, is_direct});
  }
  return circuits;
}

}  // namespace weir::schedule
