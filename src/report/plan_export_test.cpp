// SPDX-License-Identifier: Apache-2.0
#include "report/plan_export.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "plan/transformer/transformer_search.h"
#include "predict/transformer/published_runs_testing.h"

namespace weir::report {
namespace {

using predict::ParallelMode;
using predict::Recompute;
using predict::TransformerPlan;
using testing::HasSubstr;
using testing::Not;

constexpr int kTargets = 6;

// So that most rules hold, and those that are left are tried.
void make_likely(TransformerPlan& plan) {
  const bool is_isp = plan.mode == ParallelMode::isp;
  plan.grid.context = is_isp ? plan.grid.context : 1;
  plan.grid.window = plan.grid.context;
  plan.grid.is_head_first = true;
  plan.interleave = 1;
  const auto finer_than = [&](int coarse) {
    return *rc::gen::elementOf(std::vector{coarse, plan.same_weights()});
  };
  plan.weight_shards = finer_than(1);
  plan.gradient_shards = finer_than(plan.weight_shards);
  plan.optimizer_shards = finer_than(plan.gradient_shards);
}

// Any numbers at all, rules or not.
TransformerPlan any_numbers() {
  const auto degree = [] { return *rc::gen::elementOf(std::vector{1, 1, 2, 2, 3, 4, 8, 16}); };
  TransformerPlan plan;
  plan.mode = *rc::gen::elementOf(
      std::vector{ParallelMode::isp, ParallelMode::msp, ParallelMode::mtp, ParallelMode::fsp});
  plan.grid = {degree(), degree(), degree(), *rc::gen::arbitrary<bool>()};
  plan.replicas = degree();
  plan.stages = degree();
  plan.interleave = degree();
  plan.weight_shards = degree();
  plan.gradient_shards = degree();
  plan.optimizer_shards = degree();
  plan.micro_batch = degree();
  plan.micro_count = degree();
  plan.recompute = *rc::gen::elementOf(
      std::vector{Recompute::none, Recompute::selective, Recompute::full, Recompute::plus});
  if (*rc::gen::arbitrary<bool>()) make_likely(plan);
  return plan;
}

// Also such as only few degrees divide.
std::int64_t any_sequence() {
  return *rc::gen::elementOf(
      std::vector<std::int64_t>{1 << 14, 1000, 1002, 1004, 12288, 4104, 777});
}

std::map<std::string, std::string> arguments_of(const std::string& text) {
  std::map<std::string, std::string> found;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    found[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
  }
  return found;
}

int number_in(const std::map<std::string, std::string>& found, const char* name, int otherwise) {
  const auto at = found.find(name);
  return at == found.end() ? otherwise : std::stoi(at->second);
}

// What Megatron-LM asserts of its arguments, for a model of 32 layers and heads and 8 key/value heads.
void check_megatron_arguments(const std::string& text, int gpus, std::int64_t sequence) {
  const auto found = arguments_of(text);
  const int tp = number_in(found, "--tensor-model-parallel-size", 1);
  const int pp = number_in(found, "--pipeline-model-parallel-size", 1);
  const int cp = number_in(found, "--context-parallel-size", 1);
  RC_ASSERT(gpus % (tp * pp * cp) == 0);
  const int dp = gpus / (tp * pp * cp);
  RC_ASSERT(number_in(found, "--global-batch-size", 0) %
                (dp * number_in(found, "--micro-batch-size", 0)) ==
            0);
  RC_ASSERT(32 % tp == 0 && 8 % tp == 0);
  const bool has_first = found.contains("--decoder-first-pipeline-num-layers");
  const bool has_last = found.contains("--decoder-last-pipeline-num-layers");
  const int between = 32 - number_in(found, "--decoder-first-pipeline-num-layers", 0) -
                      number_in(found, "--decoder-last-pipeline-num-layers", 0);
  const int stages = pp - (has_first ? 1 : 0) - (has_last ? 1 : 0);
  RC_ASSERT((stages == 0 ? between == 0 : between > 0 && between % stages == 0));
  RC_ASSERT(cp == 1 || sequence % (2 * cp) == 0);
}

constexpr int kPlansATime = 50;  // most of them are refused

// A wrong combination is never written, whatever the target: the rules hold in what is written, too.
RC_GTEST_PROP(PlanExportProperty, WritesOnlyWhatIsPossibleAndCanBeSaid, ()) {
  for (int tried = 0; tried < kPlansATime; ++tried) {
    const TransformerPlan plan = any_numbers();
    const std::int64_t sequence = any_sequence();
    const predict::TransformerTask task =
        predict::task_on("A100-80G", predict::llama2_7b(8), sequence, plan.batch());
    const bool is_right =
        predict::broken_rules(task.model, sequence, plan.gpus(), plan.batch(), plan).empty();
    for (int i = 0; i < kTargets; ++i) {
      const auto target = static_cast<ExportTarget>(i);
      const auto text = export_plan(target, {task, plan, plan.gpus(), 1});
      RC_ASSERT(text.has_value() == (is_right && beyond(target, task, plan).empty()));
      if (!text) RC_ASSERT(text.error().code == ErrorCode::bad_input);
      if (text && target == ExportTarget::megatron)
        check_megatron_arguments(*text, plan.gpus(), sequence);
    }
  }
}

// The same when the GPUs or the batch are not those that the plan is for.
RC_GTEST_PROP(PlanExportProperty, RefusesPlansForOtherGpusOrBatches, ()) {
  const TransformerPlan plan = any_numbers();
  predict::TransformerTask task =
      predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, plan.batch() + 1);
  const auto target = static_cast<ExportTarget>(*rc::gen::inRange(0, kTargets));
  RC_ASSERT(!export_plan(target, {task, plan, plan.gpus(), 1}));
  task.batch = plan.batch();
  RC_ASSERT(!export_plan(target, {task, plan, plan.gpus() + 1, 1}));
}

// A search for a target gives a plan that the target can say.
TEST(PlanExport, IsPossibleForEveryTargetThatWasSearchedFor) {
  for (const std::string& name : export_targets()) {
    const ExportTarget target = export_target(name);
    plan::TransformerRequest request;
    request.task = predict::task_on("H100-80G", predict::llama2_7b(8), 1 << 16, 16);
    request.gpus = 32;
    request.memory_bytes = 80.0 * 1024 * 1024 * 1024;
    request.can_run = [&](const TransformerPlan& plan) {
      return beyond(target, request.task, plan).empty();
    };
    const auto answer = plan::search_transformer(request);
    ASSERT_FALSE(answer.best.empty()) << name;
    const auto text = export_plan(target, {request.task, answer.best[0].plan, 4, 8});
    EXPECT_TRUE(text) << name;
  }
}

TransformerPlan ulysses_and_ring() {
  TransformerPlan plan;
  plan.grid = {4, 2, 2};
  plan.replicas = 2;
  plan.optimizer_shards = 16;
  return plan;
}

TEST(PlanExport, OnlyInternEvoAndWeirHaveAMemoryPool) {
  predict::TransformerTask task;
  task.model = predict::llama_like(4, 1024, 16, 16, 2816, 32'000);
  task.sequence = 1024;
  predict::TransformerPlan plan;
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = plan.replicas = 8;
  for (const bool has_pool : {true, false}) {
    for (const bool hides : {true, false}) {
      plan.has_memory_pool = has_pool;
      plan.hides_weights = hides;
      const bool is_special = has_pool || !hides;
      EXPECT_EQ(beyond(ExportTarget::torchrun, task, plan).empty(), !is_special);
      EXPECT_EQ(beyond(ExportTarget::deepspeed, task, plan).empty(), !is_special);
      EXPECT_TRUE(beyond(ExportTarget::internevo, task, plan).empty());
      EXPECT_TRUE(beyond(ExportTarget::weir, task, plan).empty());
    }
  }
}

TEST(PlanExport, SaysTwoLevelsOfContextParallelismToMegatron) {
  const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, 2);
  const auto text = export_plan(ExportTarget::megatron, {task, ulysses_and_ring(), 2, 8});
  ASSERT_TRUE(text);
  for (const char* part : {"--context-parallel-size 8\n", "--cp-comm-type a2a+p2p\n",
                           "--hierarchical-context-parallel-sizes 4 2\n",
                           "--use-distributed-optimizer\n", "--num-query-groups 8\n"}) {
    EXPECT_THAT(*text, HasSubstr(part));
  }
  EXPECT_THAT(*text, Not(HasSubstr("--recompute")));
}

std::string megatron_of(const TransformerPlan& plan, std::optional<LayerStyle> style = {},
                        const TransformerModel& model = predict::llama2_7b(8)) {
  const auto task = predict::task_on("A100-80G", model, 1 << 14, plan.batch());
  const auto text = export_plan(ExportTarget::megatron, {task, plan, plan.gpus(), 1, style});
  EXPECT_TRUE(text) << to_string(text.error().details);
  return text.value_or("");
}

TEST(PlanExport, TellsMegatronHowLayersAreMade) {
  const std::string llama = megatron_of({});
  for (const char* part :
       {"--normalization RMSNorm\n", "--position-embedding-type rope\n", "--disable-bias-linear\n",
        "--swiglu\n", "--untie-embeddings-and-output-weights\n"})
    EXPECT_THAT(llama, HasSubstr(part));
  EXPECT_THAT(llama, Not(HasSubstr("--rotary-base"))) << "nobody said";
  LayerStyle style = llama_style();
  style.rotary_base = 1'000'000;
  style.has_qkv_biases = true;
  EXPECT_THAT(megatron_of({}, style),
              testing::AllOf(HasSubstr("--rotary-base 1000000\n"), HasSubstr("--add-qkv-bias\n")));
  const std::string gpt = megatron_of({}, std::nullopt, predict::gpt_like(8, 512, 8));
  for (const char* part : {"--normalization", "--position-embedding-type", "--disable-bias-linear"})
    EXPECT_THAT(gpt, Not(HasSubstr(part)));
  style = gpt_style();
  style.has_rotary = true;
  style.rotary_share = 0.25;
  EXPECT_THAT(megatron_of({}, style), HasSubstr("--rotary-percent 0.25\n"));
}

TEST(PlanExport, TellsMegatronDropoutNormAndScaledPositions) {
  EXPECT_THAT(
      megatron_of({}),
      testing::AllOf(HasSubstr("--attention-dropout 0\n"), HasSubstr("--hidden-dropout 0\n"),
                     HasSubstr("--vocab-size 32000\n"), Not(HasSubstr("--norm-epsilon"))));
  LayerStyle style = llama_style();
  style.norm_epsilon = 1e-5;
  style.rotary_scaling = RotaryScaling::llama3;
  style.rotary_factor = 8;
  EXPECT_THAT(megatron_of({}, style),
              testing::AllOf(HasSubstr("--norm-epsilon 1e-05\n"), HasSubstr("--use-rope-scaling\n"),
                             HasSubstr("--rope-scaling-factor 8\n")));
  style.rotary_scaling = RotaryScaling::linear;
  EXPECT_THAT(megatron_of({}, style), HasSubstr("--rotary-seq-len-interpolation-factor 8\n"));
  style = gpt_style();
  style.activation = Activation::gelu;
  EXPECT_THAT(
      megatron_of({}, style, predict::gpt_like(8, 512, 8)),
      testing::AllOf(HasSubstr("--attention-dropout 0.1\n"), HasSubstr("--no-bias-gelu-fusion\n")));
}

// Another network than the config's is never written.
TEST(PlanExport, RefusesANetworkThatTheTrainerDoesNotBuild) {
  const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, 1);
  const auto refused = [&](ExportTarget target, const LayerStyle& style) {
    const auto text = export_plan(target, {task, {}, 1, 1, style});
    return text ? "" : to_string(text.error().details);
  };
  LayerStyle style = llama_style();
  EXPECT_EQ(refused(ExportTarget::megatron, style), "");
  style.rotary_scaling = RotaryScaling::other;
  EXPECT_THAT(refused(ExportTarget::megatron, style), HasSubstr("rope_scaling"));
  EXPECT_EQ(refused(ExportTarget::deepspeed, style), "") << "its model is made elsewhere";
  style = llama_style();
  style.has_parallel_residual = true;
  EXPECT_THAT(refused(ExportTarget::megatron, style), HasSubstr("use_parallel_residual"));
  style = llama_style();
  style.has_other_biases = true;
  EXPECT_THAT(refused(ExportTarget::megatron, style), HasSubstr("attention_bias"));
  style = llama_style();
  style.activation = Activation::gelu;
  EXPECT_THAT(refused(ExportTarget::megatron, style), HasSubstr("hidden_act"));
  EXPECT_THAT(refused(ExportTarget::internevo, style), HasSubstr("hidden_act"));
  style = llama_style();
  style.embedding_dropout = 0.1;
  EXPECT_THAT(refused(ExportTarget::megatron, style), HasSubstr("embd_pdrop"));
}

