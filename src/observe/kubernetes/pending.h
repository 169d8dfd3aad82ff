// SPDX-License-Identifier: Apache-2.0
//
// What waits in a cluster: pods without a node by the workload they belong to, and jobs whose pods were not made.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "observe/kubernetes/explanation.h"
#include "observe/kubernetes/objects.h"

namespace weir::observe {

inline constexpr std::string_view kCoschedulingGroup = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view kVolcanoGroup = "scheduling.k8s.io/group-name";
inline constexpr std::string_view kKueueGroup = "kueue.x-k8s.io/pod-group-name";
inline constexpr std::string_view kKueueQueue = "kueue.x-k8s.io/queue-name";

// By time of creation, then by name.
std::vector<PendingWorkload> pending_workloads(const ClusterObjects& objects);

// Waits for a node. Also one that names a node that does not exist.
bool is_waiting(const Pod& pod, const ClusterObjects& objects);

// The workload a pod belongs to, as it is named in reports.
ObjectName workload_of(const Pod& pod, const ClusterObjects& objects);

// Schedulers that have placed a pod or said something about one, and kube-scheduler by its default name.
std::set<std::string, std::less<>> known_schedulers(const ClusterObjects& objects);

}  // namespace weir::observe
