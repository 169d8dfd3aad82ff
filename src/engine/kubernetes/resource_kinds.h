// SPDX-License-Identifier: Apache-2.0
//
// The kinds of objects that are watched, and where an API server keeps them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "observe/kubernetes/objects.h"

namespace weir::engine::kubernetes {

enum class ResourceKind : std::uint8_t {
  nodes,
  pods,
  jobs,
  job_sets,
  pod_groups,
  volcano_pod_groups,
  kueue_workloads,
  quotas,
  priority_classes,
  namespaces,
  volume_claims,
  volumes,
  storage_classes,
};
inline constexpr std::size_t kResourceKinds = 13;

struct ResourceKindInfo {
  ResourceKind kind = ResourceKind::nodes;
  std::string_view name;      // in reports: "pods", "volcano podgroups"
  std::string_view group;     // empty: the core group
  std::string_view resource;  // in paths: "persistentvolumeclaims"
  // The best first. More than one, or is_optional: the server is asked what it has.
  std::span<const std::string_view> versions;
  bool is_optional = false;  // an extension, which a cluster may lack

  // "/api/v1/pods", "/apis/batch/v1/jobs"
  std::string path(std::string_view version) const;
  // "/apis/kueue.x-k8s.io/v1beta1": what that version of the group has.
  std::string discovery_path(std::string_view version) const;
};

// In the order of the enumeration.
const std::array<ResourceKindInfo, kResourceKinds>& resource_kinds();
const ResourceKindInfo& info_of(ResourceKind kind);

// An object of any kind, or none.
using AnyObject = std::variant<
    std::monostate, std::shared_ptr<const observe::Node>, std::shared_ptr<const observe::Pod>,
    std::shared_ptr<const observe::Workload>, std::shared_ptr<const observe::Quota>,
    std::shared_ptr<const observe::PriorityClass>, std::shared_ptr<const observe::NamespaceObject>,
    std::shared_ptr<const observe::VolumeClaim>, std::shared_ptr<const observe::Volume>,
    std::shared_ptr<const observe::StorageClass>>;

// Null: it is none.
const observe::ObjectMeta* meta_of(const AnyObject& object);

}  // namespace weir::engine::kubernetes
