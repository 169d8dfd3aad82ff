// SPDX-License-Identifier: Apache-2.0
//
// What weir knows of the objects of a Kubernetes cluster: the fields that decide where and when a pod runs, and
// no others. Values; they come from the cache in engine/kubernetes or are made by tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/time.h"
#include "observe/kubernetes/quantity.h"

namespace weir::observe {

// A small map, sorted by key. Labels, annotations, amounts of resources.
template <class Value>
class NamedValues {
 public:
  NamedValues() = default;
  NamedValues(std::initializer_list<std::pair<std::string, Value>> all) {
    for (const auto& [name, value] : all) set(name, value);
  }
  const Value* find(std::string_view name) const {
    const auto at = lower_bound(name);
    return at != all_.end() && at->first == name ? &at->second : nullptr;
  }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string_view name, Value value) {
    const auto at = lower_bound(name);
    if (at != all_.end() && at->first == name) {
      all_[static_cast<std::size_t>(at - all_.begin())].second = std::move(value);
    } else {
      all_.emplace(at, std::string{name}, std::move(value));
    }
  }
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  friend bool operator==(const NamedValues&, const NamedValues&) = default;

 private:
  auto lower_bound(std::string_view name) const {
    return std::lower_bound(
        all_.begin(), all_.end(), name,
        [](const auto& entry, std::string_view key) { return entry.first < key; });
  }
  std::vector<std::pair<std::string, Value>> all_;
};

using Labels = NamedValues<std::string>;
using Resources = NamedValues<Quantity>;  // "cpu", "memory", "pods", "nvidia.com/gpu", ...

inline constexpr std::string_view kNvidiaGpu = "nvidia.com/gpu";

// What every object has.
struct ObjectMeta {
  std::string ns;  // its namespace; empty: it has none
  std::string name;
  std::string uid;
  std::string version;  // resourceVersion: compare for equality only
  Labels labels;
  Labels annotations;  // only those that matter: GPUs, groups, queues
  Time created;
  std::optional<Time> deleted;  // it is being deleted since
  struct Owner {                // the one that controls it
    std::string kind;
    std::string name;
    std::string uid;
    friend bool operator==(const Owner&, const Owner&) = default;
  };
  std::optional<Owner> owner;

  std::string full_name() const { return ns.empty() ? name : ns + "/" + name; }
  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};

