// SPDX-License-Identifier: Apache-2.0
#include "report/plan_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/json_text.h"
#include "report/transformer_json.h"

namespace weir::report {
namespace {

using predict::ParallelMode;
using predict::Recompute;
using predict::TransformerPlan;

constexpr std::array<std::string_view, 6> kTargetNames{"megatron",  "deepspeed", "torchtitan",
                                                       "internevo", "torchrun",  "weir"};

bool has_copies(const TransformerModel& model, const TransformerPlan& plan) {
  return plan.mode == ParallelMode::isp && plan.grid.head > model.kv_heads;
}

bool is_isp(const TransformerPlan& plan) {
  return plan.mode == ParallelMode::isp;
}

int tensor_degree(const TransformerPlan& plan) {
  return is_isp(plan) ? 1 : plan.split();
}

// What NVIDIA made before Ampere has neither bfloat16 nor a flash attention that trainers call.
constexpr std::array<std::string_view, 4> kBeforeAmpere{"P100", "V100", "V100S", "T4"};

bool has_bf16(const predict::GpuType& gpu) {
  return std::none_of(kBeforeAmpere.begin(), kBeforeAmpere.end(),
                      [&](std::string_view chip) { return predict::is_chip_of(chip, gpu); });
}

bool has_window(const ExportedPlan& exported) {
  return exported.window > 0 && exported.window < exported.task.sequence;
}

// Transformer Engine has windows where whole sequences meet after an all-to-all, not in its ring.
bool can_say_window(const TransformerPlan& plan) {
  return plan.grid.context == 1;
}

// Collects what a target cannot say, each once.
class Words {
 public:
  void need(bool can, std::string_view what) {
    const bool is_new = std::find(missing_.begin(), missing_.end(), what) == missing_.end();
    if (!can && is_new) missing_.emplace_back(what);
  }
  std::vector<std::string> missing() && { return std::move(missing_); }

