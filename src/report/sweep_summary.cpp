// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/file_title.h"
#include "formats/json_text.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;
using predict::LimitSaving;
using predict::SweepFit;

constexpr double kLowPart = 0.1;
constexpr double kHalf = 0.5;
constexpr double kHighPart = 0.9;

// The figure of every job that has it.
template <class Figure>
std::vector<double> savings_of(const SweepSummary& summary, Figure figure) {
  std::vector<double> values;
  for (const SweptJobFigures& job : summary.jobs)
    if (job.saving) values.push_back(figure(*job.saving));
  return values;
}

template <class Figure>
std::vector<double> fits_of(const SweepSummary& summary, Figure figure) {
  std::vector<double> values;
  for (const SweptJobFigures& job : summary.jobs)
    if (job.fit) values.push_back(figure(*job.fit));
  return values;
}

double energy_saved(const LimitSaving& saving) {
  return saving.energy_saved;
}
double slowdown(const LimitSaving& saving) {
  return saving.slowdown;
}
double clock_share(const SweepFit& fit) {
  return fit.clock_bound_share;
}
double static_share(const SweepFit& fit) {
  return fit.static_share;
}
double mean_time_error(const SweepFit& fit) {
  return fit.time.mean_error;
}
double mean_power_error(const SweepFit& fit) {
  return fit.power.mean_error;
}
double worst_time_error(const SweepFit& fit) {
  return fit.time.worst_error;
}
double worst_power_error(const SweepFit& fit) {
  return fit.power.worst_error;
}

std::size_t untouched(const SweepSummary& summary) {
  return static_cast<std::size_t>(
      std::count_if(summary.jobs.begin(), summary.jobs.end(),
                    [](const SweptJobFigures& job) { return job.is_untouched; }));
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}", 100 * *share) : "-";
}

std::string middle_and_range(const std::vector<double>& values) {
  if (values.empty()) return "-";
  return fmt::format("{:.2f} ({:.2f}..{:.2f})", *quantile(values, kHalf),
                     *quantile(values, kLowPart), *quantile(values, kHighPart));
}

// Digits that a fit has; the rest depends on the last bit of a logarithm.
double rounded(double value, double unit) {
  return std::round(value / unit) * unit;
}

Json percent_json(const std::optional<double>& share) {
  return share ? Json(std::round(1e6 * *share) / 1e4) : Json(nullptr);
}
Json share_json(const std::optional<double>& share) {
  return share ? Json(std::round(1e4 * *share) / 1e4) : Json(nullptr);
}

Json quality_json(const predict::FitQuality& quality) {
  return {{"points", quality.points},
          {"mean_error_percent", percent_json(quality.mean_error)},
          {"worst_error_percent", percent_json(quality.worst_error)}};
}

Json to_json(const SweptJobFigures& job) {
  Json json = {{"dataset", job.job.dataset},
               {"network", job.job.network},
               {"batch", job.job.batch},
               {"optimizer", job.job.optimizer},
               {"limits", job.limits},
               {"best_limit_watts", nullptr},
               {"energy_saved_percent", nullptr},
               {"slowdown_percent", nullptr},
               {"is_untouched", job.is_untouched},
               {"fit", nullptr}};
  if (job.saving) {
    json["best_limit_watts"] = job.saving->best_limit_watts;
    json["energy_saved_percent"] = percent_json(job.saving->energy_saved);
    json["slowdown_percent"] = percent_json(job.saving->slowdown);
  }
  if (job.fit) {
    json["fit"] = {{"clock_bound_share", share_json(job.fit->clock_bound_share)},
                   {"static_share", share_json(job.fit->static_share)},
                   {"full_watts", rounded(job.fit->full_watts, 0.01)},
                   {"time", quality_json(job.fit->time)},
                   {"power", quality_json(job.fit->power)}};
  }
  return json;
}

