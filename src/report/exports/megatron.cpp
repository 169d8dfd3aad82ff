// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "report/exports/export_rules.h"
#include "report/exports/trainer.h"

namespace weir::report::exports {
namespace {

using predict::ParallelMode;
using predict::Recompute;
using predict::TransformerPlan;

// Where its stages do not divide the layers, only the first and the last may have fewer than the others.
struct StageEnds {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

StageEnds stage_ends(const TransformerModel& model, const TransformerPlan& plan) {
  const std::int64_t longest = predict::longest_stage(model, plan);
  const std::int64_t missing = longest * plan.stages - model.layers;
  return {longest - missing / 2, longest - (missing - missing / 2)};
}

bool can_shorten_ends(const TransformerModel& model, const TransformerPlan& plan) {
  const StageEnds ends = stage_ends(model, plan);
  return ends.first >= 1 && ends.last >= 1;
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
  words.need(can_shorten_ends(model, plan),
             fmt::format("stages of {} layers but for the first and the last: {} stages have more "
                         "than {} layers",
                         predict::longest_stage(model, plan), plan.stages, model.layers));
  return std::move(words).missing();
}

LayerStyle style_to_export(const ExportedPlan& exported) {
  return exported.style.value_or(exported.task.model.is_gated ? llama_style() : gpt_style());
}

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

// Transformer Engine has windows where whole sequences meet after an all-to-all, not in its ring.
bool can_say_window(const TransformerPlan& plan) {
  return plan.grid.context == 1;
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

Result<std::string> megatron_text(const ExportedPlan& exported) {
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
  if (model.layers % plan.stages != 0) {
    const StageEnds ends = stage_ends(model, plan);
    if (ends.first != predict::longest_stage(model, plan))
      add("decoder-first-pipeline-num-layers", ends.first);
    add("decoder-last-pipeline-num-layers", ends.last);
  }
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

}  // namespace

Trainer megatron() {
  return {.beyond_plan = beyond_megatron,
          .beyond_style = style_beyond_megatron,
          .can_autocast = false,
          .has_gathering_choices = false,
          .text = megatron_text,
          .notes = megatron_notes};
}

}  // namespace weir::report::exports
