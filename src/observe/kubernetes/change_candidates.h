// SPDX-License-Identifier: Apache-2.0
//
// Changes that might start a workload. Each knows how it reads, what it edits, and how it acts on a model, so that
// change_search.h can try it. Nothing here promises that a change helps.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "observe/kubernetes/edits.h"
#include "observe/kubernetes/explanation.h"
#include "observe/kubernetes/filters.h"

namespace weir::observe {

// Smaller is better; within a rank the cost decides.
enum class ChangeRank : std::uint8_t {
  mends_a_slip,   // the workload asks for what nobody has, or is held back on purpose
  opens_a_node,   // the operator's side, and nobody loses anything
  asks_for_less,  // the workload's own wishes
  adds_a_node,
  moves_a_pod,
  ends_a_pod,
};

struct Candidate {
  ChangeRank rank = ChangeRank::asks_for_less;
  double cost = 0;
  std::string kind;  // alternatives of one kind are much alike
  Change change;
  // What the cluster and the waiting pods are like afterwards.
  std::function<void(Trial&, std::vector<PodPointer>&)> apply;
};

struct Wait {
  const ClusterObjects& objects;
  ClusterModel& model;  // left as it was
  const PendingWorkload& workload;
  std::vector<PodPointer> pods;                          // those that wait, also those not made yet
  const std::set<std::string, std::less<>>& schedulers;  // that are at work here
};

// Each node with what refuses the first waiting pod there, fewest objections first.
struct NodeView {
  NodeIndex node = 0;
  FilterSet failing;
};
std::vector<NodeView> nodes_by_objections(const ClusterModel& model, const PodFilters& filters);

// What a workload may change in its own manifest.
std::vector<Candidate> own_changes(const Wait& wait, const PodFilters& filters);
// Gates, a scheduler that is not there, suspension: what holds it before any node is looked at.
std::vector<Candidate> releasing_changes(const Wait& wait);
// Nodes opened, repaired, added.
std::vector<Candidate> node_changes(const Wait& wait, const PodFilters& filters);
// Pods ended, or gone for good.
std::vector<Candidate> ending_changes(const Wait& wait, const PodFilters& filters);

// A copy of each waiting pod, edited.
void edit_pods(std::vector<PodPointer>& pods, const std::function<void(Pod&)>& edit);

// The same steps (paths below the pod's spec) in every manifest the waiting pods come from.
void patch_specs(Change& change, const Wait& wait, const std::vector<PatchStep>& steps);

}  // namespace weir::observe
