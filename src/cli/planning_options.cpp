// SPDX-License-Identifier: Apache-2.0
#include "cli/planning_options.h"

#include <string>
#include <utility>
#include <vector>

#include "cli/plan_overlap_command.h"
#include "cli/predict_iteration_command.h"
#include "cli/transformer_options.h"
#include "formats/input_ranges.h"

namespace weir::cli {
namespace {

constexpr double kMostNodes = 65'536;
constexpr double kMostGpusPerNode = 64;
constexpr double kMostMicrobatch = 65'536;
constexpr double kMostEvaluations = 1e15;
constexpr double kMostLayers = 100'000;

// Which measurements, of which model.
std::vector<OptionSpec> model_options() {
  return {{.name = "profiles",
           .type = OptionType::file,
           .help = "The folder of measurements: ops.csv, collectives.csv, p2p.csv (may be gzip). "
                   "Default: aceso in the folder $WEIR_DATA."},
          {.name = "db",
           .type = OptionType::text,
           .help = "Which machine's measurements; may be left out when only one has the model."},
          {.name = "model",
           .type = OptionType::text,
           .help = "The model: gpt, t5 or resnet, as the measurements name it."},
          {.name = "size",
           .type = OptionType::text,
           .help = "Its size, as the measurements name it: 1_3B."},
          {.name = "layers",
           .type = OptionType::integer,
           .least = 1,
           .most = kMostLayers,
           .help = "Layers of the model (gpt; t5: of each side). Default: as many as the size "
                   "has."}};
}

OptionSpec node_count_option() {
  return {.name = "nodes",
          .type = OptionType::integer,
          .unit = "nodes",
          .least = 1,
          .most = kMostNodes,
          .help = "How many nodes the job gets."};
}

OptionSpec gpus_option(std::string help = "GPUs of each node, a power of two.") {
  return {.name = "gpus-per-node",
          .type = OptionType::integer,
          .unit = "GPUs",
          .least = 1,
          .most = kMostGpusPerNode,
          .help = std::move(help)};
}

OptionSpec memory_option() {
  return {.name = "memory",
          .type = OptionType::text,
          .unit = "memory",
          .help = "Memory of one GPU that a plan may use: 12000MiB, 28GiB."};
}

OptionSpec with_default(OptionSpec option, std::string text) {
  option.default_text = std::move(text);
  return option;
}

OptionSpec cost_model_option() {
  return {.name = "cost-model",
          .type = OptionType::text,
          .default_text = "full",
          .choices = {"published", "full"},
          .help =
              "full: links interpolated, gradients, optimizer and tied embeddings charged. "
              "published: as in the public code, to compare."};
}

OptionSpec tp1_option() {
  return {.name = "tp1-measurements",
          .type = OptionType::text,
          .choices = {"one", "two"},
          .help =
              "Without tensor parallelism the split dimension means nothing, yet it was measured "
              "twice. one: use the first for both. two: as measured. Default: two under "
              "published, one under full."};
}

OptionSpec overlap_option() {
  return {.name = "overlap-transfers",
          .type = OptionType::flag,
          .help =
              "Under full: take transfers between stages as hidden behind computation. For "
              "runtimes that keep more microbatches in flight than 1F1B does; their memory is "
              "not charged."};
}

OptionSpec straddle_option() {
  return {
      .name = "straddle", .type = OptionType::flag, .help = "A stage may lie on several nodes."};
}

std::vector<OptionSpec> output_options() {
  return {{.name = "timeline",
           .type = OptionType::file,
           .help = "Write the pipeline's time line to this JSON file (Chrome trace events: open it "
                   "in Perfetto).",
           .in_recipe = false},
          {.name = "report",
           .type = OptionType::file,
           .help = "Write a page with the plan to this HTML file. It opens without a network.",
           .in_recipe = false},
          {.name = "json",
           .type = OptionType::flag,
           .help = "Print JSON for programs instead of text for people.",
           .in_recipe = false}};
}

std::vector<OptionSpec> search_options() {
  return {
      {.name = "margin",
       .type = OptionType::text,
       .unit = "memory",
       .default_text = "0MiB",
       .help = "Memory of each GPU to keep free: predictions are not exact."},
      {.name = "batch",
       .type = OptionType::integer,
       .unit = "samples",
       .default_text = "1024",
       .least = 1,
       .most = static_cast<double>(formats::kMostGlobalBatch),
       .help = "Samples of one iteration, over all GPUs."},
      {.name = "microbatches",
       .type = OptionType::integer_list,
       .unit = "samples",
       .least = 1,
       .most = kMostMicrobatch,
       .help = "Microbatch sizes to try. Default: all that were measured; under published those "
               "of the public scripts."},
      cost_model_option(),
      {.name = "recompute",
       .type = OptionType::text,
       .default_text = "own",
       .choices = {"derived", "own"},
       .help = "What is computed again to save memory. own: whatever costs least. derived: by the "
               "rule of the public code."},
      {.name = "layouts",
       .type = OptionType::text,
       .choices = {"uniform", "mixed"},
       .help = "uniform: all operators of a stage are split alike. mixed: each may differ. "
               "Default: mixed for resnet, otherwise uniform."},
      tp1_option(),
      overlap_option(),
      {.name = "search",
       .type = OptionType::text,
       .default_text = "dp",
       .choices = {"dp", "alleviation"},
       .help = "dp: exact, with a proved gap. alleviation: from bottleneck to bottleneck."},
      {.name = "stages",
       .type = OptionType::integer,
       .least = 1,
       .most = kMostNodes,
       .help = "Exactly so many pipeline stages. Default: as many as is best."},
      straddle_option(),
      {.name = "budget",
       .type = OptionType::text,
       .unit = "time",
       .default_text = "30s",
       .help = "The whole command ends within this time, with the best plan it has: 2s, 1m."},
      {.name = "evaluations",
       .type = OptionType::integer,
       .least = 1,
       .most = kMostEvaluations,
       .help = "Stop after looking at so many stages instead: the same answer every time. Then "
               "there is no time limit unless --budget is given, too."},
      {.name = "out",
       .type = OptionType::file,
       .help = "Write the plan to this JSON file; that of a profiled model is for `weir predict "
               "--plan`.",
       .in_recipe = false},
      {.name = "explain",
       .type = OptionType::flag,
       .help = "Also tell the way from a naive plan to this one, change by change.",
       .in_recipe = false}};
}

void append(std::vector<OptionSpec>& options, std::vector<OptionSpec> more) {
  for (OptionSpec& option : more) options.push_back(std::move(option));
}

}  // namespace

CommandSpec plan_spec() {
  CommandSpec spec = {
      .name = "plan",
      .summary = "Find the fastest parallel plan for a model.",
      .about =
          "Cuts a model into pipeline stages and chooses for each the GPUs, the tensor and data "
          "degrees, what is computed again, and the microbatch, so that an iteration is predicted "
          "to take least and every GPU's memory is enough. It says where the time goes, how far "
          "from the best possible the plan can be, and what would help. Predictions come from "
          "measurements of single operators. Ctrl-C prints the best plan so far. With "
          "--model-config or "
          "--dims nothing has to be measured: a transformer's plan, attention over long sequences "
          "included, comes from its dimensions and the type of GPU. With --overlap: how many "
          "thread "
          "blocks (CTAs) the collectives of a backward pass should use, so that it ends soonest.",
      .options = model_options(),
      .examples = {
          {"weir plan --model gpt --size 13B --nodes 4 --gpus-per-node 8 --report plan.html",
           "Which plan is fastest for my model?"},
          {"weir plan --db miniset --model gpt --size 1_3B --gpus-per-node 4 --memory 12000MiB "
           "--batch 512 --out plan.json",
           "A small machine; keep the plan."},
          {"weir plan --model t5 --size 3B --budget 5s --explain --timeline timeline.json",
           "How did you get there? And a time line for Perfetto."},
          {"weir plan --db miniset --model gpt --size 1_3B --gpus-per-node 4 --memory 12000MiB "
           "--batch 512 --cost-model published --recompute derived --json",
           "The published cost model and rule, for a program."},
          {"weir plan --overlap examples/overlap/vgg16.yaml --rate 200GB/s",
           "How many CTAs should my gradients' collectives use?"},
          {"weir plan --model-config examples/models/llama2-7b-gqa.json --sequence 131072 --batch "
           "32 "
           "--nodes 8",
           "A long sequence, without any measurement."},
          {"weir plan --model-config examples/models/llama2-7b.json --nodes 2 --export megatron",
           "The best plan that Megatron-LM can run, as its arguments."}}};
  append(spec.options,
         {with_default(node_count_option(), "1"),
          with_default(
              gpus_option(
                  "GPUs of each node: a power of two, any number with --model-config or --dims."),
              "8"),
          with_default(memory_option(), "28000MiB")});
  append(spec.options, search_options());
  append(spec.options, overlap_planning_options());
  append(spec.options, transformer_options());
  append(spec.options, output_options());
  return spec;
}

CommandSpec predict_spec() {
  CommandSpec spec = {
      .name = "predict",
      .summary = "Predict time and memory of a parallel plan.",
      .about =
          "Reads a plan and tells how long an iteration takes under it, where the time goes and "
          "how "
          "much memory each stage needs. The plan is weir's own (`weir plan --out`) or one of the "
          "Aceso artifact. What the file says about model, cluster and cost model holds unless an "
          "option says otherwise. Without a cluster: one node for up to 8 GPUs, otherwise nodes of "
          "8. With --gpu instead of a plan: an iteration on one GPU, kernel by kernel, of a known "
          "network, of a decoder by its config.json, or of any network that was traced (PyTorch "
          "eager, bf16 autocast, fused AdamW).",
      .options = {{.name = "plan",
                   .type = OptionType::file,
                   .help =
                       "The plan of a profiled model (`weir plan --model ... --out`), a JSON file. "
                       "Or give --gpu."}},
      .examples = {{"weir predict --plan plan.json", "How long would an iteration take?"},
                   {"weir predict --plan plan.json --cost-model published --json",
                    "By the published cost model, for a program."},
                   {"weir predict --model resnet50 --gpu h200 --batch 64",
                    "Where does the time of an iteration go on one GPU?"},
                   {"weir predict --model-config config.json --gpu h200 --batch 4 --sequence 2048",
                    "The same of a decoder that weir does not know by name."},
                   {"weir predict --ops ops.json --gpu h200",
                    "Of a network that tools/collect/trace_model.py traced."}}};
  append(spec.options, iteration_options());
  append(spec.options, model_options());
  append(spec.options, {node_count_option(), gpus_option(), memory_option(), cost_model_option(),
                        tp1_option(), overlap_option(), straddle_option()});
  append(spec.options, output_options());
  return spec;
}

}  // namespace weir::cli