enum class TaintEffect : std::uint8_t { no_schedule, prefer_no_schedule, no_execute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::no_schedule;
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Toleration {
  std::string key;  // empty with `exists`: every taint
  bool exists = false;
  std::string value;
  std::optional<TaintEffect> effect;  // none: all
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct Node {
  ObjectMeta meta;
  bool is_unschedulable = false;  // cordoned
  bool is_ready = false;
  std::vector<Taint> taints;
  Resources allocatable;
  friend bool operator==(const Node&, const Node&) = default;
};

// One line of a selector. In node affinity also greater and less, with one number.
enum class MatchOperator : std::uint8_t { in, not_in, exists, does_not_exist, greater, less };
struct MatchExpression {
  std::string key;
  MatchOperator op = MatchOperator::in;
  std::vector<std::string> values;
  friend bool operator==(const MatchExpression&, const MatchExpression&) = default;
};

// All expressions and all labels hold. Empty: everything matches.
struct LabelSelector {
  Labels match_labels;
  std::vector<MatchExpression> expressions;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

// All expressions hold; `fields` know metadata.name only. A term without any matches nothing.
struct NodeTerm {
  std::vector<MatchExpression> expressions;
  std::vector<MatchExpression> fields;
  friend bool operator==(const NodeTerm&, const NodeTerm&) = default;
};
struct PreferredNodeTerm {
  std::int32_t weight = 0;
  NodeTerm term;
  friend bool operator==(const PreferredNodeTerm&, const PreferredNodeTerm&) = default;
};

struct PodTerm {
  std::optional<LabelSelector> selector;  // none: no pod
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;  // none and no namespaces: the pod's own
  std::string topology_key;
  std::vector<std::string> match_label_keys;
  std::vector<std::string> mismatch_label_keys;
  friend bool operator==(const PodTerm&, const PodTerm&) = default;
};
struct PreferredPodTerm {
  std::int32_t weight = 0;
  PodTerm term;
  friend bool operator==(const PreferredPodTerm&, const PreferredPodTerm&) = default;
};

struct TopologySpread {
  std::int32_t max_skew = 1;
  std::string topology_key;
  bool is_hard = true;  // DoNotSchedule
  std::optional<LabelSelector> selector;
  std::int32_t min_domains = 1;
  bool honours_affinity = true;  // nodeAffinityPolicy
  bool honours_taints = false;   // nodeTaintsPolicy
  std::vector<std::string> match_label_keys;
  friend bool operator==(const TopologySpread&, const TopologySpread&) = default;
};

struct HostPort {
  std::string ip;  // empty: all
  std::string protocol = "TCP";
  std::int32_t port = 0;
  // Where it stands in the manifest: which container, which of its ports.
  std::int32_t container = 0;
  std::int32_t index = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// What one container asks for, in the manifest's order: first the init containers, then the others.
struct ContainerRequests {
  bool is_init = false;
  Resources requests;
  friend bool operator==(const ContainerRequests&, const ContainerRequests&) = default;
};

enum class PodPhase : std::uint8_t { pending, running, succeeded, failed, unknown };

struct Pod {
  ObjectMeta meta;
  // What it asks for.
  std::string node;  // empty: not scheduled
  std::string scheduler = "default-scheduler";
  std::int32_t priority = 0;
  std::string priority_class;
  bool may_preempt = true;  // preemptionPolicy is not Never
  Resources
      requests;  // in effect: containers, init containers, sidecars, overhead, pod level; without "pods"
  std::vector<ContainerRequests>
      containers;  // of a pod that waits; empty: not known, and no smaller request is proposed
  Labels node_selector;
  std::optional<std::vector<NodeTerm>> node_affinity;  // one of them matches
  std::vector<PreferredNodeTerm> preferred_nodes;
  std::vector<PodTerm> pod_affinity;
  std::vector<PodTerm> pod_anti_affinity;
  std::vector<PreferredPodTerm> preferred_pods;  // a negative weight: anti-affinity
  std::vector<Toleration> tolerations;
  std::vector<TopologySpread> spread;
  std::vector<std::string> gates;
  std::vector<HostPort> host_ports;
  std::vector<std::string> claims;           // names of persistent volume claims
  std::vector<std::string> resource_claims;  // dynamic resource allocation
  std::optional<std::int64_t> active_deadline_seconds;
  // What has become of it.
  PodPhase phase = PodPhase::pending;
  std::optional<Time> scheduled;  // since when PodScheduled is true
  std::optional<Time> started;    // status.startTime
  std::optional<Time> ended;      // when its last container ended, of a pod that is over
  std::string unschedulable;      // what its scheduler said last; empty: nothing
  std::string nominated_node;

  bool is_over() const { return phase == PodPhase::succeeded || phase == PodPhase::failed; }
  bool holds_resources() const { return !node.empty() && !is_over(); }
  friend bool operator==(const Pod&, const Pod&) = default;
};

// What makes pods, or holds them together.
enum class WorkloadKind : std::uint8_t { job, job_set, pod_group, kueue_workload };

struct Workload {
  WorkloadKind kind = WorkloadKind::job;
  ObjectMeta meta;
  bool is_suspended = false;
  std::int32_t parallelism = 1;  // of a job: pods at a time
  std::optional<std::int32_t> completions;
  std::int32_t active = 0;  // pods there are now
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  std::int32_t min_member = 0;  // of a pod group: all of them or none
  std::string queue;            // Kueue's, or Volcano's
  bool is_admitted = false;     // by Kueue
  bool is_over = false;         // complete or failed
  Resources pod_requests;       // of one pod of a job's template, in effect
  std::string message;          // of the condition that says why it waits
  std::optional<Time> started;
  std::optional<Time> ended;
  friend bool operator==(const Workload&, const Workload&) = default;
};

struct Quota {
  ObjectMeta meta;
  Resources hard;  // "requests.nvidia.com/gpu", "pods", "cpu", ...
  Resources used;
  bool has_scopes = false;
  friend bool operator==(const Quota&, const Quota&) = default;
};

struct PriorityClass {
  ObjectMeta meta;
  std::int32_t value = 0;
  bool is_default = false;
  friend bool operator==(const PriorityClass&, const PriorityClass&) = default;
};

struct NamespaceObject {
  ObjectMeta meta;
  friend bool operator==(const NamespaceObject&, const NamespaceObject&) = default;
};

struct VolumeClaim {
  ObjectMeta meta;
  bool is_bound = false;
  std::string volume;
  std::string storage_class;
  friend bool operator==(const VolumeClaim&, const VolumeClaim&) = default;
};

struct Volume {
  ObjectMeta meta;
  std::optional<std::vector<NodeTerm>> node_affinity;
  std::string storage_class;
  bool is_free = false;  // nobody has claimed it
  friend bool operator==(const Volume&, const Volume&) = default;
};

struct StorageClass {
  ObjectMeta meta;
  bool waits_for_consumer = false;
  bool can_provision = false;  // it has a provisioner other than kubernetes.io/no-provisioner
  friend bool operator==(const StorageClass&, const StorageClass&) = default;
};

// Objects of one kind by "namespace/name". Copying copies pointers: objects are never changed, only replaced.
template <class Object>
using ObjectMap = std::map<std::string, std::shared_ptr<const Object>, std::less<>>;

// Everything at one moment.
struct ClusterObjects {
  Time at;  // of this look, on the wall clock
  ObjectMap<Node> nodes;
  ObjectMap<Pod> pods;
  ObjectMap<Workload> jobs;
  ObjectMap<Workload> job_sets;
  ObjectMap<Workload> pod_groups;
  ObjectMap<Workload> kueue_workloads;
  ObjectMap<Quota> quotas;
  ObjectMap<PriorityClass> priority_classes;
  ObjectMap<NamespaceObject> namespaces;
  ObjectMap<VolumeClaim> volume_claims;
  ObjectMap<Volume> volumes;
  ObjectMap<StorageClass> storage_classes;
};

}  // namespace weir::observe
