// SPDX-License-Identifier: Apache-2.0
//
// What is exported means what was planned: each target's text is read back as the target would understand it, and the plan
// that comes out is the one that went in. A plan that a target cannot say comes back as another one, so it must not be
// written.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "plan/transformer/transformer_space.h"
#include "predict/transformer/published_runs_testing.h"
#include "report/plan_export.h"

namespace weir::report {
namespace {

using predict::ParallelMode;
using predict::Recompute;
using predict::TransformerPlan;

// What a text says: the plan, and of the model what decides whether the target runs that model.
struct Meaning {
  TransformerPlan plan;
  bool is_gated = false;
  std::int64_t experts = 1;
};

class Words {
 public:
  // "--name value" lines, or "name = value" lines; sections in brackets do not count.
  Words(const std::string& text, const std::string& between) {
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find(between);
      found_[line.substr(0, at)] = at == std::string::npos ? "" : line.substr(at + between.size());
    }
  }
  bool has(const std::string& name) const { return found_.contains(name); }
  std::string text(const std::string& name) const { return has(name) ? found_.at(name) : ""; }
  int number(const std::string& name, int otherwise = 1) const {
    return has(name) ? std::stoi(found_.at(name)) : otherwise;
  }

 private:
  std::map<std::string, std::string> found_;
};

// Each refuses sequences that its ranks, two chunks each, do not divide.
//
// Megatron-LM: ranks without tensor, context and pipeline parallelism are replicas; rings have no windows; key/value heads
// are not copied; all stages have as many layers, but for the first and the last where they are told; the distributed
// optimizer keeps whole gradients.
bool are_megatron_stages(const Words& words, int stages) {
  int layers = words.number("--num-layers");
  int longest = 0;
  for (const char* end :
       {"--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers"}) {
    if (!words.has(end)) continue;
    const int told = words.number(end);
    if (told < 1 || words.has("--num-layers-per-virtual-pipeline-stage")) return false;
    longest = std::max(longest, told);
    layers -= told;
    --stages;
  }
  if (stages == 0) return layers == 0;
  // What the plan's time and memory are of: no end is longer than the others.
  return layers > 0 && layers % stages == 0 && longest <= layers / stages;
}

std::optional<Meaning> megatron_meaning(const std::string& text, const TransformerModel& model,
                                        int gpus) {
  const Words words{text, " "};
  Meaning said;
  TransformerPlan& plan = said.plan;
  const int tp = words.number("--tensor-model-parallel-size");
  const int cp = words.number("--context-parallel-size");
  plan.stages = words.number("--pipeline-model-parallel-size");
  if (tp > 1 && cp > 1) return std::nullopt;  // no such plan
  const int sequence = words.number("--seq-length");
  if (cp > 1 && sequence % (2 * cp) != 0) return std::nullopt;
  plan.mode = ParallelMode::isp;
  if (tp > 1) plan.mode = words.has("--sequence-parallel") ? ParallelMode::msp : ParallelMode::mtp;
  const std::string kind = words.text("--cp-comm-type");
  plan.grid.head = tp > 1 ? tp : kind == "a2a" ? cp : 1;
  plan.grid.context = kind == "p2p" ? cp : 1;
  if (kind == "a2a+p2p") {
    std::istringstream sizes{words.text("--hierarchical-context-parallel-sizes")};
    sizes >> plan.grid.head >> plan.grid.context;
    if (plan.grid.gpus() != cp) return std::nullopt;
  }
  plan.grid.window = plan.grid.context;
  if (model.kv_heads % plan.grid.head != 0) return std::nullopt;
  const int layers = words.number("--num-layers");
  if (!are_megatron_stages(words, plan.stages)) return std::nullopt;
  if (words.has("--num-layers-per-virtual-pipeline-stage"))
    plan.interleave =
        layers / plan.stages / words.number("--num-layers-per-virtual-pipeline-stage");
  plan.replicas = gpus / (tp * cp * plan.stages);
  plan.micro_batch = words.number("--micro-batch-size");
  plan.micro_count = words.number("--global-batch-size") / (plan.replicas * plan.micro_batch);
  const int whole = plan.same_weights();
  if (words.has("--use-megatron-fsdp")) {
    if (plan.stages > 1) return std::nullopt;
    plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = whole;
  } else if (words.has("--use-distributed-optimizer")) {
    plan.optimizer_shards = whole / words.number("--num-distributed-optimizer-instances");
  }
  const std::string again = words.text("--recompute-granularity");
  plan.recompute = again == "full"        ? Recompute::full
                   : again == "selective" ? Recompute::selective
                                          : Recompute::none;
  said.is_gated = words.has("--swiglu");
  return said;
}

// DeepSpeed: sequences are split by heads only; each stage of ZeRO shards over all ranks.
std::optional<Meaning> deepspeed_meaning(const std::string& text, const TransformerModel& model,
                                         int gpus) {
  const auto json = nlohmann::json::parse(text);
  Meaning said;
  TransformerPlan& plan = said.plan;
  plan.grid.head = json.value("sequence_parallel_size", 1);
  if (model.kv_heads % plan.grid.head != 0) return std::nullopt;
  plan.replicas = gpus / plan.grid.head;
  plan.micro_batch = json["train_micro_batch_size_per_gpu"];
  plan.micro_count = json["gradient_accumulation_steps"];
  if (json["train_batch_size"] != plan.batch()) return std::nullopt;
  const int stage = json["zero_optimization"]["stage"];
  plan.optimizer_shards = stage >= 1 ? gpus : 1;
  plan.gradient_shards = stage >= 2 ? gpus : 1;
  plan.weight_shards = stage >= 3 ? gpus : 1;
  plan.recompute = json.contains("activation_checkpointing") ? Recompute::full : Recompute::none;
  said.is_gated = model.is_gated;  // the model is the user's program
  said.experts = model.experts;
  return said;
}

// torchtitan: tensor parallelism splits the sequence between; context parallelism is a ring; FSDP shards over its degree
// and the ring, gradients with the optimizer state.
std::optional<Meaning> torchtitan_meaning(const std::string& text, const TransformerModel& model,
                                          int gpus) {
  const Words words{text, " = "};
  Meaning said;
  TransformerPlan& plan = said.plan;
  const int tp = words.number("tensor_parallel_degree");
  const int cp = words.number("context_parallel_degree");
  const int shard = words.number("data_parallel_shard_degree", 0);
  if (tp > 1 && cp > 1) return std::nullopt;
  const bool is_ring = words.text("context_parallel_rotate_method") == "\"alltoall\"";
  if (is_ring != (cp > 1)) return std::nullopt;
  if (words.number("seq_len") % (2 * tp * cp) != 0) return std::nullopt;
  plan.stages = words.number("pipeline_parallel_degree");
  plan.mode = tp > 1 ? ParallelMode::msp : ParallelMode::isp;
  plan.grid = {tp, cp, cp, true};
  plan.replicas = words.number("data_parallel_replicate_degree", 0) * shard;
  if (plan.gpus() != gpus || shard < 1) return std::nullopt;
  plan.optimizer_shards = plan.gradient_shards = shard * cp;
  plan.weight_shards =
      words.text("fsdp_reshard_after_forward") == "\"always\"" ? plan.optimizer_shards : 1;
  // Its DDP, where nothing is sharded, refuses anything beside it.
  if (plan.replicas > 1 && shard * cp == 1 && (tp > 1 || plan.stages > 1)) return std::nullopt;
  const int local = words.number("local_batch_size");
  const int global = words.number("global_batch_size");
  if (plan.stages == 1) {
    plan.micro_batch = local;
    plan.micro_count = global / (local * plan.replicas);
  } else {
    plan.micro_batch = words.number("pipeline_parallel_microbatch_size");
    plan.micro_count = local / plan.micro_batch;
    const int layers = static_cast<int>(model.layers);
    const bool is_interleaved = words.text("pipeline_parallel_schedule") == "\"Interleaved1F1B\"";
    if (!words.has("pipeline_parallel_layers_per_stage")) {
      // One stage for each rank; interleaved ones would be two, whatever was planned.
      if (is_interleaved) return std::nullopt;
    } else {
      const int length = words.number("pipeline_parallel_layers_per_stage");
      const int pieces = (layers + length - 1) / length;
      if (pieces % plan.stages != 0) return std::nullopt;
      plan.interleave = pieces / plan.stages;
    }
    if (is_interleaved != (plan.interleave > 1)) return std::nullopt;
    if (!is_interleaved && plan.micro_count < plan.stages) return std::nullopt;
  }
  const std::string again = words.text("mode");
  if (again != "\"full\"" && again != "\"none\"") return std::nullopt;  // its selective is another
  plan.recompute = again == "\"full\"" ? Recompute::full : Recompute::none;
  said.is_gated = model.is_gated;  // its own models
  return said;
}

int number_after(const std::string& text, const std::string& before) {
  std::smatch found;
  return std::regex_search(text, found, std::regex{before + "(\\d+)"}) ? std::stoi(found[1]) : -1;
}

// InternEvo: the whole sequence split is "tensor"; optimizer state is sharded zero1 times finer than weights, gradients as
// weights; weights are sharded under isp only; its MLP is gated.
std::optional<Meaning> internevo_meaning(const std::string& text, const TransformerModel&,
                                         int gpus) {
  Meaning said;
  TransformerPlan& plan = said.plan;
  const int split = number_after(text, "tensor=dict\\(size=");
  for (const ParallelMode mode :
       {ParallelMode::mtp, ParallelMode::msp, ParallelMode::fsp, ParallelMode::isp}) {
    if (text.find("mode=\"" + std::string{to_string(mode)} + "\"") != std::string::npos)
      plan.mode = mode;
  }
  const bool is_isp = plan.mode == ParallelMode::isp;
  plan.grid.head = split;
  if (text.find("enable=True") != std::string::npos) {
    if (!is_isp) return std::nullopt;
    plan.grid = {number_after(text, "head_size="), number_after(text, "context_size="),
                 number_after(text, "window_size="),
                 text.find("head_first=True") != std::string::npos};
    if (plan.grid.gpus() != split) return std::nullopt;
  }
  plan.stages = number_after(text, "pipeline=dict\\(size=");
  plan.interleave = number_after(text, "num_chunks=");
  plan.replicas = gpus / split / plan.stages;
  plan.micro_batch = number_after(text, "micro_bsz=");
  plan.micro_count = number_after(text, "micro_num=");
  plan.weight_shards = plan.gradient_shards = number_after(text, "weight=dict\\(size=");
  if (!is_isp && plan.weight_shards > 1) return std::nullopt;
  plan.optimizer_shards = plan.weight_shards * number_after(text, "zero1=dict\\(size=");
  const bool is_selective = text.find("selective_checkpoint = True") != std::string::npos;
  if (text.find("checkpoint=True") != std::string::npos)
    plan.recompute = is_selective && is_isp ? Recompute::plus : Recompute::full;
  said.is_gated = true;
  return said;
}

std::optional<Meaning> weir_meaning(const std::string& text, const TransformerModel& model, int) {
  const auto json = nlohmann::json::parse(text);
  const auto& degrees = json["plan"];
  Meaning said;
  TransformerPlan& plan = said.plan;
  for (const ParallelMode mode : {ParallelMode::mtp, ParallelMode::msp, ParallelMode::fsp})
    if (degrees["mode"] == to_string(mode)) plan.mode = mode;
  const int split = degrees["split"];
  plan.grid = {plan.mode == ParallelMode::isp ? degrees["hp"].get<int>() : split, degrees["cp"],
               degrees["window"], degrees["placement"] == "head-first"};
  if (plan.grid.gpus() != split) return std::nullopt;
  plan.replicas = degrees["dp"];
  plan.stages = degrees["pp"];
  plan.interleave = degrees["interleave"];
  plan.weight_shards = degrees["wp"];
  plan.gradient_shards = degrees["gradient_shards"];
  plan.optimizer_shards = degrees["optimizer_shards"];
  plan.micro_batch = degrees["micro_batch"];
  plan.micro_count = degrees["accumulate"];
  for (const Recompute again : {Recompute::selective, Recompute::full, Recompute::plus})
    if (degrees["recompute"] == to_string(again)) plan.recompute = again;
  said.is_gated = json["model"]["gated"];
  said.experts = json["model"]["experts"];
  EXPECT_EQ(json["model"]["layers"], model.layers);
  return said;
}

// Without a split every mode is the same, and so is every placement unless both degrees are above 1.
TransformerPlan without_choice_of_words(TransformerPlan plan) {
  if (plan.split() == 1) plan.mode = ParallelMode::isp;
  if (plan.grid.head == 1 || plan.grid.context == 1) plan.grid.is_head_first = true;
  plan.hides_weights = plan.has_memory_pool = true;  // only weir and InternEvo have words for them
  return plan;
}

constexpr int kPlansEach = 50;

struct Target {
  ExportTarget target;
  std::optional<Meaning> (*meaning)(const std::string&, const TransformerModel&, int gpus);
};
constexpr Target kReaders[] = {{ExportTarget::megatron, megatron_meaning},
                               {ExportTarget::deepspeed, deepspeed_meaning},
                               {ExportTarget::torchtitan, torchtitan_meaning},
                               {ExportTarget::internevo, internevo_meaning},
                               {ExportTarget::weir, weir_meaning}};

// Many small choices each time: a smaller failing case is not worth minutes of looking for it.
int below(int most) {
  return *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, most)));
}

