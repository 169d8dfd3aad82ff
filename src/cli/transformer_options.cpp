// SPDX-License-Identifier: Apache-2.0
#include "cli/transformer_options.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "cli/gpu_file.h"
#include "predict/transformer/gpu_type.h"
#include "report/plan_export.h"

namespace weir::cli {
namespace {

constexpr double kLongestSequence = 1 << 27;
constexpr double kMostCurveGpus = 16'384;

// Those that only one kind of model has.
constexpr std::array<std::string_view, 23> kMeasuredOnly{
    "overlap", "rate",        "fuse",     "tuner",        "profiles",         "db",
    "model",   "size",        "layers",   "microbatches", "cost-model",       "recompute",
    "layouts", "search",      "stages",   "straddle",     "tp1-measurements", "overlap-transfers",
    "budget",  "evaluations", "timeline", "report",       "explain"};
constexpr std::array<std::string_view, 15> kUnmeasuredOnly{
    "gpu",      "gpu-file", "sequence", "pin",  "objective",    "price", "runtime",     "nics",
    "nic-rate", "export",   "curve",    "dims", "model-config", "times", "kernel-model"};

}  // namespace

std::vector<OptionSpec> transformer_options() {
  return {
      {.name = "model-config",
       .type = OptionType::file,
       .help = "A model that was not measured: its config.json, as Hugging Face writes it (gpt2, "
               "gpt_neox, llama, mistral, qwen2, qwen3, internlm2, mixtral)."},
      {.name = "dims",
       .type = OptionType::text,
       .help = "The same by dimensions: layers=32,hidden=4096,heads=32,kv-heads=8,ffn=11008,"
               "vocab=32000,gated=1."},
      {.name = "gpu",
       .type = OptionType::text,
       .default_text = "A100-80G",
       .help = fmt::format("With --model-config or --dims: the type of GPU, one of {}.",
                           predict::gpu_type_names())},
      {.name = "times",
       .type = OptionType::text,
       .default_text = "auto",
       .choices = {"auto", "kernels", "analytic"},
       .help =
           "With --model-config or --dims: what compute times are taken from. kernels: measured "
           "kernels of the GPU. analytic: its type alone. auto: kernels where there is a model "
           "of them (h200, or --kernel-model)."},
      {.name = "kernel-model",
       .type = OptionType::file,
       .help = "With --model-config or --dims: a model that `weir kernels fit` wrote for the type "
               "of GPU."},
      gpu_file_option("With --model-config or --dims: types of GPU that weir does not know (YAML); "
                      "the first of them unless --gpu names one."),
      {.name = "sequence",
       .type = OptionType::integer,
       .unit = "tokens",
       .least = 1,
       .most = kLongestSequence,
       .help = "With --model-config or --dims: the length of a sample. Default: the longest that "
               "the config knows, at most 4096; 4096 where it does not say."},
      {.name = "pin",
       .type = OptionType::text_list,
       .help =
           "With --model-config or --dims: what is decided already, as in tp=8,pp=2. mode (mtp, "
           "msp, fsp, isp), tp, sp, hp, cp, window, placement (head-first, context-first), dp, "
           "pp, interleave, wp, zp, recompute (none, selective, full, selective++), "
           "micro-batch, accumulate, overlap (on, off), pool (on, off)."},
      {.name = "objective",
       .type = OptionType::text,
       .default_text = "time",
       .choices = {"time", "cost"},
       .help = "With --model-config or --dims. time: the fastest on all GPUs. cost: the cheapest "
               "iteration on some of them; fewer GPUs accumulate more."},
      {.name = "price",
       .type = OptionType::number,
       .least = 0,
       .most = 1e6,
       .help = "With --model-config or --dims: what an hour of one GPU costs. Default: an order of "
               "magnitude for the type."},
      {.name = "runtime",
       .type = OptionType::text,
       .default_text = "modern",
       .choices = {"modern", "autocast", "internevo", "megatron-2021"},
       .help =
           "With --model-config or --dims: how the trainer works. modern: flash attention, fused "
           "operators, bf16 weights, gradients hidden. autocast: PyTorch's, float32 weights, "
           "nothing fused. The others are those of published runs."},
      {.name = "nics",
       .type = OptionType::integer,
       .least = 1,
       .most = 64,
       .help =
           "With --model-config or --dims: network cards of a node. Default: as the type's usual "
           "node."},
      {.name = "nic-rate",
       .type = OptionType::number,
       .unit = "Gbit/s",
       .least = 0.001,
       .most = 100'000,
       .help = "With --model-config or --dims: the rate of one card. Default: as the type's usual "
               "node."},
      {.name = "export",
       .type = OptionType::text,
       .choices = report::export_targets(),
       .help = "With --model-config or --dims: print the plan in the words of that program "
               "instead, the "
               "best that it can run."},
      {.name = "curve",
       .type = OptionType::integer_list,
       .unit = "GPUs",
       .least = 1,
       .most = kMostCurveGpus,
       .help = "With --model-config or --dims: how fast the model would be on 1..64 GPUs. --out "
               "writes a "
               "throughput table."}};
}

bool is_unmeasured(const OptionValues& options) {
  return options.has("model-config") || options.has("dims");
}

void check_kind_of_model(const OptionValues& options, Diagnostics& mistakes) {
  const auto refuse = [&](std::string_view name, std::string expected) {
    if (options.is_given(name))
      mistakes.add({{}, 0, fmt::format("--{}", name), "given", std::move(expected)});
  };
  if (!is_unmeasured(options)) {
    for (const std::string_view name : kUnmeasuredOnly)
      refuse(name, "it together with --model-config or --dims");
    return;
  }
  const char* given = options.has("model-config") ? "--model-config" : "--dims";
  for (const std::string_view name : kMeasuredOnly)
    refuse(name, fmt::format("none beside {}: it belongs to another kind of plan", given));
  if (options.has("model-config")) refuse("dims", "either --model-config or --dims");
  if (options.has("curve")) {
    refuse("export", "none with --curve: a curve has many plans");
    refuse("objective", "none with --curve: a curve tells every size");
    refuse("nodes", "none with --curve: it says how many GPUs");
  }
}

}  // namespace weir::cli