// What the plan counted: 2 bytes a gradient, hidden or not.
TEST(PlanExport, TellsMegatronHowGradientsAreReduced) {
  TransformerPlan plan;
  EXPECT_THAT(megatron_of(plan), testing::AllOf(HasSubstr("--grad-reduce-in-bf16\n"),
                                                Not(HasSubstr("--overlap-grad-reduce"))));
  plan.replicas = 2;
  auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, 2);
  const auto text = [&] {
    return export_plan(ExportTarget::megatron, {task, plan, 2, 1}).value_or("");
  };
  EXPECT_THAT(text(), HasSubstr("--overlap-grad-reduce\n"));
  task.runtime.hides_gradients = false;
  task.runtime.gradient_bytes = 4;
  EXPECT_THAT(text(), testing::AllOf(Not(HasSubstr("--overlap-grad-reduce")),
                                     Not(HasSubstr("--grad-reduce-in-bf16"))));
}

TEST(PlanExport, GivesMegatronsFsdpItsCheckpointFormat) {
  TransformerPlan plan;
  plan.replicas = 8;
  EXPECT_THAT(megatron_of(plan), Not(HasSubstr("--ckpt-format")));
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 8;
  EXPECT_THAT(megatron_of(plan), testing::AllOf(HasSubstr("--use-megatron-fsdp\n"),
                                                HasSubstr("--ckpt-format fsdp_dtensor\n")));
}

