// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_iteration_command.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/kernel_tables_testing.h"
#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using IterationJson = nlohmann::json;

// With a model that was fitted to a few made-up timings: what a test checks does not depend on the H200's tables.
class PredictIteration : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = std::make_unique<formats::TemporaryFolder>();
    const auto tables = folder->path() / "tables";
    write_kernel_tables(tables, "NVIDIA H200");
    const Ran ran = weir(
        {"kernels", "fit", "--tables", tables.string(), "--trees", "0", "--out", model_file()});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
  }
  static void TearDownTestSuite() { folder.reset(); }

  static std::string model_file() { return (folder->path() / "model.json").string(); }
  static std::string file(const std::string& name, const std::string& content) {
    return folder->write(name, content).string();
  }
  static Ran predict(std::vector<std::string> more) {
    std::vector<std::string> words{"predict", "--kernel-model", model_file()};
    words.insert(words.end(), more.begin(), more.end());
    return weir(words);
  }
  static IterationJson answer(std::vector<std::string> more) {
    more.insert(more.end(), {"--gpu", "h200", "--json"});
    const Ran ran = predict(std::move(more));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return IterationJson::parse(ran.out, nullptr, false);
  }

  static inline std::unique_ptr<formats::TemporaryFolder> folder;
};

TEST_F(PredictIteration, JsonAddsUp) {
  const IterationJson iteration = answer({"--model", "gpt-mini", "--batch", "4"});
  EXPECT_EQ(iteration["model"], "gpt-mini");
  EXPECT_EQ(iteration["batch"], 4);
  EXPECT_EQ(iteration["gpu"], "NVIDIA H200");
  EXPECT_EQ(iteration["scaled"], false);
  EXPECT_EQ(iteration["parameters"], 50350080);
  EXPECT_TRUE(iteration["stand_ins"].empty());
  const double gpu = iteration["gpu_ms"];
  const double cpu = iteration["cpu_ms"];
  EXPECT_EQ(iteration["iteration_ms"], std::max(gpu, cpu));
  EXPECT_EQ(iteration["launch_bound"], cpu > gpu);
  for (const char* parts : {"phases", "classes"}) {
    double sum = 0;
    for (const auto& [name, ms] : iteration[parts].items()) sum += ms.get<double>();
    EXPECT_NEAR(sum, gpu, 1e-9 * gpu) << parts;
  }
  EXPECT_EQ(iteration["longest"].size(), 8U);
  for (const char* field : {"call", "phase", "count", "ms", "class", "kernel", "extrapolated"})
    EXPECT_TRUE(iteration["longest"][0].contains(field)) << field;
  EXPECT_FALSE(iteration.contains("sequence"));
}

