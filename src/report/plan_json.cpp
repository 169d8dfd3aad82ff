// SPDX-License-Identifier: Apache-2.0
#include "report/plan_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace weir::report {
namespace {

// More digits than the measurements have.
double rounded(double value) {
  constexpr double kSteps = 1000;
  return std::round(value * kSteps) / kSteps;
}

}  // namespace

nlohmann::ordered_json plan_json(const PlanView& view) {
  nlohmann::ordered_json json;
  json["predicted_ms"] = rounded(view.cost.iteration_ms);
  if (view.search) {
    json["lower_bound_ms"] = rounded(view.search->lower_bound_ms);
    if (view.search->seconds) json["search_s"] = rounded(*view.search->seconds);
    json["evaluations"] = view.search->evaluations;
    json["complete"] = view.search->is_complete;
  }
  json["max_memory_mib"] = rounded(view.cost.largest_memory_mib);
  json["samples_per_s"] = rounded(view.samples_per_s());
  if (view.grid_ms) json["uniform_grid_ms"] = rounded(*view.grid_ms);
  json.update(formats::plan_header_json(view.document));
  json["stages"] = nlohmann::ordered_json::array();
  int first = 0;
  for (std::size_t i = 0; i < view.plan().stages.size(); ++i) {
    const PlanStage& stage = view.plan().stages[i];
    nlohmann::ordered_json entry = formats::stage_json(stage, first);
    entry["time_ms"] = rounded(view.cost.stage_ms[i]);
    entry["memory_mib"] = rounded(view.cost.stages[i].memory.total());
    json["stages"].push_back(std::move(entry));
    first += static_cast<int>(stage.ops.size());
  }
  return json;
}

}  // namespace weir::report
