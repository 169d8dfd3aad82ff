// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

#include "report/exports/export_rules.h"
#include "report/exports/trainer.h"

namespace weir::report::exports {
namespace {

using predict::ParallelMode;
using predict::Recompute;
using predict::TransformerPlan;

// InternEvo makes both of the width: the heads' by dividing it, the MLP's as a multiple of 256.
void need_internevo_widths(const TransformerModel& model, Words& words) {
  constexpr std::int64_t kWhole = 256;
  const std::int64_t rounded = (model.ffn + kWhole - 1) / kWhole * kWhole;
  words.need(model.query_width() == model.hidden,
             fmt::format("heads of {} (head_dim): {} of them are not the width {}", model.head_dim,
                         model.heads, model.hidden));
  words.need(model.ffn == rounded, fmt::format("an MLP of {}: it would be {}, a multiple of {}",
                                               model.ffn, rounded, kWhole));
}

std::vector<std::string> beyond_internevo(const predict::TransformerTask& task,
                                          const TransformerPlan& plan) {
  Words words;
  const TransformerModel& model = task.model;
  need_internevo_widths(model, words);
  words.need(plan.split() == 1 || plan.mode == ParallelMode::mtp || has_bf16(task.gpu),
             fmt::format("split sequences on {}: it wants flash attention", task.gpu.name));
  words.need(plan.gradient_shards == plan.weight_shards, "gradients in finer shards than weights");
  words.need(is_isp(plan) || plan.weight_shards == 1, "sharded weights outside isp");
  words.need(plan.recompute != Recompute::selective, "recomputation of attention only");
  words.need(plan.recompute != Recompute::plus || is_isp(plan), "selective++ outside isp");
  words.need(model.experts == 1, "experts without expert parallelism");
  words.need(model.is_gated, "a plain MLP");
  return std::move(words).missing();
}

std::vector<std::string> style_beyond_internevo(const LayerStyle& style) {
  Words words;
  words.need(style.activation == Activation::silu, "another activation than silu (hidden_act)");
  return std::move(words).missing();
}

std::string_view python_truth(bool is_true) {
  return is_true ? "True" : "False";
}

bool has_2d_attention(const TransformerPlan& plan) {
  return is_isp(plan) && plan.grid.context > 1;
}

Result<std::string> internevo_text(const ExportedPlan& exported) {
  const TransformerPlan& plan = exported.plan;
  const TransformerModel& model = exported.task.model;
  const bool is_bf16 = has_bf16(exported.task.gpu);
  std::string text = fmt::format("SEQ_LEN = {}\n", exported.task.sequence);
  // InternEvo packs samples only beside flash attention.
  text +=
      fmt::format("data = dict(seq_len=SEQ_LEN, micro_num={}, micro_bsz={}{})\n", plan.micro_count,
                  plan.micro_batch, is_bf16 ? "" : ", use_packed_dataset=False");
  text += fmt::format(
      "model = dict(num_layers={}, hidden_size={}, num_attention_heads={}, "
      "num_kv_attention_heads={}, "
      "mlp_ratio={}, vocab_size={}, dtype=\"{}\", checkpoint={}, num_chunks={}{})\n",
      model.layers, model.hidden, model.heads, model.kv_heads,
      static_cast<double>(model.ffn) / static_cast<double>(model.hidden), model.vocab,
      is_bf16 ? "torch.bfloat16" : "torch.float16", python_truth(plan.recompute != Recompute::none),
      plan.interleave, is_bf16 ? "" : ", use_flash_attn=False");
  if (plan.recompute == Recompute::plus) text += "selective_checkpoint = True\n";
  text += "parallel = dict(\n";
  text += fmt::format("    zero1=dict(size={}),\n", plan.zero_degree());
  text +=
      fmt::format("    tensor=dict(size={}, mode=\"{}\"),\n", plan.split(), to_string(plan.mode));
  text += fmt::format("    pipeline=dict(size={}, interleaved_overlap={}),\n", plan.stages,
                      python_truth(plan.interleave > 1));
  text += fmt::format("    weight=dict(size={}, overlap={}, memory_pool={}),\n", plan.weight_shards,
                      python_truth(plan.hides_weights),
                      python_truth(plan.has_memory_pool && plan.weight_shards > 1));
  text += fmt::format(
      "    sequence_2D=dict(\n        enable={},\n        head_size={},\n        context_size={},\n"
      "        window_size={},\n        device_placement_strategy=dict(head_first={}, "
      "interleaved=False),\n    ),\n)\n",
      python_truth(has_2d_attention(plan)), plan.grid.head, plan.grid.context, plan.grid.window,
      python_truth(plan.grid.is_head_first));
  return text;
}

std::vector<std::string> internevo_notes(const ExportedPlan& exported) {
  const TransformerPlan& plan = exported.plan;
  std::vector<std::string> notes{
      "this is the part of a configuration that the plan decides: add what is yours, such as "
      "model_type, data's train_folder, the model's norm, positions and biases, optimizer and "
      "checkpoints"};
  add_precision_notes(exported.task, notes);
  add_window_note(exported, notes);
  std::vector<std::string_view> newer;
  if (has_2d_attention(plan)) newer.emplace_back("sequence_2D");
  if (has_copies(exported.task.model, plan))
    newer.emplace_back("sequence parallelism beyond the key/value heads");
  if (plan.recompute == Recompute::plus) newer.emplace_back("selective_checkpoint");
  // 0.5.2 reads the file all the same, and would run another plan.
  if (!newer.empty())
    notes.push_back(fmt::format("it needs InternEvo's main branch: 0.5.2 of PyPI has no {}",
                                fmt::join(newer, ", no ")));
  return notes;
}

}  // namespace

Trainer internevo() {
  return {.beyond_plan = beyond_internevo,
          .beyond_style = style_beyond_internevo,
          .can_autocast = false,
          .has_gathering_choices = true,
          .text = internevo_text,
          .notes = internevo_notes};
}

}  // namespace weir::report::exports
