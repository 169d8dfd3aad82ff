// SPDX-License-Identifier: Apache-2.0
//
// A training run in figures: deadlines met, completion times, GPUs in use. One value feeds the
// table, the JSON, the CSV and the page.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/table.h"
#include "simulate/training_sweep.h"

namespace weir::report {

// A tenant, with all that is below it.
struct TenantSummary {
  std::string name;
  std::string parent;  // empty: none
  std::int64_t depth = 0;
  std::int64_t jobs = 0;
  std::int64_t finished = 0;
  double gpu_hours = 0;
  std::optional<double> share_percent;  // of the GPU-time all had; nothing when nobody had any
  double weight_percent = 0;            // what its weight would give it
  std::optional<double> mean_wait_s;    // from submission to the first GPU, of jobs that ran
};

// Of a tenant with a budget of its own, in the same unit.
struct TenantEnergySummary {
  std::string name;
  double units = 0;
  double budget = 0;
};

// What the site used, where that was asked.
struct EnergySummary {
  double units = 0;  // grams of CO2, or money
  double site_kwh = 0;
  double jobs_kwh = 0;
  double peak_kw = 0;
  std::vector<TenantEnergySummary> tenants{};
};

struct TrainingSummary {
  std::string policy;
  std::optional<std::uint64_t> seed;  // where seeds were asked for
  std::string workload;
  std::string cluster;  // where clusters are compared too; otherwise empty
  std::string jobs_file;
  std::int64_t gpus = 0;
  bool makes_promises = false;
  std::int64_t jobs = 0;
  std::int64_t with_deadline = 0;
  std::int64_t met = 0;
  std::int64_t met_without_promise = 0;
  std::optional<std::int64_t> admitted;                // policies that promise
  std::optional<std::int64_t> missed_after_admission;  // policies that promise
  std::int64_t promised_at_submission = 0;
  std::int64_t missed_with_warning = 0;  // of those missed: announced before the deadline
  std::optional<double> mean_warning_s;  // how long before
  std::int64_t warned_in_vain = 0;       // announced, and met after all
  std::int64_t refused = 0;
  std::int64_t finished = 0;
  std::int64_t nodes_lost = 0;  // how often one was
  std::int64_t rescales = 0;
  std::int64_t decisions = 0;
  // From submission to finish, of finished jobs; nothing when there are none.
  std::optional<double> mean_jct_s;
  std::optional<double> p50_jct_s;
  std::optional<double> p99_jct_s;
  std::optional<double> mean_queueing_s;  // from submission to the first GPU, of jobs that ran
  double makespan_s = 0;
  double gpu_hours = 0;
  std::optional<double> utilisation_percent;  // of GPU-time from the first submission to the end
  std::optional<double> seconds;              // of the simulation itself; when asked for
  std::vector<TenantSummary> tenants;         // where there are some
  std::vector<std::string> planned_models;    // whose curves are of plans that nobody measured
  std::optional<EnergySummary> energy;
  std::optional<simulate::NetworkOutcome> network;  // where jobs ran on one

  // Of the jobs with a deadline.
  std::optional<double> met_percent() const;
};

TrainingSummary summarise(const simulate::TrainingSweepRun& run);
std::vector<TrainingSummary> summarise(std::span<const simulate::TrainingSweepRun> runs);

// The value below which that share of the values lies: the nearest rank, of sorted values. Requires:
// not empty, 0 < percent <= 100.
double percentile(std::span<const double> sorted, double percent);

// One table for each trace.
std::vector<Table> training_tables(std::span<const TrainingSummary> summaries);

// One for each run that has tenants.
std::vector<Table> tenant_tables(std::span<const TrainingSummary> summaries);

// One for each trace of which the energy is known. `unit`: "g CO2".
std::vector<Table> energy_tables(std::span<const TrainingSummary> summaries,
                                 const std::string& unit);

// One for each run in which tenants have budgets of their own.
std::vector<Table> tenant_energy_tables(std::span<const TrainingSummary> summaries,
                                        const std::string& unit);

// What the columns mean.
std::string_view energy_legend();
std::string_view training_legend();
std::string_view tenant_legend();

}  // namespace weir::report
