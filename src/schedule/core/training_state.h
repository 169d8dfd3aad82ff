// SPDX-License-Identifier: Apache-2.0
//
// What the scheduler knows of training jobs and of the pools they run in. A value; only evolve()
// changes it.
//
// What was decided (block, generation) and what was observed (left, ready_at) are kept apart: until
// the engine reports, a change is taken to cost its full price.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/cluster.h"
#include "domain/energy_terms.h"
#include "domain/ids.h"
#include "domain/network_terms.h"
#include "domain/power_table.h"
#include "domain/record.h"
#include "domain/supply_kind.h"
#include "domain/supply_series.h"
#include "domain/tenants.h"
#include "domain/timeline.h"
#include "domain/training.h"
#include "schedule/admit/size_table.h"
#include "schedule/paged_table.h"
#include "schedule/place/block_map.h"
#include "schedule/place/pool_network.h"
#include "schedule/share/decayed_usage.h"

namespace weir::schedule {

enum class TrainingPhase : std::uint8_t {
  elsewhere,        // the id belongs to a job that is not a training job
  waits_for_curve,  // nobody knows how fast it runs
  considered,       // accepted; whether it is promised is decided next
  promised,         // its timeline is kept
  unpromised,       // runs when there are GPUs
  refused,
  finished,
  cancelled,
  failed,
};

// What policies remember of a job: how it has been served. Follows from JobResized alone.
struct PolicyState {
  Time since;                         // when its GPUs changed last; at first, when it came
  Duration running{0};                // how long it had GPUs, until then
  std::int64_t gpu_milliseconds = 0;  // GPU-time it had, until then
  friend bool operator==(const PolicyState&, const PolicyState&) = default;
};

// What was used: by a job's GPUs, with its share of what its nodes draw beside them.
struct EnergyUse {
  double joules = 0;
  double units = 0;  // grams of CO2, or money
  friend bool operator==(const EnergyUse&, const EnergyUse&) = default;
};

struct TrainingJob {
  std::shared_ptr<const TrainingSpec> spec;
  std::shared_ptr<const SizeTable> sizes;
  Time submitted;
  Timeline timeline;  // of a promised job
  Work left;          // at observed_at
  Time observed_at;
  Time ready_at;   // when the present generation makes progress; expected, or observed
  GpuBlock block;  // what it has, as decided
  std::uint32_t generation = 0;
  PoolIndex pool;
  TrainingPhase phase = TrainingPhase::elsewhere;
  bool is_ready = false;        // the engine has said that the present generation makes progress
  bool is_at_risk = false;      // its promise cannot be kept; its user was told
  bool is_provisional = false;  // planned like a promise, but may still give way
  std::int32_t speed_permille = 1000;  // of its curve's rate, as observed
  std::uint32_t tenant = 0;            // its place in TrainingState::tenants, if there are any
  PolicyState served;
  std::int32_t clock_permille = kFullClock;     // of its GPUs
  std::int64_t clocked_millionths = 1'000'000;  // of its rate, at that clock
  EnergyUse energy;                             // until EnergyAccount::since; modelled
  // What it may use between its leaves, where its block has several and the fabric is known.
  std::shared_ptr<const LinkGrant> links;

  // Its timeline is kept, whether or not its user has been given the promise yet.
  bool is_promised() const { return phase == TrainingPhase::promised; }
  bool has_deadline() const { return spec->deadline_kind != DeadlineKind::none; }
  int level() const { return level_of(*sizes, block.size); }
  IterationRate rate() const;
  // What is left at that time, as far as the scheduler can know. Never nothing, before the engine
  // has said so: a job that should be done has a hundredth left.
  Work left_at(Time time) const;
  // How it has been served until that time. Requires: not before `served.since`.
  Duration running_at(Time time) const;
  std::int64_t gpu_milliseconds_at(Time time) const;
  friend bool operator==(const TrainingJob&, const TrainingJob&) = default;
};

// The GPUs of a pool in one row: node after node, each beginning at a multiple of `stride`.
struct TrainingPool {
  PoolIndex id;
  std::vector<NodeId> nodes;        // in the row's order
  std::vector<std::int32_t> gpus;   // of each node
  std::uint32_t stride = 1;         // the power of two at or above the most GPUs on a node
  std::uint32_t largest_block = 1;  // no job gets more GPUs than this

  std::uint32_t slots() const { return static_cast<std::uint32_t>(nodes.size()) * stride; }
  std::uint32_t node_of(std::uint32_t slot) const { return slot / stride; }
  GpuBlock block_of_node(std::uint32_t node) const { return {node * stride, stride}; }
};

// An arrival, as the gate remembers it (admit/gate.h).
struct RememberedArrival {
  Time at;
  std::int64_t least_gpu_seconds = 0;
  bool was_refused_for_room = false;
  friend bool operator==(const RememberedArrival&, const RememberedArrival&) = default;
};

// Work of one kind that somebody pays for: a tenant with a budget of its own, or (empty) nobody but
// the cluster.
struct SeenWork {
  std::string payer;
  CurveKey kind;
  friend auto operator<=>(const SeenWork&, const SeenWork&) = default;
};

struct PoolState {
  std::shared_ptr<const TrainingPool> pool;
  BlockMap closed;                  // slots that are not GPUs, or of lost nodes
  std::vector<std::uint8_t> is_up;  // by node
  std::vector<GpuMask> foreign;     // by node: used by somebody else
  std::vector<JobId> active;        // promised and unpromised jobs, ascending
  std::deque<RememberedArrival> arrivals;
  std::int64_t arrivals_seen = 0;
  Time first_arrival;
  std::map<CurveKey, std::shared_ptr<const Curve>> curves;
  std::vector<DecayedUsage> usage;  // by tenant, of its own jobs
  std::map<CurveKey, std::shared_ptr<const PowerTable>> power;
  std::set<CurveKey> measured_power;                 // those of which the table was measured
  std::map<SeenWork, std::int64_t> iterations_seen;  // of all jobs that came

