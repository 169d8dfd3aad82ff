// SPDX-License-Identifier: Apache-2.0
//
// A network fabric as its owner describes it: a few counts and rates, or a list of links. network/
// makes the graph from it. All links run in both directions, each at its full rate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/quantity.h"

namespace weir {

using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;

constexpr BytesPerSecond gigabits_per_second(double count) {
  return BytesPerSecond{count * 1e9 / 8};
}

enum class FabricKind : std::uint8_t {
  leaf_spine,  // every leaf has `parallel_links` to every spine
  fat_tree,    // of switches with `ports` each: pods of ports/2 leaves, 3 levels
  rail,        // GPU j of every node of a pod is on leaf j of the pod; leaves meet in spines
  optical,     // leaves and spines meet through optical switches, by circuits
  links,       // as listed
};

// One leaf port and one spine or leaf port, joined by an optical switch.
struct OpticalCircuit {
  std::int32_t optical_switch = 0;
  std::int32_t leaf = 0;
  std::int32_t end = 0;  // a spine, or a leaf when is_direct
  bool is_direct = false;
  friend bool operator==(const OpticalCircuit&, const OpticalCircuit&) = default;
};

struct ListedLink {
  std::string from;  // a GPU of `gpus`, or a switch
  std::string to;
  BytesPerSecond rate;
  friend bool operator==(const ListedLink&, const ListedLink&) = default;
};

struct FabricSpec {
  std::string name;
  FabricKind kind = FabricKind::leaf_spine;

  std::int32_t leaves = 0;          // leaf_spine, optical
  std::int32_t gpus_per_leaf = 0;   // leaf_spine, optical
  std::int32_t spines = 0;          // leaf_spine, optical, rail
  std::int32_t parallel_links = 1;  // leaf_spine, rail: between a leaf and a spine
  std::int32_t ports = 0;           // fat_tree
  std::int32_t pods = 0;            // rail
  std::int32_t nodes_per_pod = 0;   // rail
  std::int32_t optical_switches = 0;
  std::int32_t spine_ports = 1;  // optical: of a spine on each optical switch
  std::vector<OpticalCircuit> circuits;
  std::vector<std::string> gpus;  // links: each with exactly one link
  std::vector<ListedLink> links;

  std::int32_t gpus_per_node = 1;  // more than 1: they also meet inside the node
  BytesPerSecond nic = gigabits_per_second(100);
  BytesPerSecond uplink = gigabits_per_second(100);  // between switches
  BytesPerSecond local = gigabits_per_second(1000);  // of a GPU inside its node

  friend bool operator==(const FabricSpec&, const FabricSpec&) = default;
};

}  // namespace weir