TEST(PlanExport, NotesWhatHasToBeDoneBesideTheText) {
  const auto notes = [](ExportTarget target, const TransformerPlan& plan) {
    const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, plan.batch());
    const auto all = export_notes(target, {task, plan, plan.gpus(), 1, llama_style()});
    return all.empty() ? std::string{} : all.front();
  };
  TransformerPlan plan;
  EXPECT_THAT(notes(ExportTarget::megatron, plan),
              HasSubstr("the plan counts 32000 rows, which Megatron-LM pads to 32000"));
  EXPECT_EQ(notes(ExportTarget::deepspeed, plan), "");
  plan.grid.head = 8;
  EXPECT_THAT(notes(ExportTarget::megatron, plan), HasSubstr("set CUDA_DEVICE_MAX_CONNECTIONS=1"));
  plan.mode = ParallelMode::msp;
  EXPECT_THAT(notes(ExportTarget::megatron, plan), HasSubstr("set CUDA_DEVICE_MAX_CONNECTIONS=1"));
  plan.replicas = plan.weight_shards = 2;
  EXPECT_THAT(notes(ExportTarget::megatron, plan),
              HasSubstr("leave CUDA_DEVICE_MAX_CONNECTIONS unset"));
  plan.recompute = Recompute::full;
  EXPECT_THAT(notes(ExportTarget::deepspeed, plan),
              HasSubstr("model.gradient_checkpointing_enable()"));
}

