// SPDX-License-Identifier: Apache-2.0
//
// Everything the scheduler learns. What is not an event cannot be replayed.
#pragma once

#include <cstdint>
#include <variant>

#include "domain/ids.h"
#include "domain/shape.h"
#include "domain/time.h"

namespace weir {

// A user wants `replicas` tasks of one shape, together. The core gives the job its id.
struct JobSubmitted {
  Shape shape;
  std::int32_t replicas = 1;
  friend bool operator==(const JobSubmitted&, const JobSubmitted&) = default;
};

// The job's processes have ended.
struct JobFinished {
  JobId job;
  friend bool operator==(const JobFinished&, const JobFinished&) = default;
};

// The node and everything on it is gone.
struct NodeLost {
  NodeId node;
  friend bool operator==(const NodeLost&, const NodeLost&) = default;
};

// A lost node is back, empty.
struct NodeReturned {
  NodeId node;
  friend bool operator==(const NodeReturned&, const NodeReturned&) = default;
};

struct Event {
  Time at;
  std::variant<JobSubmitted, JobFinished, NodeLost, NodeReturned> what;
};

}  // namespace weir
