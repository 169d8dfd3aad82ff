// SPDX-License-Identifier: Apache-2.0
//
// Everything the scheduler decided, each with its reason. Folding records over a state brings it to
// where the scheduler was; reading them explains what it did.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "domain/energy_terms.h"
#include "domain/ids.h"
#include "domain/network_terms.h"
#include "domain/observed.h"
#include "domain/placement.h"
#include "domain/power_table.h"
#include "domain/shape.h"
#include "domain/supply_kind.h"
#include "domain/supply_series.h"
#include "domain/target_workload.h"
#include "domain/tenants.h"
#include "domain/time.h"
#include "domain/timeline.h"
#include "domain/training.h"

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
  // Of training jobs:
  fits_beside_promises,  // promised, and no other promise was touched
  fits_after_replan,     // promised, after others were planned anew; detail: how many
  makes_room,            // planned anew; detail: the id of the job that came
  ahead_of_plan,         // its timeline ends earlier than it was planned to
  too_slow_alone,        // its deadline is out of reach even with the whole pool
  no_room,               // its deadline cannot be met beside the promises already made
  no_block,              // the GPUs would be there, but only by moving a job that cannot afford it
  spares_cheaper_jobs,  // it would take the room of many smaller jobs; detail: how many were refused
  no_promise_asked,     // it has no deadline, or the policy promises nothing
  waits_for_a_curve,    // nobody knows yet how fast it runs
  as_promised,          // its timeline says so
  left_over,            // GPUs nobody was promised, where they help most
  reclaimed,            // others were promised these GPUs
  policy_order,         // detail: its place in the policy's order
  behind_plan,          // it runs slower than its curve
  back_on_plan,         // its promise can be kept after all
  gives_way,            // it was not promised yet; detail: the id of the job that came
  larger_than_most,     // planned, but not promised before more of it is done
  ranks_failed,         // its processes died or could not start; detail: the generation
  foreign_use,          // somebody else uses its GPUs
  cancelled,            // the user said so
  failed,               // its processes failed and it is not tried again
  observed,             // another scheduler said so
  overcommitted,        // observed on a node that has no such GPUs free; detail: the id of the node
  // Of tenants:
  over_quota,         // its tenant has all that it may have; detail: how many GPUs that is
  guaranteed_others,  // what it would need is guaranteed to other tenants
  its_share,          // GPUs nobody was promised, and its tenant's turn
  outranked,          // a job of higher priority takes its GPUs; detail: the job's id
  quota_reclaimed,  // lent, and now claimed by a tenant they are guaranteed to; detail: the job's id
  had_its_turn,     // a tenant that had less than its share goes on; detail: the job's id
  // Of energy:
  at_this_price,      // the size and clock that cost least, of time and energy together
  waits_for_cleaner,  // energy is expected to be so much better later that waiting pays
  over_power_cap,     // it would draw more than the site may
  budget_spent,       // the budget of energy is spent
  // Of the network:
  own_links,        // links between its leaves that nobody else uses; detail: how many
  shares_links,     // it shares them; detail: permille that it is expected to take longer, alone
  rewired,          // its circuits went elsewhere, for another job
  waits_for_links,  // GPUs are free, the links between them are not
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

// These nodes are there, as they are now; what runs on them still does.
struct NodesKnown {
  std::shared_ptr<const std::vector<ObservedNode>> nodes;
  friend bool operator==(const NodesKnown& a, const NodesKnown& b) { return *a.nodes == *b.nodes; }
};

// The scheduler expects another mix of tasks from now on.
struct TargetWorkloadRevised {
  std::uint32_t version = 0;
  std::shared_ptr<const TargetWorkload> target;
  friend bool operator==(const TargetWorkloadRevised& a, const TargetWorkloadRevised& b) {
    return a.version == b.version && *a.target == *b.target;
  }
};

// A training job came. Its sizes are in `pool`; what it needs at least is counted in GPU-time.
struct TrainingAccepted {
  JobId job;
  std::shared_ptr<const TrainingSpec> spec;
  PoolIndex pool;
  std::int64_t least_gpu_seconds = 0;
  friend bool operator==(const TrainingAccepted& a, const TrainingAccepted& b) {
    return a.job == b.job && *a.spec == *b.spec && a.pool == b.pool &&
           a.least_gpu_seconds == b.least_gpu_seconds;
  }
};

// The job will be finished by its deadline; this is how, until there is a better way.
struct PromiseMade {
  JobId job;
  Time deadline;
  Timeline timeline;
  friend bool operator==(const PromiseMade&, const PromiseMade&) = default;
};

// The job is planned by its deadline, but may still give way to smaller ones; it is promised when
// enough of it is done.
struct PlannedProvisionally {
  JobId job;
  Timeline timeline;
  friend bool operator==(const PlannedProvisionally&, const PlannedProvisionally&) = default;
};

// The job was promised, and still is, in another way.
struct TimelineRevised {
  JobId job;
  Timeline timeline;
  friend bool operator==(const TimelineRevised&, const TimelineRevised&) = default;
};

// The job will not be run by its deadline. `earliest` is a deadline that would have been promised.
struct PromiseRefused {
  JobId job;
  std::optional<Time> earliest;
  friend bool operator==(const PromiseRefused&, const PromiseRefused&) = default;
};

// The job runs when there are GPUs for it, without a promise. The times are what it can expect as
// things stand, if they are known.
struct JobUnpromised {
  JobId job;
  std::optional<Time> expected_start;
  std::optional<Time> expected_finish;
  friend bool operator==(const JobUnpromised&, const JobUnpromised&) = default;
};

// The job is to have these GPUs from now on; none means a pause.
struct JobResized {
  JobId job;
  std::uint32_t generation = 0;
  GpuBlock block;
  friend bool operator==(const JobResized&, const JobResized&) = default;
};

