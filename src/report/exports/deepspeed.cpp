// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "formats/json_text.h"
#include "report/exports/export_rules.h"
#include "report/exports/trainer.h"

namespace weir::report::exports {
namespace {

using predict::Recompute;
using predict::TransformerPlan;

std::vector<std::string> beyond_deepspeed(const predict::TransformerTask& task,
                                          const TransformerPlan& plan) {
  Words words;
  const TransformerModel& model = task.model;
  const int whole = plan.same_weights();
  words.need(is_isp(plan) || plan.split() == 1, "tensor parallelism");
  words.need(plan.grid.context == 1, "a ring");
  words.need(!has_copies(model, plan), "copies of key/value heads");
  words.need(plan.stages == 1, "a pipeline");
  words.need(plan.recompute == Recompute::none || plan.recompute == Recompute::full,
             "selective recomputation");
  for (const int shards : {plan.weight_shards, plan.gradient_shards, plan.optimizer_shards})
    words.need(shards == 1 || shards == whole, "shards over some of the ranks");
  return std::move(words).missing();
}

int zero_stage(const TransformerPlan& plan) {
  if (plan.weight_shards > 1) return 3;
  if (plan.gradient_shards > 1) return 2;
  return plan.optimizer_shards > 1 ? 1 : 0;
}

// Under autocast, where gradients alone are exchanged by ZeRO: gathered weights are planned with two bytes an element.
bool has_float32_exchange(const TransformerPlan& plan) {
  return zero_stage(plan) == 1 || zero_stage(plan) == 2;
}

Result<std::string> deepspeed_text(const ExportedPlan& exported) {
  const TransformerPlan& plan = exported.plan;
  nlohmann::ordered_json json;
  json["train_batch_size"] = plan.batch();
  json["train_micro_batch_size_per_gpu"] = plan.micro_batch;
  json["gradient_accumulation_steps"] = plan.micro_count;
  const bool is_bf16 = has_bf16(exported.task.gpu);
  const std::string type = is_bf16 ? "bf16" : "fp16";
  if (exported.task.runtime.autocasts) {
    json["torch_autocast"] = {{"enabled", true}, {"dtype", is_bf16 ? "bfloat16" : "float16"}};
    // Otherwise ZeRO moves what belongs to linear layers in two bytes an element.
    if (has_float32_exchange(plan))
      json["torch_autocast"]["lower_precision_safe_modules"] = nlohmann::ordered_json::array();
  } else {
    json[type] = {{"enabled", true}};
  }
  json["zero_optimization"] = {{"stage", zero_stage(plan)}, {"overlap_comm", true}};
  if (plan.split() > 1) {
    json["sequence_parallel_size"] = plan.split();
    // Otherwise gradients are reduced in float32, twice what was planned.
    if (exported.task.runtime.gradient_bytes <= 2)
      json["seq_parallel_communication_data_type"] = type;
  }
  if (plan.recompute == Recompute::full)
    json["activation_checkpointing"] = {{"partition_activations", false}};
  return formats::json_text(json);
}

std::vector<std::string> deepspeed_notes(const ExportedPlan& exported) {
  std::vector<std::string> notes;
  if (exported.plan.recompute != Recompute::none)
    notes.emplace_back(
        "the JSON alone computes nothing again: the plan counts on it. Call "
        "model.gradient_checkpointing_enable() (Hugging Face), or wrap each layer in "
        "deepspeed.checkpointing.checkpoint");
  if (exported.plan.split() > 1)
    notes.push_back(fmt::format(
        "the JSON alone splits no sequence: the plan counts on {} GPUs for each. Register Ulysses "
        "attention (UlyssesSPAttentionHF.register_with_transformers) or wrap yours in "
        "deepspeed.sequence.layer.DistributedAttention, and give each rank its part of the tokens "
        "(UlyssesSPDataLoaderAdapter)",
        exported.plan.split()));
  if (exported.task.runtime.autocasts && zero_stage(exported.plan) == 3)
    notes.emplace_back(
        "DeepSpeed gathers weights and reduces gradients of linear layers in the type of "
        "autocast: gradients are half the bytes that were planned");
  add_precision_notes(exported.task, notes);
  return notes;
}

}  // namespace

Trainer deepspeed() {
  return {.beyond_plan = beyond_deepspeed,
          .can_autocast = true,
          .has_gathering_choices = false,
          .text = deepspeed_text,
          .notes = deepspeed_notes};
}

}  // namespace weir::report::exports
