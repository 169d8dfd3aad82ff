// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/resource_kinds.h"

#include <fmt/format.h>

#include <type_traits>

namespace weir::engine::kubernetes {
namespace {

constexpr std::array<std::string_view, 1> kV1{"v1"};
constexpr std::array<std::string_view, 1> kV1Alpha1{"v1alpha1"};
constexpr std::array<std::string_view, 1> kV1Alpha2{"v1alpha2"};
constexpr std::array<std::string_view, 1> kV1Beta1{"v1beta1"};
constexpr std::array<std::string_view, 2> kV1Betas{"v1beta2", "v1beta1"};

}  // namespace

std::string ResourceKindInfo::discovery_path(std::string_view version) const {
  return group.empty() ? fmt::format("/api/{}", version)
                       : fmt::format("/apis/{}/{}", group, version);
}

std::string ResourceKindInfo::path(std::string_view version) const {
  return fmt::format("{}/{}", discovery_path(version), resource);
}

const std::array<ResourceKindInfo, kResourceKinds>& resource_kinds() {
  using Kind = ResourceKind;
  static const std::array<ResourceKindInfo, kResourceKinds> kinds{{
      {Kind::nodes, "nodes", "", "nodes", kV1},
      {Kind::pods, "pods", "", "pods", kV1},
      {Kind::jobs, "jobs", "batch", "jobs", kV1},
      {Kind::job_sets, "jobsets", "jobset.x-k8s.io", "jobsets", kV1Alpha2, true},
      {Kind::pod_groups, "podgroups", "scheduling.x-k8s.io", "podgroups", kV1Alpha1, true},
      {Kind::volcano_pod_groups, "volcano podgroups", "scheduling.volcano.sh", "podgroups",
       kV1Beta1, true},
      {Kind::kueue_workloads, "kueue workloads", "kueue.x-k8s.io", "workloads", kV1Betas, true},
      {Kind::quotas, "resourcequotas", "", "resourcequotas", kV1},
      {Kind::priority_classes, "priorityclasses", "scheduling.k8s.io", "priorityclasses", kV1},
      {Kind::namespaces, "namespaces", "", "namespaces", kV1},
      {Kind::volume_claims, "persistentvolumeclaims", "", "persistentvolumeclaims", kV1},
      {Kind::volumes, "persistentvolumes", "", "persistentvolumes", kV1},
      {Kind::storage_classes, "storageclasses", "storage.k8s.io", "storageclasses", kV1},
  }};
  return kinds;
}

const ResourceKindInfo& info_of(ResourceKind kind) {
  return resource_kinds()[static_cast<std::size_t>(kind)];
}

const observe::ObjectMeta* meta_of(const AnyObject& object) {
  return std::visit(
      [](const auto& one) -> const observe::ObjectMeta* {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::monostate>) {
          return nullptr;
        } else {
          return one ? &one->meta : nullptr;
        }
      },
      object);
}

}  // namespace weir::engine::kubernetes
