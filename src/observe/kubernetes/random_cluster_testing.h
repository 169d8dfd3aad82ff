// SPDX-License-Identifier: Apache-2.0
//
// Small random clusters in which much collides: few labels, few zones, taints, anti-affinity, spreads, full nodes.
#pragma once

#include "domain/seeded_rng.h"
#include "observe/kubernetes/cluster_testing.h"

namespace weir::observe::testing {

inline void add_wishes(SeededRng& rng, Pod& pod) {
  const LabelSelector selector{{{"app", rng.below(2) == 0 ? "a" : "b"}}, {}};
  pod.meta.labels = {{"app", rng.below(2) == 0 ? "a" : "b"}};
  const std::string key = rng.below(2) == 0 ? "zone" : "kubernetes.io/hostname";
  switch (rng.below(8)) {
    case 0:
      pod.node_selector = {{"disk", rng.below(2) == 0 ? "ssd" : "nvme"}};
      break;
    case 1:
      pod.node_affinity = {{{{"zone", MatchOperator::in, {"z0", "z9"}}}, {}}};
      break;
    case 2:
      pod.pod_anti_affinity = {{selector, {}, {}, key, {}, {}}};
      break;
    case 3:
      pod.spread = {{1, "zone", true, selector, 1, true, false, {}}};
      break;
    case 4:
      pod.tolerations = {{"dedicated", true, "", {}}};
      break;
    case 5:
      pod.pod_affinity = {{selector, {}, {}, key, {}, {}}};
      break;
    default:
      break;
  }
}

inline ClusterObjects random_cluster(std::uint64_t seed) {
  SeededRng rng{seed};
  ClusterBuilder cluster;
  const auto nodes = 1 + rng.below(6);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    auto& node =
        cluster.node("n" + std::to_string(i), static_cast<std::int64_t>(rng.below(3)) * 4, 16);
    if (rng.below(4) > 0) node.meta.labels.set("zone", "z" + std::to_string(rng.below(3)));
    if (rng.below(2) == 0) node.meta.labels.set("disk", "ssd");
    if (rng.below(5) == 0) node.taints = {{"dedicated", "infra", TaintEffect::no_schedule}};
    if (rng.below(8) == 0)
      node.taints.insert(node.taints.begin(), {"slow", "", TaintEffect::prefer_no_schedule});
    if (rng.below(8) == 0) node.is_unschedulable = true;
    if (rng.below(6) == 0) node.allocatable.set("pods", Quantity::of(2));
  }
  const auto running = rng.below(12);
  for (std::uint64_t i = 0; i < running; ++i) {
    auto& pod = cluster.pod("runs-" + std::to_string(i), static_cast<std::int64_t>(rng.below(4)),
                            "n" + std::to_string(rng.below(nodes)),
                            static_cast<std::int64_t>(1 + rng.below(6)));
    add_wishes(rng, pod);
    if (rng.below(8) == 0) pod.meta.deleted = kNow;
  }
  const auto waiting = 1 + rng.below(3);
  for (std::uint64_t i = 0; i < waiting; ++i) {
    add_wishes(
        rng, cluster.pod("waits-" + std::to_string(i), static_cast<std::int64_t>(rng.below(10)), "",
                         static_cast<std::int64_t>(1 + rng.below(8))));
  }
  return cluster.objects;
}

}  // namespace weir::observe::testing