TEST(PlanExport, NotesWhatTheTextLeavesToItsReader) {
  TransformerPlan plan;
  const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, 1);
  const auto notes = [&](ExportTarget target) {
    return export_notes(target, {task, plan, plan.gpus(), 1, llama_style()});
  };
  EXPECT_THAT(notes(ExportTarget::deepspeed), testing::IsEmpty());
  EXPECT_THAT(
      notes(ExportTarget::torchtitan),
      testing::ElementsAre(HasSubstr("one with 32 layers, width 4096, 32 heads, 8 key/value heads"),
                           HasSubstr("reduces gradients in float32"),
                           HasSubstr("under autocast, with float32 weights")));
  EXPECT_THAT(notes(ExportTarget::internevo), testing::ElementsAre(HasSubstr("model_type")));
  plan.grid.head = 8;
  EXPECT_THAT(notes(ExportTarget::deepspeed),
              testing::ElementsAre(HasSubstr("splits no sequence: the plan counts on 8 GPUs")));
}

// Its default gathers all keys and values, and its training does not read the key.
TEST(PlanExport, TellsTorchtitanToPassKeysAndValuesOn) {
  TransformerPlan plan;
  const auto exported = [&] {
    const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, plan.batch());
    const ExportedPlan whole{task, plan, plan.gpus(), 1, llama_style()};
    return std::pair{export_plan(ExportTarget::torchtitan, whole).value_or(""),
                     export_notes(ExportTarget::torchtitan, whole)};
  };
  const auto has_call = testing::Contains(HasSubstr("Call set_rotate_method(\"alltoall\")"));
  EXPECT_THAT(exported().first, Not(HasSubstr("rotate_method")));
  EXPECT_THAT(exported().second, Not(has_call));
  plan.grid = {1, 4, 4, true};
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 4;
  EXPECT_THAT(exported().first, HasSubstr("context_parallel_degree = 4\n"
                                          "context_parallel_rotate_method = \"alltoall\"\n"));
  EXPECT_THAT(exported().second, has_call);
}

TEST(PlanExport, NotesWhatInternEvosLastReleaseDoesNotHave) {
  TransformerPlan plan;
  const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, 1);
  const auto last_note = [&] {
    return export_notes(ExportTarget::internevo, {task, plan, plan.gpus(), 1, llama_style()})
        .back();
  };
  plan.grid.head = 8;
  EXPECT_THAT(last_note(), Not(HasSubstr("0.5.2")));
  plan.grid.head = 16;
  EXPECT_THAT(last_note(), HasSubstr("has no sequence parallelism beyond the key/value heads"));
  plan.grid = {4, 2, 2};
  plan.recompute = Recompute::plus;
  EXPECT_THAT(last_note(), HasSubstr("0.5.2 of PyPI has no sequence_2D, no selective_checkpoint"));
}

TEST(PlanExport, NotesAStyleThatNobodySaid) {
  const TransformerPlan plan;
  const auto notes = [&](const TransformerModel& model, std::optional<LayerStyle> style) {
    const auto task = predict::task_on("A100-80G", model, 1 << 14, 1);
    return export_notes(ExportTarget::megatron, {task, plan, 1, 1, style});
  };
  EXPECT_THAT(notes(predict::llama2_7b(), {}), testing::Contains(HasSubstr("as in LLaMA")));
  EXPECT_THAT(notes(predict::gpt_like(8, 512, 8), {}), testing::Contains(HasSubstr("as in GPT-2")));
  EXPECT_THAT(notes(predict::llama2_7b(), llama_style()),
              testing::Not(testing::Contains(HasSubstr("as in"))));
}

