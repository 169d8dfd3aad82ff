// SPDX-License-Identifier: Apache-2.0
//
// Plans the curves of models that nobody measured, for `weir serve` and everything that plays jobs: the best plan on
// each number of GPUs of each pool (docs/models/transformer.md), for a modern trainer.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/planned_model.h"
#include "domain/training.h"
#include "formats/training_yaml.h"
#include "predict/transformer/gpu_catalogue.h"

namespace weir::cli {

CurvePlanner curve_planner(predict::GpuCatalogue catalogue);

// What to tell whoever calls GPUs by a name that two types have: "A100 is taken to be A100-40G, ...". Nothing where the
// name is clear, or nobody's.
std::optional<std::string> note_on_choice(const std::string& gpu,
                                          const predict::GpuCatalogue& catalogue);

// For a command that plays jobs: plans when a file names a model, and adds what was planned to the book of each pool,
// and to `notes` what was taken for granted. Requires: `books` is by pool with GPUs, in the cluster's order; it and
// `notes` outlive the result.
formats::PlanForJobs plan_into(const Cluster& cluster, std::vector<CurveBook>& books,
                               predict::GpuCatalogue catalogue, std::set<std::string>& notes);

// The models of `jobs` whose curves are of plans, and not of measurements, in any pool.
std::vector<std::string> planned_models(const std::vector<CurveBook>& books,
                                        const TrainingWorkload& jobs);
// "Note: ..." for people; empty when there are none.
std::string note_on_planned(const std::vector<std::string>& models);

}  // namespace weir::cli
