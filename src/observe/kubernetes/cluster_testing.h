// SPDX-License-Identifier: Apache-2.0
//
// Small clusters for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "observe/kubernetes/objects.h"

namespace weir::observe::testing {

inline constexpr Time kNow{std::chrono::hours{1'000}};

class ClusterBuilder {
 public:
  ClusterBuilder() { objects.at = kNow; }

  Node& node(const std::string& name, std::int64_t gpus, std::int64_t cpu = 64,
             std::int64_t memory_gib = 512) {
    auto node = std::make_shared<Node>();
    node->meta.name = name;
    node->meta.labels = {{"kubernetes.io/hostname", name}};
    node->is_ready = true;
    node->allocatable = {{"cpu", Quantity::of(cpu)},
                         {"memory", Quantity::of(memory_gib << 30)},
                         {"pods", Quantity::of(110)}};
    if (gpus > 0) node->allocatable.set(kNvidiaGpu, Quantity::of(gpus));
    objects.nodes[name] = node;
    return *node;
  }

  // On `node`, or waiting where that is empty.
  Pod& pod(const std::string& name, std::int64_t gpus, const std::string& node = "",
           std::int64_t cpu = 1) {
    auto pod = std::make_shared<Pod>();
    pod->meta.ns = "team";
    pod->meta.name = name;
    pod->meta.created = kNow - std::chrono::minutes{10};
    pod->requests = {{"cpu", Quantity::of(cpu)}};
    if (gpus > 0) pod->requests.set(kNvidiaGpu, Quantity::of(gpus));
    pod->containers = {{false, pod->requests}};
    pod->node = node;
    if (!node.empty()) {
      pod->phase = PodPhase::running;
      pod->scheduled = pod->started = kNow - std::chrono::minutes{5};
    }
    objects.pods["team/" + name] = pod;
    return *pod;
  }

  void owned_by(Pod& pod, const std::string& kind, const std::string& owner) {
    pod.meta.owner = ObjectMeta::Owner{kind, owner, ""};
  }

  Workload& job(const std::string& name, std::int32_t parallelism, std::int64_t gpus) {
    auto job = std::make_shared<Workload>();
    job->kind = WorkloadKind::job;
    job->meta.ns = "team";
    job->meta.name = name;
    job->meta.created = kNow - std::chrono::minutes{10};
    job->parallelism = parallelism;
    job->pod_requests = {{"cpu", Quantity::of(1)}, {std::string{kNvidiaGpu}, Quantity::of(gpus)}};
    objects.jobs["team/" + name] = job;
    return *job;
  }

  ClusterObjects objects;
};

}  // namespace weir::observe::testing