Json to_json(const SweepSummary& summary) {
  const auto saved = savings_of(summary, energy_saved);
  const auto shares = fits_of(summary, clock_share);
  Json json = {
      {"file", summary.file},
      {"gpu", summary.gpu},
      {"jobs", summary.jobs.size()},
      {"compared", saved.size()},
      {"energy_saved_percent_median", percent_json(quantile(saved, kHalf))},
      {"energy_saved_percent_most", percent_json(quantile(saved, 1))},
      {"slowdown_percent_median", percent_json(quantile(savings_of(summary, slowdown), kHalf))},
      {"fitted", shares.size()},
      {"untouched", untouched(summary)},
      {"clock_bound_share_median", share_json(quantile(shares, kHalf))},
      {"static_share_median", share_json(quantile(fits_of(summary, static_share), kHalf))},
      {"sweeps", Json::array()}};
  for (const SweptJobFigures& job : summary.jobs) json["sweeps"].push_back(to_json(job));
  return json;
}

}  // namespace

SweepSummary summarise_sweeps(std::string file, const PowerSweeps& sweeps) {
  SweepSummary summary;
  summary.gpu = sweeps.gpu.empty() ? formats::file_title(file) : sweeps.gpu;
  summary.file = std::move(file);
  for (const PowerSweep& sweep : sweeps.sweeps) {
    summary.jobs.push_back({sweep.job, sweep.points.size(), predict::limit_saving(sweep),
                            predict::is_untouched(sweep), predict::fit_sweep(sweep)});
  }
  return summary;
}

std::optional<double> quantile(std::vector<double> values, double part) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

Table saving_table(std::span<const SweepSummary> summaries) {
  Table table{"What the best power limit saves, against the largest",
              {{"GPU", Align::left},
               {"jobs"},
               {"compared"},
               {"saved %, median"},
               {"most"},
               {"slower %, median"}},
              {}};
  for (const SweepSummary& summary : summaries) {
    const auto saved = savings_of(summary, energy_saved);
    table.rows.push_back({summary.gpu, fmt::format("{}", summary.jobs.size()),
                          fmt::format("{}", saved.size()), percent(quantile(saved, kHalf)),
                          percent(quantile(saved, 1)),
                          percent(quantile(savings_of(summary, slowdown), kHalf))});
  }
  return table;
}

Table sweep_fit_table(std::span<const SweepSummary> summaries) {
  Table table{"How jobs follow the clock, fitted",
              {{"GPU", Align::left},
               {"fitted"},
               {"untouched"},
               {"c, median (10..90 %)"},
               {"p0/Pmax"},
               {"time off %"},
               {"worst"},
               {"power off %"},
               {"worst"}},
              {}};
  for (const SweepSummary& summary : summaries) {
    const auto shares = fits_of(summary, clock_share);
    table.rows.push_back({summary.gpu, fmt::format("{}", shares.size()),
                          fmt::format("{}", untouched(summary)), middle_and_range(shares),
                          middle_and_range(fits_of(summary, static_share)),
                          percent(quantile(fits_of(summary, mean_time_error), kHalf)),
                          percent(quantile(fits_of(summary, worst_time_error), 1)),
                          percent(quantile(fits_of(summary, mean_power_error), kHalf)),
                          percent(quantile(fits_of(summary, worst_power_error), 1))});
  }
  return table;
}

std::string_view sweep_legend() {
  return "compared: jobs with three limits or more. c: share of the batch's time that follows the "
         "clock; p0/Pmax: share of the power that does not.\n"
         "untouched: drew 90 % or more of their highest power at every limit; they, and sweeps of "
         "fewer than six limits, have no fit.\n"
         "off: mean over a job's points, the median job; worst: the worst point of all jobs.\n";
}

Result<std::string> sweeps_json(std::span<const SweepSummary> summaries) {
  Json list = Json::array();
  for (const SweepSummary& summary : summaries) list.push_back(to_json(summary));
  return formats::json_text({{"gpus", std::move(list)}});
}

}  // namespace weir::report