TEST_F(PredictIteration, AModelOfKernelsIsOfItsOwnGpu) {
  const Ran ran = predict({"--model", "gpt-mini", "--batch", "4", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(IterationJson::parse(ran.out), answer({"--model", "gpt-mini", "--batch", "4"}));
}

TEST_F(PredictIteration, TopSaysHowManyOperatorsAreListed) {
  EXPECT_EQ(answer({"--model", "vgg11", "--batch", "4", "--top", "3"})["longest"].size(), 3U);
  EXPECT_EQ(answer({"--model", "vgg11", "--batch", "4", "--top", "0"})["longest"].size(), 0U);
}

TEST_F(PredictIteration, TextTellsThePaceThePhasesAndTheLongest) {
  const Ran ran =
      predict({"--model", "resnet18", "--gpu", "h200", "--batch", "4", "--step-probe", "5"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("resnet18 at batch 4 on NVIDIA H200: "), HasSubstr(" samples/s\n"),
                    HasSubstr("set"), HasSubstr("\n  forward "), HasSubstr("\n  backward "),
                    HasSubstr("\n  optimizer "), HasSubstr("by what kernels wait for"),
                    HasSubstr("longest"), Not(HasSubstr("taken for others"))));
  // Convolutions are not in the made-up tables.
  EXPECT_THAT(ran.err, HasSubstr("beyond what was measured"));
  // Nor are whole iterations.
  EXPECT_THAT(ran.err, HasSubstr("the CPU's launches are not counted"));
}

TEST_F(PredictIteration, ASlowerCpuNeverMakesItFaster) {
  write_kernel_tables(folder->path() / "with-host", "NVIDIA H200");
  std::ofstream{folder->path() / "with-host" / "iterations.csv"}
      << "model,batch,round,judged,iteration_ms,step_probe_us\n"
         "resnet18,1,0,0,8.1,5552\nvgg11,1,0,0,5.0,6152\nbert-mini,1,0,0,10.4,5391\n";
  const std::string model = (folder->path() / "host.json").string();
  const Ran fitted = weir({"kernels", "fit", "--tables", (folder->path() / "with-host").string(),
                           "--trees", "0", "--out", model});
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  double before = 0;
  for (const char* probe : {"1", "5", "90"}) {
    const Ran ran = weir({"predict", "--kernel-model", model, "--model", "resnet18", "--gpu",
                          "h200", "--batch", "4", "--step-probe", probe, "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const double now = IterationJson::parse(ran.out)["iteration_ms"];
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_GT(before, 100);  // 17 times as slow: the CPU sets the pace
}

TEST_F(PredictIteration, AnotherGpuIsScaledAndSaysSo) {
  const Ran ran = predict({"--model", "gpt-mini", "--gpu", "a100", "--batch", "16"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("(scaled, not measured)"));
  EXPECT_THAT(ran.err, HasSubstr("was not measured: times are scaled from NVIDIA H200"));
}

// An L4 has a sixteenth of the bandwidth. A kernel that is hardly more than its launch does not notice.
TEST_F(PredictIteration, JsonHasTheNotesThatPeopleAreTold) {
  const Ran ran =
      predict({"--model", "vgg11", "--batch", "4", "--gpu", "v100", "--step-probe", "5", "--json"});
  const IterationJson json = IterationJson::parse(ran.out);
  std::string told;
  for (const auto& note : json["notes"]) told += "note: " + note.get<std::string>() + "\n";
  EXPECT_EQ(told, ran.err);
  EXPECT_THAT(told, AllOf(HasSubstr("times are scaled"), HasSubstr("no bf16 arithmetic")));
}

TEST_F(PredictIteration, LaunchesTakeAsLongOnAnotherGpu) {
  const auto calls_of = [](const std::string& gpu) {
    const Ran ran =
        predict({"--model", "gpt-mini", "--gpu", gpu, "--batch", "1", "--top", "1000", "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    std::map<std::string, double> us;
    const IterationJson iteration = IterationJson::parse(ran.out);
    for (const auto& op : iteration["longest"])
      us[op["call"]] = 1e3 * op["ms"].get<double>() / op["count"].get<double>();
    return us;
  };
  const auto here = calls_of("h200");
  const auto there = calls_of("l4");
  double shortest_ratio = 1e9;
  for (const auto& [call, us] : here)
    if (us > 1.5 && us < 4) shortest_ratio = std::min(shortest_ratio, there.at(call) / us);
  EXPECT_GT(shortest_ratio, 0.9);
  EXPECT_LT(shortest_ratio, 1.5);
}

TEST_F(PredictIteration, WhatIsExtrapolatedIsScaledWithTheRest) {
  for (const char* gpu : {"h200", "a100", "t4"}) {
    const Ran ran =
        predict({"--model", "gpt-mini", "--gpu", gpu, "--batch", "256", "--top", "1000", "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const IterationJson json = IterationJson::parse(ran.out);
    double beyond = 0;
    for (const auto& op : json["longest"])
      if (op["extrapolated"].get<bool>()) beyond += op["ms"].get<double>();
    EXPECT_GT(beyond, 0) << gpu;
    EXPECT_NEAR(json["extrapolated_ms"].get<double>(), beyond, 1e-6 * beyond) << gpu;
  }
}

TEST_F(PredictIteration, MistakesOfOptionsAreToldAtOnce) {
  const Ran ran = predict({"--model", "resnet5", "--gpu", "h300", "--nodes", "2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--model is \"resnet5\", expected one of resnet50, vgg16"),
                             HasSubstr("--gpu is \"h300\", expected one of h200"),
                             HasSubstr("--batch is missing"), HasSubstr("--nodes")));
  EXPECT_THAT(predict({"--gpu", "h200"}).err, HasSubstr("--model is missing"));
  EXPECT_THAT(weir({"predict"}).err, HasSubstr("--plan is missing"));
  EXPECT_EQ(predict({"--model", "vgg11", "--gpu", "h200", "--batch", "0"}).exit_code, 2);
  EXPECT_EQ(predict({"--model", "vgg11", "--gpu", "h200", "--batch", "many"}).exit_code, 2);
}

TEST_F(PredictIteration, AModelFileThatIsNoneIsRefusedByName) {
  const std::string bad = file("bad.json", "{\"format\": \"other\"}");
  const Ran ran =
      weir({"predict", "--kernel-model", bad, "--model", "vgg11", "--gpu", "h200", "--batch", "1"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("bad.json: format is \"other\", expected weir-kernel-model"));
}

// ---- config.json ----

constexpr const char* kLlamaConfig =
    R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816,
  "num_hidden_layers": 5, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000})";

TEST_F(PredictIteration, AConfigOfANamedNetworkGivesTheSameTime) {
  const IterationJson named = answer({"--model", "llama-mini", "--batch", "4"});
  const IterationJson read = answer(
      {"--model-config", file("config.json", kLlamaConfig), "--batch", "4", "--sequence", "256"});
  EXPECT_EQ(read["iteration_ms"], named["iteration_ms"]);
  EXPECT_EQ(read["operators"], named["operators"]);
  EXPECT_EQ(read["cpu_ms"], named["cpu_ms"]);
  EXPECT_EQ(read["parameters"], named["parameters"]);
  EXPECT_EQ(read["sequence"], 256);
  const IterationJson gpt =
      answer({"--model-config",
              file("gpt.json", R"({"model_type": "gpt2", "n_embd": 640, "n_layer": 6, "n_head": 10,
                                   "vocab_size": 32000})"),
              "--batch", "4", "--sequence", "512"});
  EXPECT_EQ(gpt["iteration_ms"], answer({"--model", "gpt-mini", "--batch", "4"})["iteration_ms"]);
}

TEST_F(PredictIteration, EveryArchitectureOfAConfigIsPredicted) {
  for (const char* type : {"llama", "mistral", "qwen2", "qwen3", "internlm2", "gpt_neox"}) {
    std::string config = kLlamaConfig;
    config.replace(config.find("llama"), 5, type);
    const IterationJson iteration =
        answer({"--model-config", file(std::string{type} + ".json", config), "--batch", "2"});
    EXPECT_GT(iteration["gpu_ms"].get<double>(), 0) << type;
    EXPECT_EQ(iteration["sequence"], 4096) << type;
  }
}

TEST_F(PredictIteration, SaysWhatOfAConfigIsNotCounted) {
  std::string config = kLlamaConfig;
  config.insert(config.rfind('}'), R"(, "attention_bias": true)");
  const Ran ran =
      predict({"--model-config", file("biased.json", config), "--gpu", "h200", "--batch", "1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("note: biases of queries, keys and values (attention_bias) are "
                                 "not counted"));
  const Ran plain = predict(
      {"--model-config", file("plain.json", kLlamaConfig), "--gpu", "h200", "--batch", "1"});
  EXPECT_THAT(plain.err, testing::Not(HasSubstr("attention_bias")));
}

// What changes the work of a layer and is not counted is told, each by itself.
TEST_F(PredictIteration, SaysWhereAConfigDiffersFromItsKind) {
  const auto notes_of = [&](const std::string& name, const std::string& more) {
    const std::string config = R"({"model_type": ")" + name +
                               R"(", "num_hidden_layers": 2, "hidden_size": 256, "n_layer": 2,
                              "num_attention_heads": 4, "n_embd": 256, "n_head": 4,
                              "intermediate_size": 512, "vocab_size": 1000, "num_key_value_heads": 4)" +
                               more + "}";
    const Ran ran = weir({"predict", "--gpu", "h200", "--model-config", file("config.json", config),
                          "--batch", "2", "--sequence", "128", "--step-probe", "1"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.err;
  };
  for (const char* name : {"gpt2", "llama", "qwen2", "gpt_neox"})
    EXPECT_THAT(notes_of(name, ""), testing::Not(HasSubstr("counted"))) << name;
  EXPECT_THAT(notes_of("gpt_neox", R"(, "use_parallel_residual": false)"),
              HasSubstr("counted side by side"));
  EXPECT_THAT(notes_of("gpt_neox", R"(, "hidden_dropout": 0.1)"),
              HasSubstr("dropout is not counted"));
  EXPECT_THAT(notes_of("gpt2", R"(, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0)"),
              HasSubstr("dropout is counted, though the config has none"));
  EXPECT_THAT(notes_of("gpt2", R"(, "activation_function": "relu")"), HasSubstr("counted as GELU"));
  EXPECT_THAT(notes_of("llama", R"(, "hidden_act": "relu")"), HasSubstr("counted as SiLU"));
  EXPECT_THAT(notes_of("llama", R"(, "mlp_bias": true)"),
              HasSubstr("biases of other linear layers"));
  EXPECT_THAT(notes_of("llama", R"(, "attention_dropout": 0.1)"),
              HasSubstr("dropout is not counted"));
}

TEST_F(PredictIteration, SaysWhoseCpuSetsThePace) {
  const auto ran = [&](std::vector<std::string> batch_and_more) {
    batch_and_more.insert(batch_and_more.begin(),
                          {"predict", "--gpu", "h200", "--model", "bert-base", "--batch"});
    return weir(batch_and_more).err;
  };
  EXPECT_THAT(ran({"1"}), HasSubstr("time it there and say --step-probe"));
  EXPECT_THAT(ran({"1", "--step-probe", "2"}), testing::Not(HasSubstr("--step-probe")));
  EXPECT_THAT(ran({"64"}), testing::Not(HasSubstr("--step-probe")));
}

TEST_F(PredictIteration, TakesTheSequenceOfTheConfigUpTo4096) {
  const auto gpt = kExamples + "/models/gpt2-small.json";
  EXPECT_EQ(answer({"--model-config", gpt, "--batch", "2"})["sequence"], 1024);
  const Ran ran = predict({"--model-config", gpt, "--gpu", "h200", "--batch", "2"});
  EXPECT_THAT(ran.out, HasSubstr("\n  124 million parameters, sequences of 1024 tokens\n"));
  const Ran longer =
      predict({"--model-config", gpt, "--gpu", "h200", "--batch", "2", "--sequence", "2048"});
  EXPECT_EQ(longer.exit_code, 0);
  EXPECT_THAT(longer.err, HasSubstr("note: --sequence 2048 is beyond 1024"));
}

TEST_F(PredictIteration, ConfigsWithExpertsOrMistakesAreRefused) {
  const Ran experts = predict(
      {"--model-config", kExamples + "/models/mixtral-8x7b.json", "--gpu", "h200", "--batch", "1"});
  EXPECT_EQ(experts.exit_code, 2);
  EXPECT_THAT(experts.err, HasSubstr("mixtral-8x7b.json: num_local_experts is \"8\", expected 1: "
                                     "how long routing to experts takes is not known"));
  const Ran bad = predict({"--model-config", file("t5.json", R"({"model_type": "t5"})"), "--gpu",
                           "h200", "--batch", "1"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("model_type is \"t5\""));
  EXPECT_THAT(bad.err, HasSubstr("--ops"));
  EXPECT_THAT(bad.err, testing::Not(testing::AnyOf(HasSubstr("mixtral"), HasSubstr("--dims"))));
  const Ran none = predict({"--model-config", "none.json", "--gpu", "h200", "--batch", "1"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("none.json"));
}

TEST_F(PredictIteration, TooManyTokensForACountAreRefused) {
  const Ran ran = predict({"--model-config", file("config.json", kLlamaConfig), "--gpu", "h200",
                           "--batch", "1000000", "--sequence", "16777216"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--batch is \"1000000\", expected at most 256 with --sequence"));
}

// ---- traced operators ----

constexpr const char* kTrace =
    R"({"format": "weir-ops", "version": 1, "model": "mine", "batch": 8, "torch": "2.11.0",
  "parameters": 1048576, "tensors": 1,
  "ops": [
   {"phase": "forward", "op": "aten::mm", "count": 2,
    "in": [{"dtype": "bf16", "shape": [2048, 1024]},
           {"dtype": "bf16", "shape": [1024, 1024], "strides": [1, 1024]}],
    "out": [{"dtype": "bf16", "shape": [2048, 1024]}]},
   {"phase": "backward", "op": "aten::roll", "count": 6,
    "in": [{"dtype": "bf16", "shape": [4096, 4096]}],
    "out": [{"dtype": "bf16", "shape": [4096, 4096]}]}]})";

TEST_F(PredictIteration, TracedOperatorsAreReadAndThoseWithoutTimesAreNamed) {
  const std::string ops = file("ops.json", kTrace);
  const IterationJson iteration = answer({"--ops", ops});
  EXPECT_EQ(iteration["model"], "mine");
  EXPECT_EQ(iteration["batch"], 8);
  EXPECT_EQ(iteration["parameters"], 1048576);
  EXPECT_EQ(iteration["operators"], 8);
  ASSERT_EQ(iteration["stand_ins"].size(), 1U);
  const auto& stand_in = iteration["stand_ins"][0];
  EXPECT_EQ(stand_in["op"], "aten::roll");
  EXPECT_EQ(stand_in["count"], 6);
  EXPECT_EQ(stand_in["as"], "rows copy bf16 B=16384 H=1024");
  // Six times 64 MiB at the made-up bandwidth.
  EXPECT_NEAR(stand_in["ms"].get<double>(), 6 * 1e3 * (2e-6 + 67108864 / kMadeUpBytes), 0.02);
  const Ran text = predict({"--ops", ops, "--gpu", "h200", "--batch", "8"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("mine at batch 8"), HasSubstr("taken for others: "),
                              HasSubstr("6 x aten::roll, as rows copy")));
  EXPECT_THAT(text.err, HasSubstr("of operators without times of their own"));
}

TEST_F(PredictIteration, ATraceThatDoesNotFitIsRefused) {
  const std::string ops = file("ops.json", kTrace);
  const Ran batch = predict({"--ops", ops, "--gpu", "h200", "--batch", "16"});
  EXPECT_EQ(batch.exit_code, 2);
  EXPECT_THAT(batch.err, HasSubstr("--batch is \"16\", expected 8, as "));
  const Ran wrong = predict({"--ops", file("config.json", kLlamaConfig), "--gpu", "h200"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("config.json:1: format is missing, expected \"weir-ops\""));
  EXPECT_EQ(predict({"--ops", "none.json", "--gpu", "h200"}).exit_code, 2);
  const Ran empty =
      predict({"--ops",
               file("empty.json",
                    R"({"format": "weir-ops", "version": 1, "model": "m", "batch": 1, "torch": "2",
                "parameters": 1, "tensors": 1, "ops": [{"phase": "forward", "op": "aten::zeros",
                "count": 1, "in": [], "out": [{"dtype": "bf16", "shape": [0]}]}]})"),
               "--gpu", "h200"});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("ops is \"only empty tensors\""));
}

TEST_F(PredictIteration, OneNetworkAtATime) {
  const std::string config = file("config.json", kLlamaConfig);
  const Ran two =
      predict({"--model", "vgg11", "--model-config", config, "--gpu", "h200", "--batch", "1"});
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("expected one of --model, --model-config and --ops"));
  const Ran length =
      predict({"--model", "vgg11", "--gpu", "h200", "--batch", "1", "--sequence", "4"});
  EXPECT_EQ(length.exit_code, 2);
  EXPECT_THAT(length.err, HasSubstr("--sequence is \"given\", expected --model-config with it"));
  const Ran plan = weir({"predict", "--plan", "plan.json", "--ops", "ops.json"});
  EXPECT_EQ(plan.exit_code, 2);
  EXPECT_THAT(plan.err, HasSubstr("--ops is \"given\", expected without --plan"));
}

}  // namespace
}  // namespace weir::cli
