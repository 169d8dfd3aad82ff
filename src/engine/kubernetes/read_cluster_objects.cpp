// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/read_cluster_objects.h"

#include "engine/kubernetes/read_meta.h"

namespace weir::engine::kubernetes {

observe::Node read_node(const JsonFields& object) {
  observe::Node node;
  node.meta = read_meta(object);
  const JsonFields spec = object.object("spec");
  node.is_unschedulable = spec.flag("unschedulable");
  for (const JsonFields& from : spec.objects("taints")) {
    observe::Taint taint{from.text("key"), from.text("value")};
    const std::string_view effect = from.view("effect");
    if (effect == "PreferNoSchedule") taint.effect = observe::TaintEffect::prefer_no_schedule;
    if (effect == "NoExecute") taint.effect = observe::TaintEffect::no_execute;
    node.taints.push_back(std::move(taint));
  }
  const JsonFields status = object.object("status");
  node.allocatable = status.resources("allocatable");
  const std::vector<Condition> conditions = read_conditions(status);
  const Condition* ready = find_condition(conditions, "Ready");
  node.is_ready = ready != nullptr && ready->is_true;
  return node;
}

observe::Quota read_quota(const JsonFields& object) {
  observe::Quota quota;
  quota.meta = read_meta(object);
  const JsonFields spec = object.object("spec");
  const JsonFields status = object.object("status");
  quota.hard = status.resources("hard");  // what is enforced
  if (quota.hard.empty()) quota.hard = spec.resources("hard");
  quota.used = status.resources("used");
  quota.has_scopes = !spec.texts("scopes").empty() || spec.has("scopeSelector");
  return quota;
}

observe::PriorityClass read_priority_class(const JsonFields& object) {
  return {read_meta(object), object.integer<std::int32_t>("value").value_or(0),
          object.flag("globalDefault")};
}

observe::NamespaceObject read_namespace(const JsonFields& object) {
  return {read_meta(object)};
}

observe::VolumeClaim read_volume_claim(const JsonFields& object) {
  observe::VolumeClaim claim;
  claim.meta = read_meta(object);
  const JsonFields spec = object.object("spec");
  claim.volume = spec.text("volumeName");
  claim.storage_class = spec.text("storageClassName");
  claim.is_bound = !claim.volume.empty() && object.object("status").view("phase") == "Bound";
  return claim;
}

observe::Volume read_volume(const JsonFields& object) {
  observe::Volume volume;
  volume.meta = read_meta(object);
  const JsonFields spec = object.object("spec");
  volume.storage_class = spec.text("storageClassName");
  volume.is_free = !spec.has("claimRef");
  const JsonFields required = spec.object("nodeAffinity").object("required");
  if (required.is_there()) {
    auto& terms = volume.node_affinity.emplace();
    for (const JsonFields& term : required.objects("nodeSelectorTerms")) {
      terms.push_back(read_node_term(term));
    }
  }
  return volume;
}

observe::StorageClass read_storage_class(const JsonFields& object) {
  observe::StorageClass storage;
  storage.meta = read_meta(object);
  storage.waits_for_consumer = object.view("volumeBindingMode") == "WaitForFirstConsumer";
  const std::string_view provisioner = object.view("provisioner");
  storage.can_provision = !provisioner.empty() && provisioner != "kubernetes.io/no-provisioner";
  return storage;
}

}  // namespace weir::engine::kubernetes