  std::int32_t gpus_up() const { return static_cast<std::int32_t>(closed.free_count()); }
};

// Which sizes of its curve a job may have.
enum class SizeRule : std::uint8_t {
  useful,    // where more GPUs are faster
  measured,  // every measured power of two, also where more GPUs are slower
  asked,     // only what its user asked for, or the next smaller that was measured
};

// What the cluster's energy has cost, as far as the scheduler can know.
// How one budget stands, from terms->from to EnergyAccount::since.
struct BudgetAccount {
  double used = 0;  // units
  // What jobs were expected to use by themselves, over the same time; and how much they do now.
  double expected = 0;
  double expected_per_second = 0;
  double paid = 0;  // seconds: what was used, each unit at the price of its time
  std::int64_t price_nanos = 0;
  Time priced_at = Time::min();
  friend bool operator==(const BudgetAccount&, const BudgetAccount&) = default;
};

struct EnergyAccount {
  std::shared_ptr<const EnergyTerms> terms;    // null: nobody asks
  std::shared_ptr<const SupplySeries> supply;  // as known now; never null where terms are not
  Time since;
  BudgetAccount budget;                      // of the cluster
  std::vector<BudgetAccount> of_tenants{};   // of terms->tenants
  SupplyKind kind;                           // of the supply
  EnergyUse total;                           // of the cluster, since the terms were first known
  std::map<std::string, EnergyUse> tenants;  // by name, of their jobs; empty: of the default one
  friend bool operator==(const EnergyAccount&, const EnergyAccount&) = default;
};

struct TrainingState {
  RescaleCost rescale_cost;
  SizeRule size_rule = SizeRule::useful;
  std::vector<PoolState> pools;  // by position; PoolState::pool->id is the cluster's index
  PagedTable<TrainingJob> jobs;  // by position_of(JobId)
  std::shared_ptr<const TenantTable> tenants;  // null: nobody has a share
  EnergyAccount energy;
  std::shared_ptr<const NetworkTerms> network;  // null: nobody asks

  bool is_enabled() const { return !pools.empty(); }
  static std::size_t position_of(JobId job) { return job.value - 1; }
  const TrainingJob& job(JobId id) const { return jobs[position_of(id)]; }
  bool knows(JobId id) const {
    return id.value >= 1 && id.value <= jobs.size() && job(id).phase != TrainingPhase::elsewhere;
  }
  const PoolState& pool_of(const TrainingJob& job) const;
  PoolState* find_pool(PoolIndex pool);
  const PoolState* find_pool(PoolIndex pool) const;

  // What joins the pool's nodes; nothing when that is not known, or the pool has outgrown it.
  std::optional<PoolNetwork> network_of(const PoolState& pool) const;

  TrainingState fork();
};

inline constexpr Duration kArrivalMemory = std::chrono::hours{7 * 24};

// A row of the pool's GPUs; node order as listed.
TrainingPool make_training_pool(const Cluster& cluster, PoolIndex pool);

// Every pool of the cluster that has GPUs.
TrainingState initial_training_state(const Cluster& cluster, SizeRule size_rule);

// The node's place in its pool.
struct PoolNode {
  PoolIndex pool;
  std::uint32_t node = 0;
};
std::optional<PoolNode> find_node(const TrainingState& state, NodeId id);

// A node at the end of the pool's row, which is not up yet. Jobs that are not over may have the sizes
// the larger pool can give. Requires: `gpus` is at most the pool's stride.
void add_closed_node(TrainingState& state, PoolIndex pool, NodeId node, std::int32_t gpus);

// The sizes of the curve that the pool can give, with their prices.
SizeTable size_table(const Curve& curve, const TrainingSpec& spec, const TrainingPool& pool,
                     const TrainingState& state);
// The same for a job that runs at that much of its curve.
SizeTable at_speed(SizeTable sizes, std::int32_t permille);

// Each record's effect, no policy. Requires: decided on this very state.
void evolve(TrainingState& state, Time at, const Reason& reason, const TrainingAccepted& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const PromiseMade& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const TimelineRevised& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const PromiseRefused& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const JobUnpromised& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const JobResized& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const JobObserved& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const PromiseAtRisk& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const CurveAdopted& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const JobReleased& record);
void evolve(TrainingState& state, Time at, const Reason& reason,
            const PlannedProvisionally& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const PoolNodeClosed& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const PoolNodeOpened& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const ForeignUseKnown& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const RescaleCostAdopted& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const TenantsAdopted& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const ClockSet& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const EnergyPriceSet& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const SupplyAdopted& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const EnergyTermsAdopted& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const PowerTableAdopted& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const NetworkTermsAdopted& record);
void evolve(TrainingState& state, Time at, const Reason& reason, const LinksGiven& record);

}  // namespace weir::schedule
