// SPDX-License-Identifier: Apache-2.0
//
// What a plan is for, from options or from a plan file: the measurements of the model, the cluster, the cost
// model. Every mistake is found before anything is searched.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "domain/op_profile.h"
#include "domain/options.h"
#include "domain/result.h"
#include "domain/training_plan.h"
#include "plan/training/plan_search.h"
#include "predict/training/iteration_costs.h"

namespace weir::cli {

// Which model, as somebody named it; absent parts are empty or nothing.
struct ModelName {
  std::string profiles;  // the folder
  std::string database;
  std::string model;
  std::string size;
  std::optional<int> layers;
};
ModelName model_name(const OptionValues& options);

// A model with its measurements. `size` is as it was asked for; the profile may be that of another (t5 22B).
struct PlannedModel {
  std::filesystem::path folder;
  OpProfile profile;
  std::string size;
  int layers = 0;

  Result<predict::IterationCosts> costs(const PlanCluster& cluster,
                                        const predict::CostOptions& options) const;
};
Result<PlannedModel> read_model(const ModelName& name);

predict::CostOptions cost_options(const OptionValues& options, predict::CostModel model);
predict::CostModel cost_model(const std::string& text);
std::string to_string(predict::CostModel model);

// An option that is an amount of memory, in MiB.
std::optional<double> memory_mib(const OptionValues& options, const char* name,
                                 Diagnostics& mistakes);
void check_gpus_per_node(int gpus, Diagnostics& mistakes);
// --out, --timeline, --report: files that can be written, each another one.
void check_plan_outputs(const OptionValues& options, Diagnostics& mistakes);

// Everything `weir plan` searches with.
struct PlanSetup {
  PlannedModel model;
  PlanCluster cluster;  // its memory is what a plan may use: less the margin
  predict::CostOptions cost_options;
  plan::PlanRequest request;
};
Result<PlanSetup> read_plan_setup(const OptionValues& options);

}  // namespace weir::cli