template <class T>
const T& one_of(const std::vector<T>& from) {
  return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
}

TransformerModel any_model() {
  TransformerModel model = one_of(std::vector{
      predict::llama_like(8, 512, 8, 8, 1024, 1000), predict::llama_like(6, 512, 8, 8, 1024, 1000),
      predict::llama_like(8, 512, 8, 2, 1024, 1000), predict::gpt_like(8, 512, 8)});
  if (below(4) == 0) {
    model.experts = 4;
    model.experts_per_token = 2;
  }
  return model;
}

// A plan of the whole space that the planner searches, and beyond it.
TransformerPlan any_plan_for(const plan::TransformerRequest& request,
                             const std::vector<TransformerPlan>& structures) {
  TransformerPlan chosen = one_of(plan::sharded(request, one_of(structures)));
  if (below(4) == 0 && chosen.replicas % 4 == 0) {
    // Four stages instead, whether or not they are of one length.
    chosen.replicas /= 4;
    chosen.stages *= 4;
    chosen.micro_count *= 4;
    chosen.interleave = 1;
    chosen.weight_shards = chosen.gradient_shards = chosen.optimizer_shards = 1;
  }
  if (below(2) == 0) {
    int* const numbers[] = {&chosen.weight_shards,    &chosen.gradient_shards,
                            &chosen.optimizer_shards, &chosen.grid.window,
                            &chosen.interleave,       &chosen.stages};
    *numbers[below(6)] = one_of(std::vector{1, 2, 3, 4, 8});
  }
  return chosen;
}

