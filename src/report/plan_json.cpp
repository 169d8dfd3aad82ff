// SPDX-License-Identifier: Apache-2.0
#include "report/plan_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/rounded_number.h"

namespace weir::report {
namespace {

// More digits than the measurements have.
using formats::thousandths;

nlohmann::ordered_json path_json(const PlanView& view) {
  auto list = nlohmann::ordered_json::array();
  for (const plan::PlanStep& step : view.path) {
    list.push_back({{"from_ms", thousandths(step.from_ms)},
                    {"to_ms", thousandths(step.to_ms)},
                    {"fits_before", step.fits_before},
                    {"fits_after", step.fits_after},
                    {"bottleneck", step.stage},
                    {"resource", plan::name_of(step.resource)},
                    {"change", step.change},
                    {"stage_from_ms", thousandths(step.stage_from_ms)},
                    {"stage_to_ms", thousandths(step.stage_to_ms)},
                    {"memory_from_mib", thousandths(step.memory_from_mib)},
                    {"memory_to_mib", thousandths(step.memory_to_mib)}});
  }
  return list;
}

nlohmann::ordered_json advice_json(const PlanView& view) {
  auto list = nlohmann::ordered_json::array();
  for (const plan::Advice& advice : view.advice) {
    nlohmann::ordered_json entry{{"change", advice.change}};
    if (advice.at_most_ms) entry["at_most_ms"] = thousandths(*advice.at_most_ms);
    if (!advice.obstacle.empty()) entry["unknown_because"] = advice.obstacle;
    entry["complete"] = advice.is_complete;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

nlohmann::ordered_json plan_json(const PlanView& view) {
  nlohmann::ordered_json json;
  json["predicted_ms"] = thousandths(view.cost.iteration_ms);
  if (view.search) {
    json["lower_bound_ms"] = thousandths(view.search->lower_bound_ms);
    if (view.search->seconds) json["search_s"] = thousandths(*view.search->seconds);
    json["evaluations"] = view.search->evaluations;
    json["complete"] = view.search->is_complete;
  }
  json["max_memory_mib"] = thousandths(view.cost.largest_memory_mib);
  json["samples_per_s"] = thousandths(view.samples_per_s());
  if (view.grid_ms) json["uniform_grid_ms"] = thousandths(*view.grid_ms);
  json.update(formats::plan_header_json(view.document));
  if (!view.path.empty()) json["path"] = path_json(view);
  if (!view.advice.empty()) json["advice"] = advice_json(view);
  json["stages"] = nlohmann::ordered_json::array();
  int first = 0;
  for (std::size_t i = 0; i < view.plan().stages.size(); ++i) {
    const PlanStage& stage = view.plan().stages[i];
    nlohmann::ordered_json entry = formats::stage_json(stage, first);
    entry["time_ms"] = thousandths(view.cost.stage_ms[i]);
    entry["memory_mib"] = thousandths(view.cost.stages[i].memory.total());
    json["stages"].push_back(std::move(entry));
    first += static_cast<int>(stage.ops.size());
  }
  return json;
}

}  // namespace weir::report