TEST(PlanExport, NamesWhatATargetHasNoWordFor) {
  const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, 2);
  const auto text = export_plan(ExportTarget::deepspeed, {task, ulysses_and_ring(), 2, 8});
  ASSERT_FALSE(text);
  EXPECT_EQ(to_string(text.error().details),
            "--export is \"deepspeed\", expected another target: it has no word for a ring\n");
}

TEST(PlanExport, NamesAMissingWordOnce) {
  const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, 8);
  TransformerPlan plan;
  plan.replicas = 8;
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 4;
  EXPECT_THAT(beyond(ExportTarget::deepspeed, task, plan),
              testing::ElementsAre("shards over some of the ranks"));
}

std::string exported_on(const char* gpu, ExportTarget target, const TransformerPlan& plan) {
  const auto task = predict::task_on(gpu, predict::llama2_7b(8), 1 << 14, plan.batch());
  const auto text = export_plan(target, {task, plan, plan.gpus(), 1, llama_style()});
  return text ? *text : to_string(text.error().details);
}

// Volta has no bfloat16 and no flash attention.
TEST(PlanExport, TrainsInFloat16WhereTheGpuHasNothingElse) {
  const TransformerPlan plan;
  for (const char* gpu : {"V100-16G", "V100-32G"}) {
    EXPECT_THAT(exported_on(gpu, ExportTarget::megatron, plan),
                testing::AllOf(HasSubstr("--fp16\n"), Not(HasSubstr("bf16")),
                               Not(HasSubstr("--use-flash-attn"))));
    EXPECT_THAT(
        exported_on(gpu, ExportTarget::internevo, plan),
        testing::AllOf(HasSubstr("dtype=\"torch.float16\""), HasSubstr("use_flash_attn=False"),
                       HasSubstr("use_packed_dataset=False"), Not(HasSubstr("bfloat16"))));
    EXPECT_THAT(exported_on(gpu, ExportTarget::torchtitan, plan),
                HasSubstr(std::string{"training in float16, and "} + gpu + " has no bfloat16"));
  }
  EXPECT_THAT(exported_on("A10G", ExportTarget::megatron, plan),
              testing::AllOf(HasSubstr("--bf16\n"), HasSubstr("--use-flash-attn\n"),
                             Not(HasSubstr("--fp16"))));
  EXPECT_THAT(exported_on("A10G", ExportTarget::internevo, plan),
              testing::AllOf(HasSubstr("torch.bfloat16"), Not(HasSubstr("use_flash_attn"))));
}

TEST(PlanExport, TellsDeepSpeedToTrainInFloat16) {
  TransformerPlan plan;
  plan.grid.head = 8;
  const auto read = [&](const char* gpu) {
    return nlohmann::json::parse(exported_on(gpu, ExportTarget::deepspeed, plan));
  };
  const auto on_volta = read("V100-32G");
  EXPECT_EQ(on_volta["fp16"]["enabled"], true);
  EXPECT_FALSE(on_volta.contains("bf16"));
  EXPECT_EQ(on_volta["seq_parallel_communication_data_type"], "fp16");
  const auto on_ampere = read("A100-80G");
  EXPECT_EQ(on_ampere["bf16"]["enabled"], true);
  EXPECT_FALSE(on_ampere.contains("fp16"));
  EXPECT_EQ(on_ampere["seq_parallel_communication_data_type"], "bf16");
}

// Float32 weights that are cast for each product, which is not training in bfloat16.
TEST(PlanExport, TellsDeepSpeedToAutocast) {
  TransformerPlan plan;
  plan.replicas = 8;
  auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, plan.batch(),
                               predict::autocast_runtime());
  const auto read = [&] {
    const auto text = export_plan(ExportTarget::deepspeed, {task, plan, 1, 8, llama_style()});
    EXPECT_TRUE(text) << to_string(text.error().details);
    return nlohmann::json::parse(text.value_or("{}"));
  };
  EXPECT_EQ(read()["torch_autocast"], nlohmann::json::parse(R"({"enabled": true,
      "dtype": "bfloat16"})"));
  EXPECT_FALSE(read().contains("bf16") || read().contains("fp16"));
  plan.optimizer_shards = 8;
  EXPECT_EQ(read()["torch_autocast"]["lower_precision_safe_modules"], nlohmann::json::array())
      << "gradients of four bytes, as planned";
  plan.weight_shards = plan.gradient_shards = 8;
  EXPECT_FALSE(read()["torch_autocast"].contains("lower_precision_safe_modules"));
  EXPECT_THAT(export_notes(ExportTarget::deepspeed, {task, plan, 1, 8, llama_style()}),
              testing::ElementsAre(HasSubstr("half the bytes that were planned")));
  task.gpu = *predict::find_gpu_type("V100-32G");
  EXPECT_EQ(read()["torch_autocast"]["dtype"], "float16");
}

