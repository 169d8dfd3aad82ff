// SPDX-License-Identifier: Apache-2.0
//
// Why a workload waits and what would start it: the values that reports show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/time.h"
#include "observe/kubernetes/cluster_model.h"
#include "observe/kubernetes/constraint.h"

namespace weir::observe {

struct ObjectName {
  std::string kind;  // "Pod", "Job", "Node", ...
  std::string ns;    // empty: it has none
  std::string name;

  std::string full_name() const { return ns.empty() ? name : ns + "/" + name; }
  friend bool operator==(const ObjectName&, const ObjectName&) = default;
  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;
};

// One edit of the cluster for programs. A pod's spec and a job's template cannot be changed in place: there the
// patched manifest replaces the object (delete, create).
struct Edit {
  enum class Action : std::uint8_t { patch, remove, create };
  Action action = Action::patch;
  ObjectName object;
  std::string json;  // patch: a JSON Patch (RFC 6902); create: the manifest; else empty
  friend bool operator==(const Edit&, const Edit&) = default;
};

// Something that would start the workload, for people and for programs.
struct Change {
  std::string text;
  std::vector<std::string> commands;  // kubectl
  std::vector<Edit> edits;
  friend bool operator==(const Change&, const Change&) = default;
};

// Nodes that refuse it for the same reason.
struct RefusingNodes {
  Blocked blocked;
  std::size_t nodes = 0;
  std::vector<std::string> examples;  // the first ones by name
  friend bool operator==(const RefusingNodes&, const RefusingNodes&) = default;
};

// Pods that wait together: of one job, one group, or a single one.
struct PendingWorkload {
  ObjectName name;
  std::vector<PodPointer> pods;     // those without a node
  std::vector<PodPointer> running;  // others of it that hold resources
  std::int32_t missing_pods = 0;    // of a job, not created yet
  std::shared_ptr<const Workload> job;
  std::shared_ptr<const Workload> group;  // the pod group it belongs to
  std::shared_ptr<const Workload> kueue;  // its Workload of Kueue
  double gpus = 0;                        // that those that wait ask for
  std::int32_t priority = 0;
  Time since;
};

struct Explanation {
  Constraint constraint = Constraint::not_seen_yet;
  std::string detail;
  std::string why;
  std::vector<RefusingNodes> nodes;  // every node once; most nodes first
  std::vector<Change> changes;       // smallest first
};

}  // namespace weir::observe