RC_GTEST_PROP(PlanExportProperty, IsReadBackAsThePlanThatWasWritten, ()) {
  const TransformerModel model = any_model();
  const int gpus = 1 << below(5);
  const std::int64_t batch = 4 << below(4);
  plan::TransformerRequest request;
  const std::int64_t sequence = one_of(std::vector{1024, 1000, 1008, 1032, 777});
  request.task = predict::task_on("A100-80G", model, sequence, batch);
  request.task.runtime.has_flash = below(4) != 0;
  request.task.fabric.gpus_per_node = gpus;
  request.gpus = gpus;
  const auto structures = plan::structures(request);
  RC_PRE(!structures.empty());
  const predict::TransformerTask& task = request.task;
  for (int i = 0; i < kPlansEach; ++i) {
    const TransformerPlan plan = any_plan_for(request, structures);
    for (const Target& reader : kReaders) {
      const auto text = export_plan(reader.target, {task, plan, gpus, 1});
      if (!text) continue;
      RC_LOG() << *text;
      const auto said = reader.meaning(*text, model, gpus);
      RC_ASSERT(said.has_value());
      RC_ASSERT(without_choice_of_words(said->plan) == without_choice_of_words(plan));
      RC_ASSERT(said->is_gated == model.is_gated);
      RC_ASSERT(said->experts == model.experts);
    }
  }
}

// torchrun starts as many processes as the plan has GPUs.
RC_GTEST_PROP(PlanExportProperty, StartsAsManyProcessesAsThePlanHasGpus, ()) {
  const int nodes = *rc::gen::inRange(1, 5);
  const int gpus_per_node = 1 << below(4);
  TransformerPlan plan;
  plan.replicas = nodes * gpus_per_node;
  const auto task = predict::task_on("A100-80G", predict::llama_like(8, 512, 8, 8, 1024, 1000),
                                     1024, plan.batch());
  const auto text = export_plan(ExportTarget::torchrun, {task, plan, nodes, gpus_per_node});
  RC_ASSERT(text.has_value());
  RC_ASSERT(number_after(*text, "--nnodes ") * number_after(*text, "--nproc_per_node ") ==
            plan.gpus());
}

}  // namespace
}  // namespace weir::report
