// SPDX-License-Identifier: Apache-2.0
//
// The cluster as a scheduler sees it: nodes with what they have and what is taken, and the pods on them. Every pod
// that holds resources counts, whoever scheduled it, also while it is being deleted.
//
// What-if works on the same value: take a pod away, put it back, change a node, add one. Each is undone by its
// opposite; Trial (below) does that by itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "observe/kubernetes/objects.h"

namespace weir::observe {

using PodPointer = std::shared_ptr<const Pod>;
using NodePointer = std::shared_ptr<const Node>;
using NodeIndex = std::uint32_t;
using ResourceId = std::uint16_t;
using Amount = std::int64_t;  // milli-CPU; bytes; else the count

inline constexpr ResourceId kCpu = 0;
inline constexpr ResourceId kMemory = 1;
inline constexpr ResourceId kPods = 2;
inline constexpr ResourceId kUnknownResource = 0xffff;  // named by no node, pod or job

// Names of resources as small numbers. Grows as names are met.
class ResourceNames {
 public:
  ResourceNames();
  ResourceId id_of(std::string_view name);
  std::optional<ResourceId> find(std::string_view name) const;
  std::string_view name(ResourceId id) const {
    return id < names_.size() ? std::string_view{names_[id]} : "?";
  }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::map<std::string, ResourceId, std::less<>> ids_;
};

// What a pod takes: (resource, amount) by resource, without zeros, with 1 of "pods".
using Amounts = std::vector<std::pair<ResourceId, Amount>>;

// A quantity as schedulers count it.
Amount requested_amount(std::string_view resource, Quantity quantity);
Amount offered_amount(std::string_view resource, Quantity quantity);
Quantity to_quantity(std::string_view resource, Amount amount);
// "8", "500m", "16Gi": as people write an amount of this resource.
std::string amount_text(std::string_view resource, Amount amount);

// Neither cpu, memory, ephemeral-storage, hugepages nor pods: a device of some kind.
bool is_extended(std::string_view resource);
// Whole or shared GPUs of any vendor, MIG slices, GPU memory.
bool is_gpu(std::string_view resource);
// GPUs a pod asks for or a node has, as a number for people: whole devices, MIG slices as one, shares of memory by
// `memory_per_gpu` where known.
double gpus_in(const Resources& resources);

struct ModelNode {
  NodePointer object;
  std::vector<Amount> offered;  // by resource
  std::vector<Amount> used;     // by resource
  std::vector<PodPointer> pods;

  Amount offered_of(ResourceId id) const { return id < offered.size() ? offered[id] : 0; }
  Amount used_of(ResourceId id) const { return id < used.size() ? used[id] : 0; }
  Amount free_of(ResourceId id) const { return offered_of(id) - used_of(id); }
};

// What decides about volumes; shared by all copies of a model.
struct Storage {
  ObjectMap<VolumeClaim> claims;
  ObjectMap<Volume> volumes;
  ObjectMap<StorageClass> classes;
};

class ClusterModel {
 public:
  explicit ClusterModel(const ClusterObjects& objects);

  std::size_t node_count() const { return nodes_.size(); }
  const ModelNode& node(NodeIndex index) const { return nodes_[index]; }
  const std::vector<ModelNode>& nodes() const { return nodes_; }
  std::optional<NodeIndex> find_node(std::string_view name) const;

  const ResourceNames& resources() const { return names_; }
  Amounts amounts_of(const Resources& requests) const;
  Amounts amounts_of(const Pod& pod) const { return amounts_of(pod.requests); }

  const Labels& labels_of_namespace(std::string_view ns) const;
  const Storage& storage() const { return *storage_; }
  // Pods on nodes that keep others away, with their nodes.
  const std::vector<std::pair<PodPointer, NodeIndex>>& pods_with_anti_affinity() const {
    return with_anti_affinity_;
  }

  void place(PodPointer pod, NodeIndex node);
  // False: the pod is not there.
  bool remove(const Pod& pod, NodeIndex node);
  void replace_node(NodeIndex index, NodePointer node);
  NodeIndex add_node(NodePointer node);
  void remove_last_node();
  void set_storage(std::shared_ptr<const Storage> storage) { storage_ = std::move(storage); }
  std::shared_ptr<const Storage> shared_storage() const { return storage_; }

 private:
  void take(ModelNode& node, const Pod& pod, int sign);
  std::vector<Amount> offered_by(const Node& node);

  ResourceNames names_;
  std::vector<ModelNode> nodes_;
  std::map<std::string, NodeIndex, std::less<>> by_name_;
  std::vector<std::pair<PodPointer, NodeIndex>> with_anti_affinity_;
  std::map<std::string, Labels, std::less<>> namespace_labels_;
  std::shared_ptr<const Storage> storage_;
};

// Changes to a model that are undone at the end of the scope, last first.
class Trial {
 public:
  explicit Trial(ClusterModel& model) : model_{model} {}
  ~Trial() { undo_all(); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  void place(const PodPointer& pod, NodeIndex node);
  void remove(const PodPointer& pod, NodeIndex node);
  void remove(const PodPointer& pod);  // from the node it names
  void replace_node(NodeIndex index, NodePointer node);
  NodeIndex add_node(NodePointer node);
  void set_storage(std::shared_ptr<const Storage> storage);
  void undo_all();
  const ClusterModel& model() const { return model_; }

 private:
  struct Step {
    enum class Kind : std::uint8_t { placed, removed, replaced, added, storage } kind;
    NodeIndex node = 0;
    PodPointer pod;
    NodePointer before;
    std::shared_ptr<const Storage> storage;
  };
  ClusterModel& model_;
  std::vector<Step> steps_;
};

}  // namespace weir::observe
