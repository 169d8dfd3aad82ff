// SPDX-License-Identifier: Apache-2.0
//
// Everything the scheduler learns. What is not an event cannot be replayed.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "domain/curve.h"
#include "domain/energy_terms.h"
#include "domain/ids.h"
#include "domain/network_terms.h"
#include "domain/observed.h"
#include "domain/placement.h"
#include "domain/power_table.h"
#include "domain/shape.h"
#include "domain/supply_kind.h"
#include "domain/supply_series.h"
#include "domain/tenants.h"
#include "domain/time.h"
#include "domain/training.h"

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

// The node is to be emptied: nothing new goes there, and what runs there is moved away.
struct NodeDrained {
  NodeId node;
  friend bool operator==(const NodeDrained&, const NodeDrained&) = default;
};

// Somebody else uses these GPUs of the node, and no others: pods of another scheduler, a person.
struct ForeignUseObserved {
  NodeId node;
  GpuMask gpus;
  friend bool operator==(const ForeignUseObserved&, const ForeignUseObserved&) = default;
};

// Nodes of a cluster that another scheduler runs: new ones, and ones that are not what they were.
struct NodesObserved {
  std::vector<ObservedNode> nodes;
  friend bool operator==(const NodesObserved&, const NodesObserved&) = default;
};

// Another scheduler has a task to place. The core gives it its id.
struct TaskObserved {
  Shape shape;
  friend bool operator==(const TaskObserved&, const TaskObserved&) = default;
};

// Another scheduler has placed the task there. No GPUs named: the node chooses, nobody knows which.
struct PlacementObserved {
  JobId job;
  NodeId node;
  GpuMask gpus;
  friend bool operator==(const PlacementObserved&, const PlacementObserved&) = default;
};

// A user wants a model trained. The core gives the job its id.
struct TrainingSubmitted {
  TrainingSpec spec;
  friend bool operator==(const TrainingSubmitted&, const TrainingSubmitted&) = default;
};

// The user does not want the job any more.
struct JobCancelled {
  JobId job;
  friend bool operator==(const JobCancelled&, const JobCancelled&) = default;
};

// The job's processes have failed, and it is not to be tried again.
struct JobFailed {
  JobId job;
  friend bool operator==(const JobFailed&, const JobFailed&) = default;
};

// The ranks of that generation have formed and make progress from now on.
struct RanksReady {
  JobId job;
  std::uint32_t generation = 0;
  friend bool operator==(const RanksReady&, const RanksReady&) = default;
};

// The ranks of that generation could not form, or have died. What they had done since the last
// checkpoint is told by a ProgressReported.
struct RanksFailed {
  JobId job;
  std::uint32_t generation = 0;
  friend bool operator==(const RanksFailed&, const RanksFailed&) = default;
};

// What the job has done since it was submitted, as it says itself.
struct ProgressReported {
  JobId job;
  Work done;
  friend bool operator==(const ProgressReported&, const ProgressReported&) = default;
};

// A curve was measured, profiled or planned for jobs of that kind on the GPUs of that pool.
struct CurveUpdated {
  PoolIndex pool;
  CurveKey key;
  Curve curve;
  friend bool operator==(const CurveUpdated&, const CurveUpdated&) = default;
};

// What a change of GPUs costs here. Jobs that come from now on are planned with it.
struct RescaleCostMeasured {
  Duration base;
  Duration per_doubling;
  friend bool operator==(const RescaleCostMeasured&, const RescaleCostMeasured&) = default;
};

// The wall clock was set, forward or (negative) back. The scheduler's own time goes on evenly: a
// promise keeps the time it was given.
struct ClockStepped {
  Duration by;
  friend bool operator==(const ClockStepped&, const ClockStepped&) = default;
};

// The operator has changed who shares the cluster, and how. An empty table: nobody has a share.
struct TenantsChanged {
  TenantTable table;
  friend bool operator==(const TenantsChanged&, const TenantsChanged&) = default;
};

// What a kilowatt-hour costs over time, as far as is known now: carbon or a price.
struct SupplyUpdated {
  SupplyKind kind;
  SupplySeries series;
  friend bool operator==(const SupplyUpdated&, const SupplyUpdated&) = default;
};

// What the operator wants of the cluster's energy. Terms without pools: nobody asks any more.
struct EnergyConfigured {
  EnergyTerms terms;
  friend bool operator==(const EnergyConfigured&, const EnergyConfigured&) = default;
};

// What jobs of that kind draw in that pool: measured, or made from their curve (assumed).
struct PowerTableUpdated {
  PoolIndex pool;
  CurveKey key;
  PowerTable table;
  CurveOrigin origin = CurveOrigin::assumed;
  friend bool operator==(const PowerTableUpdated&, const PowerTableUpdated&) = default;
};

// What joins the nodes, and whether jobs share it. Terms without fabrics: nobody asks any more.
struct NetworkConfigured {
  NetworkTerms terms;
  friend bool operator==(const NetworkConfigured&, const NetworkConfigured&) = default;
};

// It is time to decide who has which GPUs: everything that happened at this moment has been told,
// or a moment has come that the scheduler asked to be woken at.
struct TimerFired {
  friend bool operator==(const TimerFired&, const TimerFired&) = default;
};

struct Event {
  Time at;
  std::variant<JobSubmitted, JobFinished, NodeLost, NodeReturned, TrainingSubmitted, JobCancelled,
               RanksReady, RanksFailed, ProgressReported, CurveUpdated, NodeDrained,
               ForeignUseObserved, TimerFired, JobFailed, RescaleCostMeasured, ClockStepped,
               NodesObserved, TaskObserved, PlacementObserved, TenantsChanged, SupplyUpdated,
               EnergyConfigured, PowerTableUpdated, NetworkConfigured>
      what;
};

}  // namespace weir
