// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_command.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "cli/plan_output.h"
#include "cli/planning_setup.h"
#include "cli/predict_iteration_command.h"
#include "formats/training_plan_json.h"
#include "predict/training/check_plan.h"

namespace weir::cli {
namespace {

using formats::PlanDocument;

constexpr int kUsualGpusPerNode = 8;

// What options say holds; what they leave out is as in the file.
ModelName name_of(const OptionValues& options, const PlanDocument& document) {
  ModelName name = model_name(options);
  const bool is_another_model = (!name.model.empty() && name.model != document.model) ||
                                (!name.size.empty() && name.size != document.size);
  if (name.database.empty()) name.database = document.database;
  if (name.model.empty()) name.model = document.model;
  if (name.size.empty()) name.size = document.size;
  if (!name.layers && !is_another_model) name.layers = document.layers;
  return name;
}

void check_name(const ModelName& name, Diagnostics& mistakes) {
  if (name.model.empty())
    mistakes.add({{}, 0, "--model", {}, "the model: the plan does not name it"});
  if (name.size.empty())
    mistakes.add({{}, 0, "--size", {}, "the model's size: the plan does not name it"});
}

PlanCluster cluster_of(const OptionValues& options, const PlanDocument& document,
                       Diagnostics& mistakes) {
  const auto& stages = document.plan.stages;
  const int gpus =
      std::accumulate(stages.begin(), stages.end(), 0,
                      [](int sum, const PlanStage& stage) { return sum + stage.gpus; });
  PlanCluster cluster;
  cluster.gpus_per_node =
      options.has("gpus-per-node")
          ? static_cast<int>(options.integer("gpus-per-node"))
          : document.gpus_per_node.value_or(gpus <= kUsualGpusPerNode ? gpus : kUsualGpusPerNode);
  if (options.has("gpus-per-node")) check_gpus_per_node(cluster.gpus_per_node, mistakes);
  const int fitting = std::max(1, gpus / std::max(1, cluster.gpus_per_node));
  cluster.nodes = options.has("nodes") ? static_cast<int>(options.integer("nodes"))
                                       : document.nodes.value_or(fitting);
  cluster.memory_mib = document.memory_limit_mib.value_or(0);
  if (options.has("memory"))
    cluster.memory_mib = memory_mib(options, "memory", mistakes).value_or(0);
  return cluster;
}

// Mistakes of a plan name the file they are in.
Diagnostics in_file(const Diagnostics& mistakes, const std::string& file) {
  Diagnostics named;
  for (Diagnostic mistake : mistakes.list()) {
    mistake.file = file;
    named.add(std::move(mistake));
  }
  return named;
}

}  // namespace

Result<void> predict_command(const OptionValues& options, Console& console) {
  Diagnostics mistakes;
  if (!options.has("plan")) {
    if (options.has("gpu") || options.has("kernel-model"))
      return predict_iteration_command(options, console);
    return bad_input(
        Diagnostic{{}, 0, "--plan", "", "a plan, or --gpu to predict an iteration of --model"});
  }
  for (const OptionSpec& option : iteration_options()) {
    if (options.is_given(option.name))
      mistakes.add({{},
                    0,
                    "--" + option.name,
                    "given",
                    "without --plan: it belongs to predictions by --gpu"});
  }
  check_plan_outputs(options, mistakes);
  auto document = formats::read_plan_json(std::filesystem::path{options.text("plan")});
  if (!document) {
    mistakes.append(document.error().details);
    return bad_input(std::move(mistakes));
  }
  const ModelName name = name_of(options, *document);
  check_name(name, mistakes);
  const PlanCluster cluster = cluster_of(options, *document, mistakes);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  const auto model = read_model(name);
  if (!model) return tl::unexpected(model.error());
  const bool keeps_model = !options.is_given("cost-model") && !document->cost_model.empty();
  const predict::CostModel kind =
      cost_model(keeps_model ? document->cost_model : options.text("cost-model"));
  const auto costs = model->costs(cluster, cost_options(options, kind));
  if (!costs) return tl::unexpected(costs.error());
  const auto broken = predict::check_plan(document->plan, *costs, {options.flag("straddle")});
  if (!broken.empty()) return bad_input(in_file(broken, options.text("plan")));
  document->database = model->profile.database;
  document->model = name.model;
  document->size = name.size;
  if (model->layers > 0) document->layers = model->layers;
  document->nodes = cluster.nodes;
  document->gpus_per_node = cluster.gpus_per_node;
  if (cluster.memory_mib > 0) document->memory_limit_mib = cluster.memory_mib;
  document->cost_model = to_string(kind);
  const predict::PlanCost cost = costs->plan_unchecked(document->plan);
  return publish_plan(options, {*costs, *document, cost}, console);
}

}  // namespace weir::cli
