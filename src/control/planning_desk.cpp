// SPDX-License-Identifier: Apache-2.0
#include "control/planning_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "formats/planned_model_fields.h"

namespace weir::control {
namespace {

constexpr std::size_t kMostRemembered = 256;

}  // namespace

std::optional<ModelToPlan> model_to_plan(const formats::JobDocument& document) {
  if (!document.planned) return std::nullopt;
  return ModelToPlan{*document.planned, document.curve.global_batch,
                     document.is_rigid ? document.gpus : 0};
}

PlanningDesk::PlanningDesk(CurvePlanner planner, std::vector<PoolGpus> pools)
    : planner_{std::move(planner)}, pools_{std::move(pools)} {}

bool PlanningDesk::plan(std::vector<std::optional<ModelToPlan>> models, Answer answer) {
  const auto give_up = [answer, count = models.size()] {
    Diagnostics details;
    details.add({"", 0, "", "the server is stopping", "try again later"});
    const Error stopping{ErrorCode::unavailable, std::move(details)};
    answer(std::vector<Result<PoolCurves>>(count, tl::unexpected<Error>(stopping)));
  };
  const auto work = [this, models = std::move(models), answer = std::move(answer)] {
    std::vector<Result<PoolCurves>> all;
    for (const std::optional<ModelToPlan>& model : models)
      all.push_back(model ? curves_of(*model) : Result<PoolCurves>{});
    answer(std::move(all));
  };
  return worker_.post(work, give_up);
}

Result<PoolCurves> PlanningDesk::curves_of(const ModelToPlan& model) {
  const auto& curves = planned(model);
  if (!curves) return tl::unexpected<Error>(curves.error());
  PoolCurves made;
  std::set<std::int32_t> sizes;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const Curve& curve = (*curves)[i];
    if (curve.empty()) continue;
    made.emplace_back(pools_[i].pool, curve);
    for (const CurvePoint& point : curve.measured()) sizes.insert(point.gpus);
  }
  if (model.exactly > 0 && !sizes.contains(model.exactly)) {
    return bad_input(Diagnostic{
        "", 0, "gpus", fmt::format("{}", model.exactly),
        fmt::format("a size on which the model fits, because it runs on exactly these: {}",
                    fmt::join(sizes, ", "))});
  }
  return made;
}

const Result<std::vector<Curve>>& PlanningDesk::planned(const ModelToPlan& model) {
  const std::string key = formats::write_planned_model(model.model, model.batch);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (known_.size() >= kMostRemembered) known_.clear();
  const auto plan = [&]() -> Result<std::vector<Curve>> {
    if (planner_) return planner_(model.model, model.batch, pools_);
    return bad_input(Diagnostic{"", 0, "model", "one to plan",
                                "the name of a model with a curve: nobody plans here"});
  };
  return known_.emplace(key, plan()).first->second;
}

}  // namespace weir::control
