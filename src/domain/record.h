// SPDX-License-Identifier: Apache-2.0
//
// Everything the scheduler decided, each with its reason. Folding records over a state brings it to
// where the scheduler was; reading them explains what it did.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "domain/ids.h"
#include "domain/placement.h"
#include "domain/shape.h"
#include "domain/target_workload.h"
#include "domain/time.h"

namespace weir {

enum class ReasonCode : std::uint8_t {
  best_score,         // detail: the score of the chosen node (the first replica's)
  no_node_fits,       // no node has room now
  never_fits,         // no node could hold it even if the cluster were empty
  malformed,          // the request breaks the rules of a shape or has no replica
  waits_for_earlier,  // detail: the id of the job at the head of the queue
  node_lost,          // detail: the id of the node
  as_reported,        // the world said so
  unknown_job,        // detail: the id
  not_running,        // detail: the id
  unknown_node,       // detail: the id
  already_so,         // the event changes nothing
  workload_drifted,   // detail: the number of submissions observed
};

struct Reason {
  ReasonCode code = ReasonCode::as_reported;
  std::uint64_t detail = 0;
  friend bool operator==(const Reason&, const Reason&) = default;
};

// "score 57 is the highest; ties go to the first node in the fixed order"
std::string to_string(const Reason& reason);

struct JobAccepted {
  JobId job;
  ShapeIndex shape_index;  // the shape's number in the state; the next free one for a new shape
  Shape shape;
  std::int32_t replicas = 1;
  friend bool operator==(const JobAccepted&, const JobAccepted&) = default;
};

struct JobPlaced {
  JobId job;
  PlacementList placements;
  friend bool operator==(const JobPlaced&, const JobPlaced&) = default;
};

struct JobQueued {
  JobId job;
  friend bool operator==(const JobQueued&, const JobQueued&) = default;
};

// The job is given up; it will not run.
struct JobRejected {
  JobId job;
  friend bool operator==(const JobRejected&, const JobRejected&) = default;
};

// The job ended and its resources are free.
struct JobReleased {
  JobId job;
  friend bool operator==(const JobReleased&, const JobReleased&) = default;
};

// The job lost a node under it: all its replicas stop and their resources are free.
struct JobInterrupted {
  JobId job;
  friend bool operator==(const JobInterrupted&, const JobInterrupted&) = default;
};

struct NodeClosed {
  NodeIndex node;
  friend bool operator==(const NodeClosed&, const NodeClosed&) = default;
};

struct NodeOpened {
  NodeIndex node;
  friend bool operator==(const NodeOpened&, const NodeOpened&) = default;
};

// The scheduler expects another mix of tasks from now on.
struct TargetWorkloadRevised {
  std::uint32_t version = 0;
  std::shared_ptr<const TargetWorkload> target;
  friend bool operator==(const TargetWorkloadRevised& a, const TargetWorkloadRevised& b) {
    return a.version == b.version && *a.target == *b.target;
  }
};

// The event was understood and changes nothing.
struct EventIgnored {
  friend bool operator==(const EventIgnored&, const EventIgnored&) = default;
};

struct Record {
  Time at;
  Reason reason;
  std::variant<JobAccepted, JobPlaced, JobQueued, JobRejected, JobReleased, JobInterrupted,
               NodeClosed, NodeOpened, TargetWorkloadRevised, EventIgnored>
      what;

  friend bool operator==(const Record&, const Record&) = default;
};

}  // namespace weir
