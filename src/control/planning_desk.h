// SPDX-License-Identifier: Apache-2.0
//
// Plans the curves of models that nobody measured (domain/planned_model.h), on a thread of its own: it may take
// a second, and the loop must not wait for it. What was planned is remembered, because sweeps submit the same model
// again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/worker_thread.h"
#include "domain/planned_model.h"
#include "formats/job_document.h"

namespace weir::control {

// By pool; those in which no plan fits are not there.
using PoolCurves = std::vector<std::pair<PoolIndex, Curve>>;

struct ModelToPlan {
  PlannedModel model;
  std::int64_t batch = 0;
  std::int32_t exactly = 0;  // the GPUs of a job that cannot change its size; 0: any
};
// Nothing when the job has a curve by another way.
std::optional<ModelToPlan> model_to_plan(const formats::JobDocument& document);

class PlanningDesk {
 public:
  using Answer = std::function<void(std::vector<Result<PoolCurves>>)>;

  // Without a planner every model is refused.
  PlanningDesk(CurvePlanner planner, std::vector<PoolGpus> pools);

  // Answers on the desk's thread, one for each model. False when too many wait: there is no answer then.
  bool plan(std::vector<std::optional<ModelToPlan>> models, Answer answer);
  // Finishes what is in hand. What waits is answered on the caller's thread, as unavailable.
  void stop() { worker_.stop(); }

 private:
  Result<PoolCurves> curves_of(const ModelToPlan& model);
  const Result<std::vector<Curve>>& planned(const ModelToPlan& model);

  CurvePlanner planner_;
  std::vector<PoolGpus> pools_;
  std::map<std::string, Result<std::vector<Curve>>> known_;  // of the desk's thread
  WorkerThread worker_;                                      // last: it uses the rest
};

}  // namespace weir::control
