// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/constraint.h"

#include <array>

namespace weir::observe {

std::string_view name_of(Constraint constraint) {
  static constexpr std::array<std::string_view, 25> kNames = {
      "insufficient",    "too_large",
      "fragmented",      "gpu_product",
      "node_selector",   "node_affinity",
      "node_name",       "taint",
      "unschedulable",   "not_ready",
      "pod_affinity",    "pod_anti_affinity",
      "topology_spread", "host_port",
      "pod_count",       "volume",
      "resource_claim",  "scheduling_gate",
      "scheduler_name",  "quota",
      "suspended",       "gang",
      "kueue",           "no_nodes",
      "not_seen_yet"};
  static_assert(kNames.size() == static_cast<std::size_t>(Constraint::not_seen_yet) + 1);
  return kNames[static_cast<std::size_t>(constraint)];
}

}  // namespace weir::observe