TEST(PlanExport, RefusesAutocastWhereTheTrainerHasNone) {
  TransformerPlan plan;
  plan.replicas = 8;
  const auto exported = [&](ExportTarget target, const predict::RuntimeTraits& runtime) {
    const auto task =
        predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, plan.batch(), runtime);
    const auto text = export_plan(target, {task, plan, 1, 8, llama_style()});
    return text ? "" : to_string(text.error().details);
  };
  for (const ExportTarget target : {ExportTarget::megatron, ExportTarget::internevo}) {
    EXPECT_EQ(exported(target, predict::modern_runtime()), "");
    EXPECT_THAT(exported(target, predict::autocast_runtime()),
                HasSubstr("it has no word for autocast"));
  }
  EXPECT_EQ(exported(ExportTarget::torchtitan, predict::autocast_runtime()), "") << "DDP";
  plan.optimizer_shards = plan.gradient_shards = 8;
  EXPECT_EQ(exported(ExportTarget::torchtitan, predict::modern_runtime()), "");
  EXPECT_THAT(exported(ExportTarget::torchtitan, predict::autocast_runtime()),
              HasSubstr("it has no word for autocast (--runtime autocast) beside shards"));
}

TEST(PlanExport, RefusesSplitAttentionThatWantsFlashAttention) {
  TransformerPlan plan;
  plan.grid.head = 8;
  EXPECT_THAT(exported_on("V100-32G", ExportTarget::megatron, plan),
              HasSubstr("context parallelism on V100-32G: it wants flash attention"));
  EXPECT_THAT(exported_on("V100-32G", ExportTarget::internevo, plan),
              HasSubstr("split sequences on V100-32G: it wants flash attention"));
  plan.mode = ParallelMode::mtp;
  EXPECT_THAT(exported_on("V100-32G", ExportTarget::megatron, plan), HasSubstr("--fp16\n"));
  EXPECT_THAT(exported_on("V100-32G", ExportTarget::internevo, plan), HasSubstr("torch.float16"));
}

TEST(PlanExport, NotesWhyItIsFloat16AndWhatThePlanCountsOn) {
  const TransformerPlan plan;
  auto task = predict::task_on("V100-32G", predict::llama2_7b(8), 1 << 12, 1);
  const auto notes = [&](ExportTarget target) {
    return export_notes(target, {task, plan, 1, 1, llama_style()});
  };
  for (const ExportTarget target :
       {ExportTarget::megatron, ExportTarget::deepspeed, ExportTarget::internevo}) {
    task.runtime.has_flash = true;
    EXPECT_THAT(notes(target), testing::Contains(HasSubstr("V100-32G has neither")));
    EXPECT_THAT(notes(target), testing::Contains(HasSubstr("xformers")));
    task.runtime.has_flash = false;
    EXPECT_THAT(notes(target), testing::Contains(HasSubstr("V100-32G has neither")));
    EXPECT_THAT(notes(target), Not(testing::Contains(HasSubstr("xformers"))));
  }
}

TEST(PlanExport, TellsMegatronToKeepGradientsInFloat32BesideFloat16) {
  const TransformerPlan plan;
  auto task = predict::task_on("V100-32G", predict::llama2_7b(8), 1 << 12, 1);
  const auto text = [&] {
    return export_plan(ExportTarget::megatron, {task, plan, 1, 1}).value_or("");
  };
  EXPECT_THAT(text(), Not(HasSubstr("--accumulate-allreduce-grads-in-fp32")));
  task.runtime.gradient_bytes = 4;
  EXPECT_THAT(text(), HasSubstr("--accumulate-allreduce-grads-in-fp32\n"));
}

// Where nothing is sharded it takes DDP.
TEST(PlanExport, RefusesTorchtitansDdpBesideAnythingElse) {
  TransformerPlan plan;
  plan.replicas = 3;
  const auto missing = [&] {
    const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, plan.batch());
    return beyond(ExportTarget::torchtitan, task, plan);
  };
  EXPECT_THAT(missing(), testing::IsEmpty()) << "DDP alone";
  plan.mode = ParallelMode::msp;
  plan.grid.head = 2;
  EXPECT_THAT(missing(), testing::ElementsAre(HasSubstr("it wants shards, such as wp=3")));
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 3;
  EXPECT_THAT(missing(), testing::IsEmpty()) << "FSDP";
  plan = {};
  plan.stages = plan.micro_count = 2;
  EXPECT_THAT(missing(), testing::ElementsAre(HasSubstr("it trains in float32 then")))
      << "no replicas to shard over";
  plan.replicas = 4;
  EXPECT_THAT(missing(), testing::ElementsAre(HasSubstr("it wants shards, such as wp=2")));
}

