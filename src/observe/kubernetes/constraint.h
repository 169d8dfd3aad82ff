// SPDX-License-Identifier: Apache-2.0
//
// What can keep a workload waiting, by the names that reports use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::observe {

enum class Constraint : std::uint8_t {
  insufficient,  // nodes that could hold it are busy; detail: the resource
  too_large,     // no node could hold it even empty; detail: the resource
  fragmented,    // enough is free in total, on no single node; detail: the resource
  gpu_product,   // it asks for a GPU product that no node has to offer
  node_selector,
  node_affinity,
  node_name,
  taint,
  unschedulable,  // cordoned
  not_ready,
  pod_affinity,
  pod_anti_affinity,
  topology_spread,
  host_port,
  pod_count,
  volume,
  resource_claim,
  scheduling_gate,
  scheduler_name,
  quota,
  suspended,
  gang,
  kueue,
  no_nodes,
  not_seen_yet,  // a scheduler has not looked at it yet, or it starts right now
};

std::string_view name_of(Constraint constraint);

// Why one node does not take a pod: the first filter that refuses.
struct Blocked {
  Constraint constraint = Constraint::insufficient;
  std::string detail;
  friend bool operator==(const Blocked&, const Blocked&) = default;
  friend auto operator<=>(const Blocked&, const Blocked&) = default;
};

}  // namespace weir::observe
