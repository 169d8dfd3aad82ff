// SPDX-License-Identifier: Apache-2.0
//
// One run of a training workload under one policy: the scheduler's own core, driven by a virtual
// clock and a modelled engine. At one instant: releases, then arrivals, then one decision.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/curve.h"
#include "domain/energy_terms.h"
#include "domain/event.h"
#include "domain/forecast_book.h"
#include "domain/network_terms.h"
#include "domain/record.h"
#include "domain/tenants.h"
#include "domain/training.h"
#include "network/partition/optical_clos.h"
#include "schedule/policies/training_policy.h"
#include "simulate/energy_meter.h"
#include "simulate/node_failures.h"

namespace weir::simulate {

// A node that goes away and comes back, or not.
struct NodeOutage {
  std::size_t node = 0;  // its place in Cluster::nodes
  Time from;
  Time to = Time::max();
};

// What jobs really do, of what their curves say: drawn for each job between these two.
struct JobSpeeds {
  std::int64_t least_permille = 1000;
  std::int64_t most_permille = 1000;
  std::uint64_t seed = 42;
  std::vector<std::int64_t> by_row{};  // known, not drawn; the others apply when it is empty
};

// What energy costs, and what is wanted of it.
struct EnergySetup {
  std::vector<PowerBook> books;        // of each pool with GPUs; the last for those after it too
  SupplySeries supply;                 // as it really is, on the workload's clock
  std::optional<SupplySeries> told{};  // to the scheduler, where that is something else
  // Where there are any, the scheduler knows what is, and the newest forecast of what will be; it
  // hears of both with every step of the supply. Requires: one that was issued before the first job.
  ForecastBook forecasts{};
  EnergyTerms terms;  // without `pools`: they follow from the books
};

// What joins the nodes, what jobs send over it, and how they share it.
struct NetworkSetup {
  std::string placement = "ideal";  // for reports
  NetworkTerms terms;               // without fabrics: a network without limits
  int window = 5;                   // iterations that are played of jobs that meet
  Duration rewiring = network::RewiringTimes{}.pause();
};

struct TrainingRunConfig {
  std::string policy = "weir";
  schedule::TrainingConfig training;
  JobSpeeds speeds;
  // Nodes that are away at known times, or that fail by chance; the same under every policy. Requires:
  // not both.
  std::vector<NodeOutage> outages;
  TenantTable tenants;  // who shares the cluster, from the start; empty: nobody
  NodeFailures failures;
  Duration checkpoint_every{0};  // what is lost with a node (modelled_engine.h)
  // What a change of GPUs is planned to cost, and what it really costs. By default both are what the
  // cluster's size makes usual. Without Ablation::plans_overhead weir plans as if it were nothing.
  std::optional<schedule::RescaleCost> planned_cost;
  std::optional<schedule::RescaleCost> real_cost;
  std::optional<EnergySetup> energy;
  std::optional<NetworkSetup> network;
  // Each record, as it is made.
  std::function<void(const Record&)> on_record;
  // The state after each decision.
  std::function<void(const schedule::TrainingState&, Time)> after_decision;
};

struct TrainingJobOutcome {
  Time submitted;
  Time deadline;
  bool has_deadline = false;
  bool is_promised = false;
  bool is_refused = false;
  std::optional<Time> started;
  std::optional<Time> finished;
  std::optional<Time> counter_offer;
  // When its user was told that the promise is at risk, unless it was taken back since.
  std::optional<Time> warned_at;
  std::int64_t rescales = 0;
  double gpu_seconds = 0;
};

// A tenant, with all that is below it.
struct TenantOutcome {
  std::string name;
  std::int32_t parent = kNoParent;  // its place in the list
  double share_of_weight = 0;       // of the whole, if everybody wanted more than they get
  std::int64_t jobs = 0;
  std::int64_t finished = 0;
  double gpu_seconds = 0;
  std::int64_t started = 0;
  double total_wait_seconds = 0;  // from submission to the first GPU, of jobs that ran
};

// Means of jobs that asked for so many GPUs and finished, in seconds.
struct SizeTimes {
  std::int32_t gpus = 0;
  std::int64_t jobs = 0;
  double completion = 0;
  double wait = 0;      // until the first GPU
  double run = 0;       // from there to the finish
  double slowdown = 1;  // run over what it would have been without what the network took
};

struct NetworkOutcome {
  std::string placement;
  std::vector<SizeTimes> by_size;  // ascending
  SizeTimes all;                   // gpus: 0
  std::int64_t own_grants = 0;     // how often a job got links of its own
  std::int64_t shared_grants = 0;
  std::int64_t rewirings = 0;  // how often circuits of a running job moved
  std::int64_t windows = 0;    // played
};

struct TrainingOutcome {
  std::string policy;
  bool makes_promises = false;
  std::int64_t jobs = 0;
  std::int64_t with_deadline = 0;
  std::int64_t met = 0;  // promised and on time; for policies that promise nothing, on time
  std::int64_t met_without_promise = 0;  // on time by luck
  std::int64_t admitted = 0;
  std::int64_t promised_at_submission = 0;  // the others later, see provisional_multiple
  std::int64_t missed_after_admission = 0;
  std::int64_t missed_with_warning = 0;  // the user was told before the deadline
  Duration total_warning{0};             // how long before the deadline, over those
  std::int64_t warned_in_vain = 0;       // told, and on time after all
  std::int64_t finished = 0;
  std::int64_t nodes_lost = 0;  // how often one was
  std::int64_t rescales = 0;
  std::int64_t decisions = 0;
  double total_completion_seconds = 0;  // of finished jobs
  Duration makespan{0};
  double gpu_seconds = 0;
  double wall_seconds = 0;
  std::vector<TrainingJobOutcome> by_job;
  std::vector<TenantOutcome> by_tenant;  // where there are tenants
  std::optional<EnergyOutcome> energy;
  std::optional<NetworkOutcome> network;
};

// What each job of the workload really does, in permille of its curve: by row, the same under every
// policy.
std::vector<std::int64_t> job_speeds(const TrainingWorkload& workload, const JobSpeeds& speeds);

TrainingOutcome run_training(const Cluster& cluster, const TrainingWorkload& workload,
                             const std::vector<CurveBook>& curves, const TrainingRunConfig& config);

}  // namespace weir::simulate