// Its loop over microbatches never tells FSDP or DDP to wait.
TEST(PlanExport, RefusesTorchtitanAccumulationBesideCopiesOfShards) {
  TransformerPlan plan;
  plan.replicas = 8;
  plan.micro_count = 4;
  const auto missing = [&] {
    const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, plan.batch());
    return beyond(ExportTarget::torchtitan, task, plan);
  };
  EXPECT_THAT(missing(), testing::ElementsAre(HasSubstr("8 copies of the shards")));
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 2;
  EXPECT_THAT(missing(), testing::ElementsAre(HasSubstr("wants zp=8, or accumulate=1")));
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 8;
  EXPECT_THAT(missing(), testing::IsEmpty()) << "no copies";
  plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 2;
  plan.micro_count = 1;
  EXPECT_THAT(missing(), testing::IsEmpty()) << "no accumulation";
  plan.micro_count = plan.stages = 4;
  EXPECT_THAT(missing(), testing::IsEmpty()) << "a pipeline waits for the last one";
}

TEST(PlanExport, TellsMegatronWhatItsFirstAndLastStageHave) {
  TransformerPlan plan;
  plan.micro_count = 16;
  const auto arguments = [&](std::int64_t layers, int stages) {
    plan.stages = stages;
    const TransformerModel model = predict::llama_like(layers, 4096, 32, 8, 11008, 32000);
    const auto task = predict::task_on("A100-80G", model, 4096, plan.batch());
    const auto text = export_plan(ExportTarget::megatron, {task, plan, stages, 1, llama_style()});
    return text ? arguments_of(*text) : std::map<std::string, std::string>{};
  };
  const auto ends = [&](std::int64_t layers, int stages) {
    const auto found = arguments(layers, stages);
    return std::pair{number_in(found, "--decoder-first-pipeline-num-layers", 0),
                     number_in(found, "--decoder-last-pipeline-num-layers", 0)};
  };
  EXPECT_EQ(ends(126, 16), (std::pair{7, 7}));
  EXPECT_EQ(ends(61, 8), (std::pair{7, 6}));
  EXPECT_EQ(ends(31, 2), (std::pair{0, 15})) << "the first is as long as the longest";
  EXPECT_EQ(ends(32, 16), (std::pair{0, 0}));
  EXPECT_TRUE(arguments(18, 16).empty()) << "two stages cannot have 14 layers less";
}

TEST(PlanExport, TellsTorchtitanNoLengthOfStagesThatAreNotAlike) {
  TransformerPlan plan;
  plan.micro_count = plan.stages = 16;
  plan.replicas = plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 2;
  const auto text = [&](std::int64_t layers) {
    const TransformerModel model = predict::llama_like(layers, 4096, 32, 8, 11008, 32000);
    const auto task = predict::task_on("A100-80G", model, 4096, plan.batch());
    return export_plan(ExportTarget::torchtitan, {task, plan, 32, 1, llama_style()}).value_or("");
  };
  EXPECT_THAT(text(32), HasSubstr("pipeline_parallel_layers_per_stage = 2"));
  EXPECT_THAT(text(18), testing::AllOf(HasSubstr("pipeline_parallel_degree = 16"),
                                       Not(HasSubstr("pipeline_parallel_layers_per_stage"))));
}

TEST(PlanExport, NotesThatTorchtitanGathersForEveryMicrobatch) {
  TransformerPlan plan;
  plan.replicas = plan.gradient_shards = plan.optimizer_shards = 8;
  const auto notes = [&] {
    const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, plan.batch());
    return export_notes(ExportTarget::torchtitan, {task, plan, 1, 8, llama_style()});
  };
  const auto gathers = testing::Contains(HasSubstr("gathers weights for every microbatch"));
  EXPECT_THAT(notes(), Not(gathers));
  plan.micro_count = 2;
  EXPECT_THAT(notes(), gathers);
  plan.stages = 2;
  EXPECT_THAT(notes(), Not(gathers));
}

TEST(PlanExport, TellsTorchtitanOfOneMatrixForBothEnds) {
  TransformerPlan plan;
  plan.replicas = plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = 2;
  TransformerModel model = predict::llama2_7b(8);
  model.has_tied_embeddings = true;
  const auto task = [&] { return predict::task_on("A100-80G", model, 1 << 14, plan.batch()); };
  EXPECT_THAT(beyond(ExportTarget::torchtitan, task(), plan), testing::IsEmpty());
  const auto alone = task();
  EXPECT_THAT(export_notes(ExportTarget::torchtitan, {alone, plan, 1, 2, llama_style()}).front(),
              HasSubstr("embedding and head one matrix"));
  plan.stages = plan.micro_count = 2;
  EXPECT_THAT(beyond(ExportTarget::torchtitan, task(), plan),
              testing::ElementsAre(HasSubstr("embedding and head are one matrix")));
}

