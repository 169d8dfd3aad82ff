// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "report/exports/export_rules.h"
#include "report/exports/trainer.h"

namespace weir::report::exports {
namespace {

using predict::ParallelMode;
using predict::Recompute;
using predict::TransformerPlan;

// The fewest shards above one that replicas can have.
int fewest_shards(int replicas) {
  int shards = 2;
  while (replicas % shards != 0) ++shards;
  return shards;
}

// Where nothing is sharded torchtitan takes DDP, which stands alone. A ring wants shards anyway.
void need_shards_beside_others(const TransformerPlan& plan, Words& words) {
  const bool is_ddp = plan.replicas > 1 && plan.optimizer_shards == 1;
  if (!is_ddp || (tensor_degree(plan) == 1 && plan.stages == 1)) return;
  const int ring = is_isp(plan) ? plan.split() : 1;
  words.need(ring > 1, fmt::format("replicas without shards beside tensor parallelism or a "
                                   "pipeline: it wants shards, such as wp={}",
                                   fewest_shards(plan.replicas)));
}

// It sends gradients between replicas after every microbatch; within a pipeline, after the last one.
void need_one_microbatch_beside_copies(const TransformerPlan& plan, Words& words) {
  const int ring = is_isp(plan) ? plan.split() : 1;
  const int copies = plan.replicas * ring / plan.optimizer_shards;
  words.need(copies == 1 || plan.micro_count == 1 || plan.stages > 1,
             fmt::format("accumulation beside {} copies of the shards, whose gradients it would "
                         "exchange after every microbatch: it wants zp={}, or accumulate=1",
                         copies, plan.replicas * ring));
}

bool is_alone(const TransformerPlan& plan) {
  return plan.optimizer_shards == 1 && plan.split() == 1 && plan.stages == 1;
}

// Neither FSDP nor a ring: then it has no mixed precision beside tensor parallelism or a pipeline.
void need_shards_for_half_precision(const TransformerPlan& plan, Words& words) {
  const bool has_fsdp = plan.optimizer_shards > 1 || (is_isp(plan) && plan.split() > 1);
  const bool has_others = tensor_degree(plan) > 1 || plan.stages > 1;
  words.need(has_fsdp || !has_others || plan.replicas > 1,
             "tensor parallelism or a pipeline without shards in half precision: it trains in "
             "float32 then");
}

// Elsewhere it casts weights once, as it gathers them, or trains in float32.
void need_ddp_to_autocast(const predict::TransformerTask& task, const TransformerPlan& plan,
                          Words& words) {
  words.need(!task.runtime.autocasts || is_alone(plan),
             "autocast (--runtime autocast) beside shards, split sequences, tensor parallelism or "
             "a pipeline: it runs under it on one GPU and with plain replicas");
}

std::vector<std::string> beyond_torchtitan(const predict::TransformerTask& task,
                                           const TransformerPlan& plan) {
  Words words;
  const TransformerModel& model = task.model;
  words.need(has_bf16(task.gpu),
             fmt::format("training in float16, and {} has no bfloat16", task.gpu.name));
  words.need(is_isp(plan) || plan.mode == ParallelMode::msp || plan.split() == 1,
             "tensor parallelism without a split sequence, or fsp");
  words.need(!is_isp(plan) || plan.grid.head == 1, "heads split by all-to-all");
  need_plain_grid(model, plan, words);
  words.need(plan.recompute == Recompute::none || plan.recompute == Recompute::full,
             "selective recomputation");
  words.need(model.experts == 1, "experts without expert parallelism");
  words.need(plan.gradient_shards == plan.optimizer_shards,
             "optimizer state in finer shards than gradients");
  words.need(plan.weight_shards == 1 || plan.weight_shards == plan.optimizer_shards,
             "weights in coarser shards than gradients, but sharded");
  const int ring = is_isp(plan) ? plan.split() : 1;
  words.need(plan.optimizer_shards % ring == 0, "shards that leave out ranks of a ring");
  need_shards_beside_others(plan, words);
  need_one_microbatch_beside_copies(plan, words);
  words.need(plan.stages == 1 || !model.has_tied_embeddings,
             "a pipeline whose embedding and head are one matrix");
  need_ddp_to_autocast(task, plan, words);
  // Also where nothing splits it.
  need_chunks(task.sequence, 2LL * plan.split(), "2 x tensor x context parallel degree", words);
  // PyTorch's Schedule1F1B raises; the interleaved one does not.
  words.need(
      plan.stages == 1 || plan.interleave > 1 || plan.micro_count >= plan.stages,
      fmt::format("a pipeline of {} stages with fewer microbatches than that: it wants a batch of "
                  "{} or more",
                  plan.stages,
                  static_cast<std::int64_t>(plan.stages) * plan.replicas * plan.micro_batch));
  need_shards_for_half_precision(plan, words);
  return std::move(words).missing();
}

Result<std::string> torchtitan_text(const ExportedPlan& exported) {
  const TransformerPlan& plan = exported.plan;
  const bool has_pipeline = plan.stages > 1;
  const int ring = is_isp(plan) ? plan.split() : 1;
  const int shard = plan.optimizer_shards / ring;
  std::string text = "[training]\n";
  text += fmt::format("local_batch_size = {}\n",
                      has_pipeline ? plan.micro_batch * plan.micro_count : plan.micro_batch);
  text += fmt::format("global_batch_size = {}\n", plan.batch());
  text += fmt::format("seq_len = {}\n\n[parallelism]\n", exported.task.sequence);
  text += fmt::format("data_parallel_replicate_degree = {}\n", plan.replicas / shard);
  text += fmt::format("data_parallel_shard_degree = {}\n", shard);
  text += fmt::format("fsdp_reshard_after_forward = \"{}\"\n",
                      plan.weight_shards == 1 ? "never" : "always");
  text += fmt::format("tensor_parallel_degree = {}\n", tensor_degree(plan));
  text += fmt::format("context_parallel_degree = {}\n", ring);
  // Otherwise all keys and values are gathered.
  if (ring > 1) text += "context_parallel_rotate_method = \"alltoall\"\n";
  text += fmt::format("pipeline_parallel_degree = {}\n", plan.stages);
  if (has_pipeline) {
    text += fmt::format("pipeline_parallel_schedule = \"{}\"\n",
                        plan.interleave > 1 ? "Interleaved1F1B" : "1F1B");
    // Of stages that are not alike, it makes as many as there are ranks when it is told no length.
    const std::int64_t pieces = static_cast<std::int64_t>(plan.stages) * plan.interleave;
    if (exported.task.model.layers % pieces == 0)
      text += fmt::format("pipeline_parallel_layers_per_stage = {}\n",
                          exported.task.model.layers / pieces);
    text += "pipeline_parallel_first_stage_less_layers = 0\n";
    text += "pipeline_parallel_last_stage_less_layers = 0\n";
    text += fmt::format("pipeline_parallel_microbatch_size = {}\n", plan.micro_batch);
  }
  text += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", to_string(plan.recompute));
  return text;
}

std::vector<std::string> torchtitan_notes(const ExportedPlan& exported) {
  const TransformerModel& model = exported.task.model;
  std::vector<std::string> notes;
  const std::string of_width =
      model.query_width() == model.hidden
          ? ""
          : fmt::format(" of {} (head_dim, not the width divided by them)", model.head_dim);
  notes.push_back(fmt::format(
      "[model] is yours to write, or torchtitan trains its debug model: name and flavor of one "
      "with {} layers, width {}, {} heads{}, {} key/value heads, MLP {}, vocabulary {}{}",
      model.layers, model.hidden, model.heads, of_width, model.kv_heads, model.ffn, model.vocab,
      model.has_tied_embeddings ? ", embedding and head one matrix" : ""));
  const TransformerPlan& plan = exported.plan;
  if (plan.weight_shards == 1 && plan.optimizer_shards > 1 && plan.micro_count > 1 &&
      plan.stages == 1)
    notes.emplace_back(
        "torchtitan gathers weights for every microbatch, also with fsdp_reshard_after_forward = "
        "\"never\": the plan counts on once an iteration");
  if (exported.task.runtime.gradient_bytes <= 2)
    notes.emplace_back(
        "torchtitan reduces gradients in float32 (mixed_precision_reduce knows nothing else), "
        "twice the bytes that were planned");
  if (is_alone(exported.plan) && !exported.task.runtime.autocasts)
    notes.emplace_back(
        "on one GPU and with plain replicas torchtitan trains under autocast, with float32 "
        "weights: "
        "--runtime autocast plans that, and it takes longer");
  if (is_isp(exported.plan) && exported.plan.split() > 1)
    notes.emplace_back(
        "torchtitan 0.2.2 reads context_parallel_rotate_method in validation only: its training "
        "gathers all keys and values at once, and the plan counts on a ring that passes them on. "
        "Call set_rotate_method(\"alltoall\") of "
        "torch.distributed.tensor.experimental._attention before training");
  return notes;
}

}  // namespace

Trainer torchtitan() {
  return {.beyond_plan = beyond_torchtitan,
          .can_autocast = true,
          .has_gathering_choices = false,
          .text = torchtitan_text,
          .notes = torchtitan_notes};
}

}  // namespace weir::report::exports
