// SPDX-License-Identifier: Apache-2.0
#include "report/plan_export.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/json_text.h"
#include "report/exports/trainer.h"
#include "report/transformer_json.h"

namespace weir::report {
namespace {

using exports::Trainer;
using predict::TransformerPlan;

std::vector<std::string> nothing_beyond(const predict::TransformerTask&, const TransformerPlan&) {
  return {};
}

// Underscores are read by every PyTorch, hyphens by PyTorch 2 alone.
Result<std::string> torchrun_text(const ExportedPlan& exported) {
  if (exported.nodes == 1)
    return fmt::format("torchrun --standalone --nnodes 1 --nproc_per_node {} train.py\n",
                       exported.gpus_per_node);
  return fmt::format(
      "torchrun --nnodes {} --nproc_per_node {} --rdzv_backend c10d --rdzv_id plan "
      "--rdzv_endpoint FIRST_NODE:29500 train.py\n",
      exported.nodes, exported.gpus_per_node);
}

std::vector<std::string> torchrun_notes(const ExportedPlan&) {
  return {"this line only starts the processes: the plan itself is for train.py to carry out"};
}

Trainer torchrun() {
  return {.beyond_plan = nothing_beyond,
          .can_autocast = true,
          .has_gathering_choices = false,
          .text = torchrun_text,
          .notes = torchrun_notes};
}

Result<std::string> weir_text(const ExportedPlan& exported) {
  return formats::json_text(transformer_plan_json(exported.task, exported.plan));
}

std::vector<std::string> weir_notes(const ExportedPlan&) {
  return {};
}

// Whatever trainer is to read it.
Trainer weir_itself() {
  return {.beyond_plan = nothing_beyond,
          .can_autocast = true,
          .has_gathering_choices = true,
          .text = weir_text,
          .notes = weir_notes};
}

struct NamedTrainer {
  std::string_view name;
  Trainer (*trainer)();
};

// In the order of the enumeration.
constexpr std::array<NamedTrainer, 6> kTrainers{{{"megatron", exports::megatron},
                                                 {"deepspeed", exports::deepspeed},
                                                 {"torchtitan", exports::torchtitan},
                                                 {"internevo", exports::internevo},
                                                 {"torchrun", torchrun},
                                                 {"weir", weir_itself}}};

const NamedTrainer& named_trainer(ExportTarget target) {
  return kTrainers[static_cast<std::size_t>(target)];
}

Trainer trainer_of(ExportTarget target) {
  return named_trainer(target).trainer();
}

}  // namespace

std::vector<std::string> export_targets() {
  std::vector<std::string> names;
  for (const NamedTrainer& trainer : kTrainers) names.emplace_back(trainer.name);
  return names;
}

ExportTarget export_target(std::string_view name) {
  for (std::size_t i = 0; i < kTrainers.size(); ++i) {
    if (kTrainers[i].name == name) return static_cast<ExportTarget>(i);
  }
  return ExportTarget::weir;
}

std::vector<std::string> beyond(ExportTarget target, const predict::TransformerTask& task,
                                const TransformerPlan& plan) {
  const Trainer trainer = trainer_of(target);
  std::vector<std::string> missing = trainer.beyond_plan(task, plan);
  if (trainer.has_gathering_choices) return missing;
  if (plan.has_memory_pool) missing.emplace_back("a memory pool for gathered weights");
  const bool waits = plan.gradient_shards > 1 && !plan.hides_weights;
  if (waits) missing.emplace_back("weights that are not gathered ahead");
  return missing;
}

std::vector<std::string> beyond(ExportTarget target, const LayerStyle& style) {
  const Trainer trainer = trainer_of(target);
  return trainer.beyond_style == nullptr ? std::vector<std::string>{} : trainer.beyond_style(style);
}

std::vector<std::string> beyond(ExportTarget target, const predict::RuntimeTraits& runtime) {
  if (trainer_of(target).can_autocast || !runtime.autocasts) return {};
  return {"autocast: its weights are not float32, cast for each product (--runtime autocast)"};
}

std::vector<std::string> export_notes(ExportTarget target, const ExportedPlan& exported) {
  return trainer_of(target).notes(exported);
}

Result<std::string> export_plan(ExportTarget target, const ExportedPlan& exported) {
  const predict::TransformerTask& task = exported.task;
  Diagnostics broken =
      predict::broken_rules(task.model, task.sequence, exported.nodes * exported.gpus_per_node,
                            task.batch, exported.plan);
  std::vector<std::string> all_missing = beyond(target, task, exported.plan);
  for (std::string& missing : beyond(target, task.runtime))
    all_missing.push_back(std::move(missing));
  if (exported.style) {
    for (std::string& missing : beyond(target, *exported.style))
      all_missing.push_back(std::move(missing));
  }
  for (const std::string& missing : all_missing) {
    broken.add({{},
                0,
                "--export",
                std::string{named_trainer(target).name},
                "another target: it has no word for " + missing});
  }
  if (!broken.empty()) return bad_input(std::move(broken));
  return trainer_of(target).text(exported);
}

}  // namespace weir::report
