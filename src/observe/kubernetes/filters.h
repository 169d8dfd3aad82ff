// SPDX-License-Identifier: Apache-2.0
//
// kube-scheduler's default filters (1.36), in its order: which nodes may take a pod, and what stops the others.
// Left out: limits of volumes per node and zones of volumes (the objects here do not tell), declared node features.
// Added: shares of one GPU, where pods say by annotation on which device they lie (gpushare), since no node-level
// total tells whether one device has room.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/kubernetes/cluster_model.h"
#include "observe/kubernetes/constraint.h"

namespace weir::observe {

enum class Filter : std::uint8_t {
  unschedulable,
  node_name,
  taint,
  node_affinity,
  host_port,
  resources,
  device_share,
  volume,
  topology_spread,
  pod_affinity,
  pod_anti_affinity,
};
inline constexpr int kFilterCount = 11;

// A set of filters.
class FilterSet {
 public:
  void add(Filter filter) { bits_ |= bit(filter); }
  bool has(Filter filter) const { return (bits_ & bit(filter)) != 0; }
  bool empty() const { return bits_ == 0; }
  Filter first() const;
  int count() const;
  // Nothing but this one.
  bool is_only(Filter filter) const { return bits_ == bit(filter); }
  FilterSet without(Filter filter) const;
  friend bool operator==(const FilterSet&, const FilterSet&) = default;

 private:
  static std::uint16_t bit(Filter filter) {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(filter));
  }
  std::uint16_t bits_ = 0;
};

// Those that ask for more than a change of what else runs: the node, the pod or its volumes must change.
inline constexpr Filter kStaticFilters[] = {Filter::unschedulable, Filter::node_name, Filter::taint,
                                            Filter::node_affinity, Filter::volume};

// One pod against all nodes of a model. Counts what it must once, in the constructor: for `depends_on_pods` the answers are those of
// that moment. Resources and ports are read from the model as it is.
class PodFilters {
 public:
  PodFilters(const ClusterModel& model, const Pod& pod);

  const Pod& pod() const { return pod_; }
  const Amounts& amounts() const { return amounts_; }

  FilterSet failing(NodeIndex node) const;
  bool passes(NodeIndex node) const { return failing(node).empty(); }
  // What the given filter objects to. Requires: it fails.
  Blocked blocked(NodeIndex node, Filter filter) const;
  // The first that fails.
  std::optional<Blocked> why_not(NodeIndex node) const;

  // Resources of which the node has too little left; too few even when empty.
  std::vector<ResourceId> short_of(NodeIndex node) const;
  std::vector<ResourceId> too_small_in(NodeIndex node) const;

  // Whether where other pods run matters beyond resources and ports: then each placement changes the answer.
  bool depends_on_pods() const { return depends_on_pods_; }

 private:
  using DomainCounts = std::map<std::pair<std::string, std::string>, std::int64_t, std::less<>>;
  struct SpreadCounts {
    std::map<std::string, std::int64_t, std::less<>> by_domain;
    std::int64_t least = 0;
    bool matches_itself = false;
  };

  bool fails_host_port(const ModelNode& node) const;
  bool fails_resources(const ModelNode& node) const;
  bool fails_device_share(const ModelNode& node) const;
  bool fails_volume(const ModelNode& node) const;
  const TopologySpread* failing_spread(const Node& node) const;
  bool fails_pod_affinity(const Node& node) const;
  bool fails_pod_anti_affinity(const Node& node) const;
  void count_spread();
  void count_affinity();
  std::string volume_detail(const ModelNode& node) const;
  Blocked blocked_by_affinity(const Node& node) const;
  Blocked blocked_by_resources(NodeIndex node) const;

  const ClusterModel& model_;
  const Pod& pod_;
  Amounts amounts_;
  bool depends_on_pods_ = false;
  std::vector<SpreadCounts> spread_;  // parallel to the hard ones of pod_.spread
  std::vector<const TopologySpread*> hard_spread_;
  DomainCounts affinity_;       // pods that match all of its terms
  DomainCounts anti_affinity_;  // pods that match one of its terms
  DomainCounts kept_away_;      // by pods that are there
  bool is_first_of_its_kind_ = false;
};

// Whether a term of `owner` speaks of `other`.
bool term_matches(const PodTerm& term, const Pod& owner, const Pod& other,
                  const ClusterModel& model);

// Shares of GPU memory as gpushare counts them.
inline constexpr std::string_view kShareOfMemory = "aliyun.com/gpu-mem";
inline constexpr std::string_view kShareDevices = "aliyun.com/gpu-count";
inline constexpr std::string_view kShareIndex = "ALIYUN_COM_GPU_MEM_IDX";
// Free memory of each device of a node; empty where devices are not known.
std::vector<Amount> free_device_shares(const ModelNode& node);

}  // namespace weir::observe
