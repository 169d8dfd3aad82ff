// SPDX-License-Identifier: Apache-2.0
#include "report/training_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::report {
namespace {

using simulate::TrainingJobOutcome;
using simulate::TrainingOutcome;
using simulate::TrainingSweepRun;

std::optional<double> mean_of(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::string text_of(std::optional<std::int64_t> count) {
  return count ? fmt::format("{}", *count) : "-";
}

std::string text_of(std::optional<double> value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::vector<TenantSummary> tenants_of(const TrainingOutcome& outcome) {
  double all = 0;
  for (const simulate::TenantOutcome& tenant : outcome.by_tenant)
    all += tenant.parent == kNoParent ? tenant.gpu_seconds : 0;
  std::vector<TenantSummary> tenants;
  for (const simulate::TenantOutcome& tenant : outcome.by_tenant) {
    TenantSummary summary;
    summary.name = tenant.name;
    if (tenant.parent != kNoParent) {
      const TenantSummary& parent = tenants[static_cast<std::size_t>(tenant.parent)];
      summary.parent = parent.name;
      summary.depth = parent.depth + 1;
    }
    summary.jobs = tenant.jobs;
    summary.finished = tenant.finished;
    summary.gpu_hours = tenant.gpu_seconds / 3600;
    if (all > 0) summary.share_percent = tenant.gpu_seconds / all * 100;
    summary.weight_percent = tenant.share_of_weight * 100;
    if (tenant.started > 0)
      summary.mean_wait_s = tenant.total_wait_seconds / static_cast<double>(tenant.started);
    tenants.push_back(std::move(summary));
  }
  return tenants;
}

Table table_for(const TrainingSummary& first, bool has_seeds, bool has_seconds) {
  Table table{fmt::format("{}: {} jobs, {} with a deadline, on {} GPUs", first.workload, first.jobs,
                          first.with_deadline, first.gpus),
              {{"policy", Align::left},
               {"met"},
               {"met %"},
               {"by luck"},
               {"admitted"},
               {"missed"},
               {"refused"},
               {"finished"},
               {"mean JCT s"},
               {"p99 JCT s"},
               {"GPUs used %"},
               {"rescales"}},
              {}};
  if (has_seeds) table.columns.insert(table.columns.begin() + 1, {"seed"});
  if (has_seconds) table.columns.push_back({"seconds"});
  return table;
}

}  // namespace

std::optional<double> TrainingSummary::met_percent() const {
  if (with_deadline == 0) return std::nullopt;
  return static_cast<double>(met) / static_cast<double>(with_deadline) * 100;
}

TrainingSummary summarise(const TrainingSweepRun& run) {
  const TrainingOutcome& outcome = run.outcome;
  TrainingSummary summary;
  summary.policy = outcome.policy;
  summary.seed = run.seed;
  summary.workload = run.workload;
  summary.jobs_file = run.jobs_file;
  summary.gpus = run.gpus;
  summary.makes_promises = outcome.makes_promises;
  summary.jobs = outcome.jobs;
  summary.with_deadline = outcome.with_deadline;
  summary.met = outcome.met;
  summary.met_without_promise = outcome.met_without_promise;
  if (outcome.makes_promises) {
    summary.admitted = outcome.admitted;
    summary.missed_after_admission = outcome.missed_after_admission;
  }
  summary.finished = outcome.finished;
  summary.nodes_lost = outcome.nodes_lost;
  summary.rescales = outcome.rescales;
  summary.decisions = outcome.decisions;
  summary.promised_at_submission = outcome.promised_at_submission;
  summary.missed_with_warning = outcome.missed_with_warning;
  summary.warned_in_vain = outcome.warned_in_vain;
  if (outcome.missed_with_warning > 0) {
    summary.mean_warning_s =
        to_seconds(outcome.total_warning) / static_cast<double>(outcome.missed_with_warning);
  }
  std::vector<double> completion;
  std::vector<double> queueing;
  for (const TrainingJobOutcome& job : outcome.by_job) {
    summary.refused += job.is_refused ? 1 : 0;
    if (job.started) queueing.push_back(to_seconds(*job.started - job.submitted));
    if (job.finished) completion.push_back(to_seconds(*job.finished - job.submitted));
  }
  std::sort(completion.begin(), completion.end());
  summary.mean_jct_s = mean_of(completion);
  summary.mean_queueing_s = mean_of(queueing);
  if (!completion.empty()) {
    summary.p50_jct_s = percentile(completion, 50);
    summary.p99_jct_s = percentile(completion, 99);
  }
  summary.makespan_s = to_seconds(outcome.makespan);
  summary.gpu_hours = outcome.gpu_seconds / 3600;
  const double capacity = static_cast<double>(run.gpus) * summary.makespan_s;
  if (capacity > 0) summary.utilisation_percent = outcome.gpu_seconds / capacity * 100;
  if (run.has_timing) summary.seconds = outcome.wall_seconds;
  summary.tenants = tenants_of(outcome);
  if (outcome.energy) {
    summary.energy = {outcome.energy->units, outcome.energy->site_kwh, outcome.energy->jobs_kwh,
                      outcome.energy->peak_watts / 1000};
    for (const simulate::TenantEnergyOutcome& tenant : outcome.energy->tenants)
      summary.energy->tenants.push_back({tenant.name, tenant.units, tenant.budget});
  }
  summary.network = outcome.network;
  return summary;
}

std::vector<TrainingSummary> summarise(std::span<const TrainingSweepRun> runs) {
  std::vector<TrainingSummary> summaries;
  for (const TrainingSweepRun& run : runs) summaries.push_back(summarise(run));
  return summaries;
}

double percentile(std::span<const double> sorted, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[std::max<std::size_t>(1, static_cast<std::size_t>(rank)) - 1];
}

std::vector<Table> training_tables(std::span<const TrainingSummary> summaries) {
  const bool has_seconds =
      std::any_of(summaries.begin(), summaries.end(),
                  [](const TrainingSummary& summary) { return summary.seconds.has_value(); });
  const bool has_seeds =
      std::any_of(summaries.begin(), summaries.end(),
                  [](const TrainingSummary& summary) { return summary.seed.has_value(); });
  const bool has_networks =
      std::any_of(summaries.begin(), summaries.end(),
                  [](const TrainingSummary& summary) { return summary.network.has_value(); });
  std::vector<Table> tables;
  const TrainingSummary* last = nullptr;
  for (const TrainingSummary& summary : summaries) {
    if (last == nullptr || last->workload != summary.workload ||
        last->jobs_file != summary.jobs_file) {
      tables.push_back(table_for(summary, has_seeds, has_seconds));
      if (has_networks) {
        auto& columns = tables.back().columns;
        columns.insert(columns.begin() + 1, {"placement", Align::left});
      }
    }
    last = &summary;
    std::vector<std::string> row = {summary.policy,
                                    fmt::format("{}", summary.met),
                                    text_of(summary.met_percent(), 1),
                                    fmt::format("{}", summary.met_without_promise),
                                    text_of(summary.admitted),
                                    text_of(summary.missed_after_admission),
                                    fmt::format("{}", summary.refused),
                                    fmt::format("{}", summary.finished),
                                    text_of(summary.mean_jct_s, 0),
                                    text_of(summary.p99_jct_s, 0),
                                    text_of(summary.utilisation_percent, 1),
                                    fmt::format("{}", summary.rescales)};
    if (has_seeds)
      row.insert(row.begin() + 1, summary.seed ? fmt::format("{}", *summary.seed) : "-");
    if (has_networks)
      row.insert(row.begin() + 1, summary.network ? summary.network->placement : "-");
    if (has_seconds) row.push_back(text_of(summary.seconds, 3));
    tables.back().rows.push_back(std::move(row));
  }
  return tables;
}

std::vector<Table> energy_tables(std::span<const TrainingSummary> summaries,
                                 const std::string& unit) {
  std::vector<Table> tables;
  for (const TrainingSummary& run : summaries) {
    if (!run.energy) continue;
    const std::string title = run.workload + ": energy";
    if (tables.empty() || tables.back().title != title) {
      tables.push_back({title,
                        {{"policy", Align::left},
                         {unit},
                         {"site kWh"},
                         {"jobs kWh"},
                         {"peak kW"},
                         {"mean JCT s"},
                         {"promises broken"}},
                        {}});
    }
    tables.back().rows.push_back(
        {run.seed ? fmt::format("{}, seed {}", run.policy, *run.seed) : run.policy,
         fmt::format("{:.1f}", run.energy->units), fmt::format("{:.1f}", run.energy->site_kwh),
         fmt::format("{:.1f}", run.energy->jobs_kwh), fmt::format("{:.2f}", run.energy->peak_kw),
         run.mean_jct_s ? fmt::format("{:.0f}", *run.mean_jct_s) : "-",
         run.missed_after_admission ? fmt::format("{}", *run.missed_after_admission) : "-"});
  }
  return tables;
}

std::vector<Table> tenant_energy_tables(std::span<const TrainingSummary> summaries,
                                        const std::string& unit) {
  std::vector<Table> tables;
  for (const TrainingSummary& run : summaries) {
    if (!run.energy || run.energy->tenants.empty()) continue;
    Table table{fmt::format("{}: budgets of tenants under {}", run.workload, run.policy),
                {{"tenant", Align::left}, {unit}, {"of"}, {"used %"}},
                {}};
    for (const TenantEnergySummary& tenant : run.energy->tenants) {
      table.rows.push_back(
          {tenant.name, fmt::format("{:.1f}", tenant.units), fmt::format("{:.1f}", tenant.budget),
           tenant.budget > 0 ? fmt::format("{:.1f}", 100 * tenant.units / tenant.budget) : "-"});
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string_view energy_legend() {
  return "Energy is modelled (docs/models/energy.md). Site: with nodes that are awake, idle GPUs "
         "on them and "
         "overhead.\n";
}

std::vector<Table> tenant_tables(std::span<const TrainingSummary> summaries) {
  std::vector<Table> tables;
  for (const TrainingSummary& run : summaries) {
    if (run.tenants.empty()) continue;
    Table table{fmt::format("{}: tenants under {}{}", run.workload, run.policy,
                            run.seed ? fmt::format(", seed {}", *run.seed) : ""),
                {{"tenant", Align::left},
                 {"jobs"},
                 {"finished"},
                 {"GPU-hours"},
                 {"share %"},
                 {"by weight %"},
                 {"deviation"},
                 {"mean wait s"}},
                {}};
    for (const TenantSummary& tenant : run.tenants) {
      const auto deviation =
          tenant.share_percent
              ? fmt::format("{:+.1f}", *tenant.share_percent - tenant.weight_percent)
              : std::string{"-"};
      table.rows.push_back(
          {std::string(2 * static_cast<std::size_t>(tenant.depth), ' ') + tenant.name,
           fmt::format("{}", tenant.jobs), fmt::format("{}", tenant.finished),
           fmt::format("{:.1f}", tenant.gpu_hours), text_of(tenant.share_percent, 1),
           fmt::format("{:.1f}", tenant.weight_percent), deviation,
           text_of(tenant.mean_wait_s, 0)});
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string_view tenant_legend() {
  return "share: of the GPU-time that all jobs had. by weight: what the tenant's weight would give "
         "it "
         "if all wanted more than they get.\n"
         "deviation: percentage points of share above it, or below. A group's figures are of all "
         "below "
         "it.\n";
}

std::string_view training_legend() {
  return "met: jobs done by their deadline as promised; under policies that promise nothing (-), "
         "jobs done in time.\n"
         "by luck: done in time without a promise. missed: promised and late. JCT: from submission "
         "to finish.\n"
         "GPUs used: GPU-time given to jobs, from the first submission to the last finish.\n";
}

}  // namespace weir::report