// The job's GPUs run at that clock from now on, and the job at that much of its rate. A job whose
// GPUs change begins at the full clock.
struct ClockSet {
  JobId job;
  std::int32_t clock_permille = 1000;
  std::int64_t rate_millionths = 1'000'000;
  friend bool operator==(const ClockSet&, const ClockSet&) = default;
};

// So many nanoseconds of a job's time are worth one unit of the energy budget from now on. Jobs that
// run are expected to use so much of it, by themselves: what their nodes add shows later.
struct EnergyPriceSet {
  std::int64_t price_nanos = 0;
  std::int64_t nano_units_per_second = 0;
  std::string tenant{};  // whose budget; empty: the cluster's
  friend bool operator==(const EnergyPriceSet&, const EnergyPriceSet&) = default;
};

// What is known of a job's progress: at the record's time it had that much left, and it makes
// progress from `ready_at` on, at that much of its curve's rate.
struct JobObserved {
  JobId job;
  Work left;
  Time ready_at;
  std::int32_t speed_permille = 1000;
  friend bool operator==(const JobObserved&, const JobObserved&) = default;
};

// The job's promise cannot be kept; it is expected to finish then, or nobody knows (Time::max()).
struct PromiseAtRisk {
  JobId job;
  Time expected_finish;
  friend bool operator==(const PromiseAtRisk&, const PromiseAtRisk&) = default;
};

struct CurveAdopted {
  PoolIndex pool;
  CurveKey key;
  std::shared_ptr<const Curve> curve;
  friend bool operator==(const CurveAdopted& a, const CurveAdopted& b) {
    return a.pool == b.pool && a.key == b.key && *a.curve == *b.curve;
  }
};

// A node of a training pool is gone, or back. `node` is its place in the pool.
struct PoolNodeClosed {
  PoolIndex pool;
  std::uint32_t node = 0;
  friend bool operator==(const PoolNodeClosed&, const PoolNodeClosed&) = default;
};
struct PoolNodeOpened {
  PoolIndex pool;
  std::uint32_t node = 0;
  friend bool operator==(const PoolNodeOpened&, const PoolNodeOpened&) = default;
};

// These GPUs of the node, and no others, are used by somebody else.
struct ForeignUseKnown {
  PoolIndex pool;
  std::uint32_t node = 0;
  GpuMask gpus;
  friend bool operator==(const ForeignUseKnown&, const ForeignUseKnown&) = default;
};

// What a change of GPUs costs, for jobs that come from now on.
struct RescaleCostAdopted {
  Duration base;
  Duration per_doubling;
  friend bool operator==(const RescaleCostAdopted&, const RescaleCostAdopted&) = default;
};

// The wall clock was set; the scheduler's time was not.
struct ClockStepSeen {
  Duration by;
  friend bool operator==(const ClockStepSeen&, const ClockStepSeen&) = default;
};

// Who shares the cluster from now on; an empty table: nobody has a share.
struct TenantsAdopted {
  std::shared_ptr<const TenantTable> table;
  friend bool operator==(const TenantsAdopted& a, const TenantsAdopted& b) {
    return *a.table == *b.table;
  }
};

// What a kilowatt-hour costs from now on, as far as is known.
struct SupplyAdopted {
  SupplyKind kind;
  std::shared_ptr<const SupplySeries> series;
  friend bool operator==(const SupplyAdopted& a, const SupplyAdopted& b) {
    return a.kind == b.kind && *a.series == *b.series;
  }
};

// The terms on which energy is used from now on; none without pools.
struct EnergyTermsAdopted {
  std::shared_ptr<const EnergyTerms> terms;
  friend bool operator==(const EnergyTermsAdopted& a, const EnergyTermsAdopted& b) {
    return *a.terms == *b.terms;
  }
};

// What jobs of that kind are taken to draw from now on.
struct PowerTableAdopted {
  PoolIndex pool;
  CurveKey key;
  std::shared_ptr<const PowerTable> table;
  CurveOrigin origin = CurveOrigin::assumed;
  friend bool operator==(const PowerTableAdopted& a, const PowerTableAdopted& b) {
    return a.pool == b.pool && a.key == b.key && *a.table == *b.table && a.origin == b.origin;
  }
};

// The network on which jobs are placed from now on; none without fabrics. Nobody has links yet.
struct NetworkTermsAdopted {
  std::shared_ptr<const NetworkTerms> terms;
  friend bool operator==(const NetworkTermsAdopted& a, const NetworkTermsAdopted& b) {
    return *a.terms == *b.terms;
  }
};

// What the job may use between its leaves from now on, in place of what it had. A job that gets other
// GPUs begins with nothing.
struct LinksGiven {
  JobId job;
  std::shared_ptr<const LinkGrant> links;
  friend bool operator==(const LinksGiven& a, const LinksGiven& b) {
    return a.job == b.job && *a.links == *b.links;
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
               NodeClosed, NodeOpened, TargetWorkloadRevised, TrainingAccepted, PromiseMade,
               TimelineRevised, PromiseRefused, JobUnpromised, JobResized, JobObserved,
               PromiseAtRisk, CurveAdopted, PlannedProvisionally, PoolNodeClosed, PoolNodeOpened,
               ForeignUseKnown, EventIgnored, RescaleCostAdopted, ClockStepSeen, NodesKnown,
               TenantsAdopted, ClockSet, EnergyPriceSet, SupplyAdopted, EnergyTermsAdopted,
               PowerTableAdopted, NetworkTermsAdopted, LinksGiven>
      what;

  friend bool operator==(const Record&, const Record&) = default;
};

}  // namespace weir