// Dimensions that InternEvo makes of others.
TEST(PlanExport, RefusesWidthsThatInternEvoDoesNotBuild) {
  const TransformerPlan plan;
  const auto missing = [&](const TransformerModel& model) {
    const auto task = predict::task_on("A100-80G", model, 4096, 1);
    return beyond(ExportTarget::internevo, task, plan);
  };
  EXPECT_THAT(missing(predict::llama2_7b()), testing::IsEmpty());
  TransformerModel qwen3 = predict::llama_like(36, 2560, 32, 8, 9728, 151'936);
  EXPECT_THAT(missing(qwen3), testing::IsEmpty());
  qwen3.head_dim = 128;
  EXPECT_THAT(missing(qwen3),
              testing::ElementsAre("heads of 128 (head_dim): 32 of them are not the width 2560"));
  const TransformerModel qwen2 = predict::llama_like(80, 8192, 64, 8, 29'568, 152'064);
  EXPECT_THAT(missing(qwen2),
              testing::ElementsAre("an MLP of 29568: it would be 29696, a multiple of 256"));
}

TEST(PlanExport, TellsTorchtitansReaderTheWidthOfHeadsWhereItIsSpecial) {
  const TransformerPlan plan;
  TransformerModel model = predict::llama_like(36, 2560, 32, 8, 9728, 151'936);
  const auto first_note = [&] {
    const auto task = predict::task_on("A100-80G", model, 4096, 1);
    return export_notes(ExportTarget::torchtitan, {task, plan, 1, 1, llama_style()}).front();
  };
  EXPECT_THAT(first_note(), HasSubstr("32 heads, 8 key/value heads"));
  model.head_dim = 128;
  EXPECT_THAT(first_note(), HasSubstr("32 heads of 128 (head_dim, not the width divided by them), "
                                      "8 key/value heads"));
}

// A window of 4096 tokens: 4095 before the last, and that.
TEST(PlanExport, TellsMegatronTheWindowOfAttention) {
  TransformerPlan plan;
  const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 15, 1);
  const auto text = [&](std::int64_t window) {
    const ExportedPlan exported{task, plan, plan.gpus(), 1, llama_style(), window};
    return export_plan(ExportTarget::megatron, exported).value_or("");
  };
  const auto notes = [&](ExportTarget target, std::int64_t window) {
    return export_notes(target, {task, plan, plan.gpus(), 1, llama_style(), window});
  };
  const auto is_told = testing::Contains(HasSubstr("the config's window of 4096 tokens"));
  EXPECT_THAT(text(4096), HasSubstr("--window-size 4095,0\n"));
  for (const std::int64_t none : {0, 1 << 15})
    EXPECT_THAT(text(none), testing::AllOf(HasSubstr("--bf16"), Not(HasSubstr("--window-size"))));
  EXPECT_THAT(notes(ExportTarget::megatron, 4096), Not(is_told));
  EXPECT_THAT(notes(ExportTarget::internevo, 4096), is_told);
  EXPECT_THAT(notes(ExportTarget::internevo, 0), Not(is_told));
  plan.grid.head = 8;
  EXPECT_THAT(text(4096), HasSubstr("--window-size 4095,0\n"));
  plan.grid = {1, 8, 8};
  EXPECT_THAT(text(4096),
              testing::AllOf(HasSubstr("--cp-comm-type p2p\n"), Not(HasSubstr("--window-size"))));
  EXPECT_THAT(notes(ExportTarget::megatron, 4096), is_told);
}

TEST(PlanExport, SaysTheStageOfZeroToDeepSpeed) {
  const auto task = predict::task_on("A100-80G", predict::llama2_7b(8), 1 << 14, 16);
  TransformerPlan plan;
  plan.grid.head = 8;
  plan.replicas = 2;
  plan.micro_count = 8;
  const auto stage = [&] {
    const auto text = export_plan(ExportTarget::deepspeed, {task, plan, 2, 8});
    return text ? nlohmann::json::parse(*text)["zero_optimization"]["stage"].get<int>() : -1;
  };
  EXPECT_EQ(stage(), 0);
  plan.optimizer_shards = 16;
  EXPECT_EQ(stage(), 1);
  plan.gradient_shards = 16;
  EXPECT_EQ(stage(), 2);
  plan.weight_shards = 16;
  EXPECT_EQ(stage(), 3);
  plan.weight_shards = 8;
  EXPECT_EQ(stage(), -1);
}

}  // namespace
}  // namespace weir::report
