// SPDX-License-Identifier: Apache-2.0
#include "report/training_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "formats/csv_writer.h"
#include "formats/json_text.h"
#include "formats/rounded_number.h"

namespace weir::report {
namespace {

using formats::ten_thousandths;
using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) {
  return value ? Json(ten_thousandths(*value)) : Json(nullptr);
}

Json or_null(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const TenantSummary& tenant) {
  Json json = {{"name", tenant.name}};
  if (!tenant.parent.empty()) json["parent"] = tenant.parent;
  json.update({{"jobs", tenant.jobs},
               {"finished", tenant.finished},
               {"gpu_hours", ten_thousandths(tenant.gpu_hours)},
               {"share_percent", or_null(tenant.share_percent)},
               {"weight_percent", ten_thousandths(tenant.weight_percent)},
               {"mean_wait_s", or_null(tenant.mean_wait_s)}});
  return json;
}

Json to_json(const TrainingSummary& run) {
  Json json = {{"policy", run.policy},
               {"workload", run.workload},
               {"jobs_file", run.jobs_file},
               {"gpus", run.gpus},
               {"jobs", run.jobs},
               {"with_deadline", run.with_deadline},
               {"met", run.met},
               {"met_without_promise", run.met_without_promise},
               {"admitted", or_null(run.admitted)},
               {"missed_after_admission", or_null(run.missed_after_admission)},
               {"promised_at_submission", run.promised_at_submission},
               {"missed_with_warning", run.missed_with_warning},
               {"mean_warning_s", or_null(run.mean_warning_s)},
               {"warned_in_vain", run.warned_in_vain},
               {"refused", run.refused},
               {"finished", run.finished},
               {"nodes_lost", run.nodes_lost},
               {"mean_jct_s", or_null(run.mean_jct_s)},
               {"p50_jct_s", or_null(run.p50_jct_s)},
               {"p99_jct_s", or_null(run.p99_jct_s)},
               {"mean_queueing_s", or_null(run.mean_queueing_s)},
               {"makespan_s", ten_thousandths(run.makespan_s)},
               {"gpu_hours", ten_thousandths(run.gpu_hours)},
               {"utilisation_percent", or_null(run.utilisation_percent)},
               {"rescales", run.rescales},
               {"decisions", run.decisions}};
  if (!run.cluster.empty()) json["cluster"] = run.cluster;
  if (run.seed) json["seed"] = *run.seed;
  for (const std::string& model : run.planned_models) json["planned_models"].push_back(model);
  for (const TenantSummary& tenant : run.tenants) json["tenants"].push_back(to_json(tenant));
  if (run.energy) {
    json["energy"] = {{"units", run.energy->units},
                      {"site_kwh", run.energy->site_kwh},
                      {"jobs_kwh", run.energy->jobs_kwh},
                      {"peak_kw", run.energy->peak_kw}};
    for (const TenantEnergySummary& tenant : run.energy->tenants)
      json["energy"]["tenants"].push_back(
          {{"name", tenant.name}, {"units", tenant.units}, {"budget", tenant.budget}});
  }
  if (run.network) {
    json["placement"] = run.network->placement;
    Json network = {{"own_grants", run.network->own_grants},
                    {"shared_grants", run.network->shared_grants},
                    {"rewirings", run.network->rewirings},
                    {"windows", run.network->windows},
                    {"slowdown", ten_thousandths(run.network->all.slowdown)}};
    for (const simulate::SizeTimes& times : run.network->by_size) {
      network["by_size"].push_back({{"gpus", times.gpus},
                                    {"jobs", times.jobs},
                                    {"mean_jct_s", ten_thousandths(times.completion)},
                                    {"mean_run_s", ten_thousandths(times.run)},
                                    {"mean_wait_s", ten_thousandths(times.wait)},
                                    {"slowdown", ten_thousandths(times.slowdown)}});
    }
    json["network"] = std::move(network);
  }
  if (run.seconds) json["timing"] = {{"seconds", *run.seconds}};
  return json;
}

// The member "runs", one line for each.
Result<std::string> runs_text(std::span<const TrainingSummary> summaries) {
  std::string text = "\"runs\":[";
  std::string_view separator = "\n";
  for (const TrainingSummary& summary : summaries) {
    const auto line = formats::json_text(to_json(summary), formats::JsonLayout::compact);
    if (!line) return tl::unexpected(line.error());
    text.append(separator).append(*line);
    separator = ",\n";
  }
  return text + "\n]";
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Result<std::string> training_json(std::span<const TrainingSummary> summaries) {
  const auto runs = runs_text(summaries);
  if (!runs) return runs;
  return "{" + *runs + "}\n";
}

Result<std::string> comparison_json(std::string_view version, std::string_view recipe,
                                    std::span<const TrainingSummary> summaries) {
  const auto runs = runs_text(summaries);
  if (!runs) return runs;
  const auto text = [](std::string_view value) {
    return formats::json_text(Json(value), formats::JsonLayout::compact);
  };
  const auto version_text = text(version);
  if (!version_text) return version_text;
  const auto recipe_text = text(recipe);
  if (!recipe_text) return recipe_text;
  return fmt::format("{{\"version\":{},\"recipe\":{},\n{}}}\n", *version_text, *recipe_text, *runs);
}

// The columns are the keys of the JSON.
std::string training_csv(std::span<const TrainingSummary> summaries) {
  std::ostringstream out;
  formats::CsvWriter csv{out};
  const auto any = [&](auto has) { return std::any_of(summaries.begin(), summaries.end(), has); };
  const bool has_seconds = any([](const TrainingSummary& run) { return run.seconds.has_value(); });
  const bool has_seeds = any([](const TrainingSummary& run) { return run.seed.has_value(); });
  const bool has_clusters = any([](const TrainingSummary& run) { return !run.cluster.empty(); });
  const auto columns_of = [](const TrainingSummary& summary) {
    Json json = to_json(summary);
    json.erase("timing");
    json.erase("tenants");
    json.erase("planned_models");
    json.erase("energy");
    json.erase("network");
    json.erase("placement");
    json.erase("cluster");
    json.erase("seed");
    return json;
  };
  const Json headings = columns_of(TrainingSummary{});
  for (const auto& [column, value] : headings.items()) csv.cell(column);
  const bool has_networks = any([](const TrainingSummary& run) { return run.network.has_value(); });
  if (has_networks) csv.cell("placement");
  if (has_clusters) csv.cell("cluster");
  if (has_seeds) csv.cell("seed");
  if (has_seconds) csv.cell("seconds");
  csv.end_row();
  for (const TrainingSummary& summary : summaries) {
    const Json row = columns_of(summary);
    for (const auto& [column, value] : row.items()) csv.cell(cell_text(value));
    if (has_networks) csv.cell(summary.network ? summary.network->placement : "");
    if (has_clusters) csv.cell(summary.cluster);
    if (has_seeds) csv.cell(summary.seed ? fmt::format("{}", *summary.seed) : "");
    if (has_seconds) csv.cell(summary.seconds ? fmt::format("{}", *summary.seconds) : "");
    csv.end_row();
  }
  return out.str();
}

}  // namespace weir::report
