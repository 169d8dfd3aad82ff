// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/cluster_model.h"

#include <algorithm>

namespace weir::observe {

ResourceNames::ResourceNames() {
  id_of("cpu");
  id_of("memory");
  id_of("pods");
}

ResourceId ResourceNames::id_of(std::string_view name) {
  const auto at = ids_.find(name);
  if (at != ids_.end()) return at->second;
  const auto id = static_cast<ResourceId>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(std::string{name}, id);
  return id;
}

std::optional<ResourceId> ResourceNames::find(std::string_view name) const {
  const auto at = ids_.find(name);
  if (at == ids_.end()) return std::nullopt;
  return at->second;
}

Amount requested_amount(std::string_view resource, Quantity quantity) {
  return resource == "cpu" ? quantity.milli_rounded_up() : quantity.units_rounded_up();
}

Amount offered_amount(std::string_view resource, Quantity quantity) {
  return resource == "cpu" ? quantity.milli_rounded_down() : quantity.units_rounded_down();
}

Quantity to_quantity(std::string_view resource, Amount amount) {
  return resource == "cpu" ? Quantity::of_milli(amount) : Quantity::of(amount);
}

std::string amount_text(std::string_view resource, Amount amount) {
  const bool is_bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  return to_string(to_quantity(resource, amount), is_bytes);
}

bool is_extended(std::string_view resource) {
  return resource.find('/') != std::string_view::npos && !resource.starts_with("kubernetes.io/");
}

bool is_gpu(std::string_view resource) {
  return is_extended(resource) && (resource.find("gpu") != std::string_view::npos ||
                                   resource.find("/mig-") != std::string_view::npos);
}

double gpus_in(const Resources& resources) {
  double gpus = 0;
  for (const auto& [name, quantity] : resources) {
    const auto amount = static_cast<double>(offered_amount(name, quantity));
    const bool is_device = name.ends_with("/gpu") || name.ends_with("/gpu.shared") ||
                           name.find("/mig-") != std::string::npos;
    if (is_device) gpus += amount;
  }
  if (gpus > 0) return gpus;
  const auto* count = resources.find("aliyun.com/gpu-count");
  return count != nullptr ? static_cast<double>(count->units_rounded_down()) : 0;
}

ClusterModel::ClusterModel(const ClusterObjects& objects) {
  const auto meet = [this](const Resources& requests) {
    for (const auto& [name, quantity] : requests) names_.id_of(name);
  };
  for (const auto& [name, pod] : objects.pods) meet(pod->requests);
  for (const auto& [name, job] : objects.jobs) meet(job->pod_requests);
  nodes_.reserve(objects.nodes.size());
  for (const auto& [name, node] : objects.nodes) add_node(node);
  for (const auto& [name, pod] : objects.pods) {
    if (!pod->holds_resources()) continue;
    if (const auto node = find_node(pod->node)) place(pod, *node);
  }
  for (const auto& [name, ns] : objects.namespaces)
    namespace_labels_.emplace(ns->meta.name, ns->meta.labels);
  storage_ = std::make_shared<Storage>(
      Storage{objects.volume_claims, objects.volumes, objects.storage_classes});
}

std::optional<NodeIndex> ClusterModel::find_node(std::string_view name) const {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return std::nullopt;
  return at->second;
}

Amounts ClusterModel::amounts_of(const Resources& requests) const {
  Amounts amounts{{kPods, 1}};
  for (const auto& [name, quantity] : requests) {
    const auto amount = requested_amount(name, quantity);
    if (amount > 0 && name != "pods")
      amounts.emplace_back(names_.find(name).value_or(kUnknownResource), amount);
  }
  std::ranges::sort(amounts);
  return amounts;
}

const Labels& ClusterModel::labels_of_namespace(std::string_view ns) const {
  static const Labels kNone;
  const auto at = namespace_labels_.find(ns);
  return at != namespace_labels_.end() ? at->second : kNone;
}

void ClusterModel::take(ModelNode& node, const Pod& pod, int sign) {
  for (const auto& [name, quantity] : pod.requests) names_.id_of(name);
  for (const auto& [id, amount] : amounts_of(pod)) {
    if (node.used.size() <= id) node.used.resize(static_cast<std::size_t>(id) + 1);
    node.used[id] += sign * amount;
  }
}

void ClusterModel::place(PodPointer pod, NodeIndex index) {
  auto& node = nodes_[index];
  take(node, *pod, 1);
  if (!pod->pod_anti_affinity.empty()) with_anti_affinity_.emplace_back(pod, index);
  node.pods.push_back(std::move(pod));
}

bool ClusterModel::remove(const Pod& pod, NodeIndex index) {
  auto& node = nodes_[index];
  const auto is_it = [&](const PodPointer& other) {
    return other.get() == &pod ||
           (other->meta.name == pod.meta.name && other->meta.ns == pod.meta.ns);
  };
  const auto at = std::ranges::find_if(node.pods, is_it);
  if (at == node.pods.end()) return false;
  take(node, **at, -1);
  node.pods.erase(at);
  std::erase_if(with_anti_affinity_,
                [&](const auto& entry) { return entry.second == index && is_it(entry.first); });
  return true;
}

std::vector<Amount> ClusterModel::offered_by(const Node& node) {
  std::vector<Amount> offered(names_.size());
  for (const auto& [name, quantity] : node.allocatable) {
    const auto id = names_.id_of(name);
    if (offered.size() <= id) offered.resize(static_cast<std::size_t>(id) + 1);
    offered[id] = offered_amount(name, quantity);
  }
  return offered;
}

void ClusterModel::replace_node(NodeIndex index, NodePointer node) {
  nodes_[index].offered = offered_by(*node);
  nodes_[index].object = std::move(node);
}

NodeIndex ClusterModel::add_node(NodePointer node) {
  const auto index = static_cast<NodeIndex>(nodes_.size());
  by_name_.emplace(node->meta.name, index);
  auto offered = offered_by(*node);
  nodes_.push_back({std::move(node), std::move(offered), {}, {}});
  return index;
}

void ClusterModel::remove_last_node() {
  by_name_.erase(nodes_.back().object->meta.name);
  nodes_.pop_back();
}

void Trial::place(const PodPointer& pod, NodeIndex node) {
  model_.place(pod, node);
  steps_.push_back({Step::Kind::placed, node, pod, nullptr, nullptr});
}

void Trial::remove(const PodPointer& pod, NodeIndex node) {
  if (model_.remove(*pod, node))
    steps_.push_back({Step::Kind::removed, node, pod, nullptr, nullptr});
}

void Trial::remove(const PodPointer& pod) {
  if (const auto node = model_.find_node(pod->node)) remove(pod, *node);
}

void Trial::replace_node(NodeIndex index, NodePointer node) {
  steps_.push_back({Step::Kind::replaced, index, nullptr, model_.node(index).object, nullptr});
  model_.replace_node(index, std::move(node));
}

NodeIndex Trial::add_node(NodePointer node) {
  const auto index = model_.add_node(std::move(node));
  steps_.push_back({Step::Kind::added, index, nullptr, nullptr, nullptr});
  return index;
}

void Trial::set_storage(std::shared_ptr<const Storage> storage) {
  steps_.push_back({Step::Kind::storage, 0, nullptr, nullptr, model_.shared_storage()});
  model_.set_storage(std::move(storage));
}

void Trial::undo_all() {
  for (; !steps_.empty(); steps_.pop_back()) {
    auto& step = steps_.back();
    switch (step.kind) {
      case Step::Kind::placed:
        model_.remove(*step.pod, step.node);
        break;
      case Step::Kind::removed:
        model_.place(step.pod, step.node);
        break;
      case Step::Kind::replaced:
        model_.replace_node(step.node, step.before);
        break;
      case Step::Kind::added:
        model_.remove_last_node();
        break;
      case Step::Kind::storage:
        model_.set_storage(step.storage);
        break;
    }
  }
}

}  // namespace weir::observe