 private:
  std::vector<std::string> missing_;
};

// One ring, heads in neighbouring ranks, every KV head once: what most trainers have.
void need_plain_grid(const TransformerModel& model, const TransformerPlan& plan, Words& words) {
  words.need(plan.grid.window == plan.grid.context, "a ring with windows");
  words.need(plan.grid.is_head_first, "context-first placement");
  words.need(!has_copies(model, plan), "copies of key/value heads");
}

// Some trainers want more of a sequence than the plan needs: two equal chunks for each rank that has a part of it.
void need_chunks(std::int64_t sequence, std::int64_t chunks, std::string_view why, Words& words) {
  const std::int64_t over = sequence % chunks;
  words.need(over == 0,
             fmt::format("sequences of {} tokens: it wants a multiple of {} ({}), such as {}",
                         sequence, chunks, why, sequence + chunks - over));
}

std::vector<std::string> beyond_megatron(const predict::TransformerTask& task,
                                         const TransformerPlan& plan) {
  Words words;
  const TransformerModel& model = task.model;
  const int whole = plan.same_weights();
  // Whatever splits it, all-to-all too.
  if (is_isp(plan) && plan.split() > 1)
    need_chunks(task.sequence, 2LL * plan.split(), "2 x context-parallel-size", words);
  words.need(plan.mode != ParallelMode::fsp, "mode fsp");
  // Transformer Engine has no other attention for it.
  words.need(!is_isp(plan) || plan.split() == 1 || has_bf16(task.gpu),
             fmt::format("context parallelism on {}: it wants flash attention", task.gpu.name));
  need_plain_grid(model, plan, words);
  words.need(plan.recompute != Recompute::plus, "selective++ recomputation");
  words.need(model.experts == 1, "experts without expert parallelism");
  words.need(plan.weight_shards == 1 || (plan.weight_shards == whole && plan.stages == 1),
             "weights sharded over some of the ranks, or with a pipeline");
  words.need(plan.gradient_shards == plan.weight_shards, "gradients in finer shards than weights");
  words.need(model.layers % plan.stages == 0, "stages of different length");
  return std::move(words).missing();
}

std::vector<std::string> beyond_deepspeed(const TransformerModel& model,
                                          const TransformerPlan& plan) {
  Words words;
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
  need_ddp_to_autocast(task, plan, words);
  words.need(model.layers % plan.stages == 0, "stages of different length");
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

LayerStyle style_to_export(const ExportedPlan& exported) {
  return exported.style.value_or(exported.task.model.is_gated ? llama_style() : gpt_style());
}

// Of the layers, not of the plan. DeepSpeed and torchtitan run a model that is made elsewhere.
std::vector<std::string> style_beyond_megatron(const LayerStyle& style) {
  Words words;
  words.need(!style.has_parallel_residual,
             "attention and MLP side by side (use_parallel_residual)");
  words.need(!style.has_other_biases,
             "biases in some linear layers (attention_bias, mlp_bias, bias)");
  // Its gate is SiLU, its plain MLP GeLU; gated are those with RMSNorm.
  words.need(style.has_rms_norm ? style.activation == Activation::silu
                                : style.activation == Activation::gelu_tanh ||
                                      style.activation == Activation::gelu,
             "this activation (hidden_act, activation_function)");
  words.need(style.rotary_scaling != RotaryScaling::other,
             "this scaling of rotary positions (rope_scaling, rope_parameters): only linear, and "
             "llama3 with factors 1 and 4 and 8192 positions");
  words.need(style.rotary_scaling != RotaryScaling::linear ||
                 style.rotary_factor == std::floor(style.rotary_factor),
             "linear scaling of rotary positions by a fraction");
  words.need(style.embedding_dropout == style.hidden_dropout,
             "another dropout of embeddings than of layers (embd_pdrop, resid_pdrop)");
  return std::move(words).missing();
}

std::vector<std::string> style_beyond_internevo(const LayerStyle& style) {
  Words words;
  words.need(style.activation == Activation::silu, "another activation than silu (hidden_act)");
  return std::move(words).missing();
}

void add_rotary(const LayerStyle& style, std::vector<std::string>& words) {
  words.emplace_back("--position-embedding-type rope");
  if (style.rotary_base) words.push_back(fmt::format("--rotary-base {}", *style.rotary_base));
  if (style.rotary_share != 1)
    words.push_back(fmt::format("--rotary-percent {}", style.rotary_share));
  if (style.rotary_scaling == RotaryScaling::linear) {
    words.push_back(
        fmt::format("--rotary-seq-len-interpolation-factor {:.0f}", style.rotary_factor));
  } else if (style.rotary_scaling == RotaryScaling::llama3) {
    words.emplace_back("--use-rope-scaling");
    words.push_back(fmt::format("--rope-scaling-factor {}", style.rotary_factor));
  }
}

// What is as Megatron-LM has it anyway is not said: LayerNorm, learned positions, biases, GeLU.
void add_style(const LayerStyle& style, std::vector<std::string>& words) {
  if (style.has_rms_norm) words.emplace_back("--normalization RMSNorm");
  if (style.norm_epsilon) words.push_back(fmt::format("--norm-epsilon {}", *style.norm_epsilon));
  if (style.has_rotary) add_rotary(style, words);
  words.push_back(fmt::format("--attention-dropout {}", style.attention_dropout));
  words.push_back(fmt::format("--hidden-dropout {}", style.hidden_dropout));
  // The fused one is the approximation by tanh.
  if (style.activation == Activation::gelu) words.emplace_back("--no-bias-gelu-fusion");
  if (!style.has_biases) words.emplace_back("--disable-bias-linear");
  if (!style.has_biases && style.has_qkv_biases) words.emplace_back("--add-qkv-bias");
  if (style.has_qk_norm) words.emplace_back("--qk-layernorm");
}

// Megatron-LM pads the vocabulary so that tensor parallelism divides it.
std::int64_t padded_vocabulary(std::int64_t vocab, const TransformerPlan& plan) {
  const std::int64_t whole = std::int64_t{128} * tensor_degree(plan);
  return (vocab + whole - 1) / whole * whole;
}

void add_precision_notes(const predict::TransformerTask& task, std::vector<std::string>& notes) {
  if (has_bf16(task.gpu)) return;
  notes.push_back(fmt::format(
      "float16 instead of bfloat16, and no flash attention: {} has neither, they came with Ampere",
      task.gpu.name));
  if (task.runtime.has_flash)
    notes.emplace_back(
        "the plan counts on attention that keeps no scores: take a memory-efficient one, such as "
        "that of xformers or of PyTorch's scaled_dot_product_attention, or it needs more memory "
        "than was planned");
}

void add_window_note(const ExportedPlan& exported, std::vector<std::string>& notes) {
  if (has_window(exported))
    notes.push_back(
        fmt::format("this trains with full attention: the config's window of {} tokens "
                    "(sliding_window) is not in it",
                    exported.window));
}

std::vector<std::string> megatron_notes(const ExportedPlan& exported) {
  const TransformerPlan& plan = exported.plan;
  std::vector<std::string> notes;
  if (plan.weight_shards > 1) {
    notes.emplace_back(
        plan.split() > 1
            ? "leave CUDA_DEVICE_MAX_CONNECTIONS unset: --use-megatron-fsdp refuses 1, though "
              "tensor and context parallelism alone would want it"
            : "leave CUDA_DEVICE_MAX_CONNECTIONS unset: --use-megatron-fsdp refuses 1");
  } else if (plan.split() > 1) {
    notes.emplace_back(
        "set CUDA_DEVICE_MAX_CONNECTIONS=1 in the environment: Megatron-LM asks for it with tensor "
        "or context parallelism on GPUs before Blackwell");
  }
  if (!exported.style)
    notes.push_back(fmt::format(
        "norms, positions, biases and dropout are taken to be as in {}: dimensions do not say",
        exported.task.model.is_gated ? "LLaMA" : "GPT-2"));
  notes.push_back(fmt::format(
      "the vocabulary is that of your tokenizer (--vocab-size is read with --tokenizer-type "
      "NullTokenizer only): the plan counts {} rows, which Megatron-LM pads to {}, a multiple of "
      "128 x tensor-model-parallel-size",
      exported.task.model.vocab, padded_vocabulary(exported.task.model.vocab, plan)));
  add_precision_notes(exported.task, notes);
  if (!can_say_window(plan)) add_window_note(exported, notes);
  return notes;
}

void add_precision(const predict::TransformerTask& task, std::vector<std::string>& words) {
  const bool has_short_gradients = task.runtime.gradient_bytes <= 2;
  if (!has_bf16(task.gpu)) {
    words.emplace_back("--fp16");
    // Otherwise they are kept and reduced in float16.
    if (!has_short_gradients) words.emplace_back("--accumulate-allreduce-grads-in-fp32");
    return;
  }
  words.emplace_back("--bf16");
  // Otherwise they are kept and reduced in float32, twice what was planned.
  if (has_short_gradients) words.emplace_back("--grad-reduce-in-bf16");
  if (task.runtime.has_flash) words.emplace_back("--use-flash-attn");
}

std::string megatron_text(const ExportedPlan& exported) {
  const TransformerPlan& plan = exported.plan;
  const TransformerModel& model = exported.task.model;
  std::vector<std::string> words;
  const auto add = [&](std::string_view name, auto value) {
    words.push_back(fmt::format("--{} {}", name, value));
  };
  add("num-layers", model.layers);
  add("hidden-size", model.hidden);
  add("ffn-hidden-size", model.ffn);
  add("num-attention-heads", model.heads);
  add("kv-channels", model.head_dim);
  if (model.kv_heads != model.heads) {
    words.emplace_back("--group-query-attention");
    add("num-query-groups", model.kv_heads);
  }
  add_style(style_to_export(exported), words);
  if (model.is_gated) words.emplace_back("--swiglu");
  if (!model.has_tied_embeddings) words.emplace_back("--untie-embeddings-and-output-weights");
  add("vocab-size", model.vocab);
  add("seq-length", exported.task.sequence);
  add("max-position-embeddings", exported.task.sequence);
  add("micro-batch-size", plan.micro_batch);
  add("global-batch-size", plan.batch());
  add_precision(exported.task, words);
  // Keys to the left of a token and to its right; the token itself is one of the window.
  if (has_window(exported) && can_say_window(plan))
    words.push_back(fmt::format("--window-size {},0", exported.window - 1));
  add("tensor-model-parallel-size", tensor_degree(plan));
  if (plan.mode == ParallelMode::msp && plan.split() > 1) words.emplace_back("--sequence-parallel");
  add("pipeline-model-parallel-size", plan.stages);
  if (plan.interleave > 1) {
    add("num-layers-per-virtual-pipeline-stage",
        model.layers / (static_cast<std::int64_t>(plan.stages) * plan.interleave));
  }
  if (is_isp(plan) && plan.split() > 1) {
    add("context-parallel-size", plan.split());
    const bool has_ring = plan.grid.context > 1;
    add("cp-comm-type", plan.grid.head == 1 ? "p2p" : has_ring ? "a2a+p2p" : "a2a");
    if (plan.grid.head > 1 && has_ring) {
      words.push_back(fmt::format("--hierarchical-context-parallel-sizes {} {}", plan.grid.head,
                                  plan.grid.context));
    }
  }
  if (plan.weight_shards > 1) {
    words.emplace_back("--use-megatron-fsdp");
    add("data-parallel-sharding-strategy", "optim_grads_params");
    add("ckpt-format", "fsdp_dtensor");  // the only one it writes
  }
  if (plan.optimizer_shards > 1) {
    words.emplace_back("--use-distributed-optimizer");
    const int instances = plan.same_weights() / plan.optimizer_shards;
    if (instances > 1) add("num-distributed-optimizer-instances", instances);
  }
  if (exported.task.runtime.hides_gradients && plan.same_weights() > 1) {
    words.emplace_back("--overlap-grad-reduce");
    if (plan.weight_shards > 1 && plan.hides_weights) words.emplace_back("--overlap-param-gather");
  }
  if (plan.recompute == Recompute::selective) add("recompute-granularity", "selective");
  if (plan.recompute == Recompute::full) {
    add("recompute-granularity", "full");
    add("recompute-method", "uniform");
    add("recompute-num-layers", 1);
  }
  return fmt::format("{}\n", fmt::join(words, "\n"));
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

std::string torchtitan_text(const ExportedPlan& exported) {
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
    text += fmt::format(
        "pipeline_parallel_layers_per_stage = {}\n",
        exported.task.model.layers / (static_cast<std::int64_t>(plan.stages) * plan.interleave));
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
      "with {} layers, width {}, {} heads{}, {} key/value heads, MLP {}, vocabulary {}",
      model.layers, model.hidden, model.heads, of_width, model.kv_heads, model.ffn, model.vocab));
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

std::string_view python_truth(bool is_true) {
  return is_true ? "True" : "False";
}

bool has_2d_attention(const TransformerPlan& plan) {
  return is_isp(plan) && plan.grid.context > 1;
}

std::string internevo_text(const ExportedPlan& exported) {
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

// Underscores are read by every PyTorch, hyphens by PyTorch 2 alone.
std::string torchrun_text(const ExportedPlan& exported) {
  if (exported.nodes == 1)
    return fmt::format("torchrun --standalone --nnodes 1 --nproc_per_node {} train.py\n",
                       exported.gpus_per_node);
  return fmt::format(
      "torchrun --nnodes {} --nproc_per_node {} --rdzv_backend c10d --rdzv_id plan "
      "--rdzv_endpoint FIRST_NODE:29500 train.py\n",
      exported.nodes, exported.gpus_per_node);
}

}  // namespace

std::vector<std::string> export_targets() {
  return {kTargetNames.begin(), kTargetNames.end()};
}

ExportTarget export_target(std::string_view name) {
  for (std::size_t i = 0; i < kTargetNames.size(); ++i) {
    if (kTargetNames[i] == name) return static_cast<ExportTarget>(i);
  }
  return ExportTarget::weir;
}

std::vector<std::string> beyond(ExportTarget target, const predict::TransformerTask& task,
                                const TransformerPlan& plan) {
  std::vector<std::string> missing;
  switch (target) {
    case ExportTarget::megatron:
      missing = beyond_megatron(task, plan);
      break;
    case ExportTarget::deepspeed:
      missing = beyond_deepspeed(task.model, plan);
      break;
    case ExportTarget::torchtitan:
      missing = beyond_torchtitan(task, plan);
      break;
    case ExportTarget::internevo:
      return beyond_internevo(task, plan);
    case ExportTarget::torchrun:
      break;
    case ExportTarget::weir:
      return {};
  }
  // Only InternEvo, and weir's own file for any trainer, have a memory pool and can be told not to gather ahead.
  if (plan.has_memory_pool) missing.emplace_back("a memory pool for gathered weights");
  const bool waits = plan.gradient_shards > 1 && !plan.hides_weights;
  if (waits) missing.emplace_back("weights that are not gathered ahead");
  return missing;
}

std::vector<std::string> beyond(ExportTarget target, const LayerStyle& style) {
  if (target == ExportTarget::megatron) return style_beyond_megatron(style);
  if (target == ExportTarget::internevo) return style_beyond_internevo(style);
  return {};
}

std::vector<std::string> beyond(ExportTarget target, const predict::RuntimeTraits& runtime) {
  const bool has_none = target == ExportTarget::megatron || target == ExportTarget::internevo;
  if (!has_none || !runtime.autocasts) return {};
  return {"autocast: its weights are not float32, cast for each product (--runtime autocast)"};
}

std::vector<std::string> export_notes(ExportTarget target, const ExportedPlan& exported) {
  switch (target) {
    case ExportTarget::megatron:
      return megatron_notes(exported);
    case ExportTarget::deepspeed:
      return deepspeed_notes(exported);
    case ExportTarget::torchtitan:
      return torchtitan_notes(exported);
    case ExportTarget::internevo:
      return internevo_notes(exported);
    case ExportTarget::torchrun:
      return {"this line only starts the processes: the plan itself is for train.py to carry out"};
    case ExportTarget::weir:
      break;
  }
  return {};
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
                std::string{kTargetNames[static_cast<std::size_t>(target)]},
                "another target: it has no word for " + missing});
  }
  if (!broken.empty()) return bad_input(std::move(broken));
  switch (target) {
    case ExportTarget::megatron:
      return megatron_text(exported);
    case ExportTarget::deepspeed:
      return deepspeed_text(exported);
    case ExportTarget::torchtitan:
      return torchtitan_text(exported);
    case ExportTarget::internevo:
      return internevo_text(exported);
    case ExportTarget::torchrun:
      return torchrun_text(exported);
    case ExportTarget::weir:
      break;
  }
  return formats::json_text(transformer_plan_json(exported.task, exported.plan));
}

}  // namespace weir::report
