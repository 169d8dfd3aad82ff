// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/run_testing.h"
#include "formats/curves.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using PlanWords = std::vector<std::string>;

Ran plan_model(const PlanWords& more, const std::string& model = "llama2-7b-gqa.json") {
  PlanWords words{"plan", "--model-config", kExamples + "/models/" + model};
  words.insert(words.end(), more.begin(), more.end());
  return weir(words);
}

TEST(TransformerCommand, PlansEveryExample) {
  for (const char* model : {"llama2-7b.json", "llama2-7b-gqa.json", "gpt2-small.json",
                            "qwen2-7b.json", "mixtral-8x7b.json"}) {
    const Ran ran = plan_model({"--nodes", "2", "--batch", "64", "--json"}, model);
    ASSERT_EQ(ran.exit_code, 0) << model << ran.err;
    const auto answer = nlohmann::json::parse(ran.out);
    EXPECT_GT(answer["predicted_ms"], 0);
    EXPECT_GT(answer["mfu"], 0.05) << model;
    EXPECT_LT(answer["mfu"], 0.8) << model;
    EXPECT_LE(answer["max_memory_mib"], 80 * 1024);
    EXPECT_EQ(answer["attention"].size(), 3U);
    EXPECT_GT(answer["other_degrees"].size(), 3U);
  }
}

TEST(TransformerCommand, TellsPeopleWhyAndWhatElse) {
  const Ran ran = plan_model({"--nodes", "8", "--batch", "32", "--sequence", "131072"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("An iteration takes"), HasSubstr("Why these degrees"),
                             HasSubstr("heads only (Ulysses)"), HasSubstr("Runner-ups"),
                             HasSubstr("Where an iteration's time goes")));
}

TEST(TransformerCommand, KeepsPins) {
  const Ran ran = plan_model(
      {"--nodes", "4", "--batch", "64", "--pin", "mode=msp,tp=4,pp=2,recompute=full", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto degrees = nlohmann::json::parse(ran.out)["plan"];
  EXPECT_EQ(degrees["mode"], "msp");
  EXPECT_EQ(degrees["split"], 4);
  EXPECT_EQ(degrees["pp"], 2);
  EXPECT_EQ(degrees["recompute"], "full");
}

TEST(TransformerCommand, OverlapAndPoolCanBePinned) {
  for (const char* overlap : {"on", "off"}) {
    for (const char* pool : {"on", "off"}) {
      if (std::string{"off"} == overlap && std::string{"on"} == pool) continue;
      const std::string pins = fmt::format("overlap={},pool={},wp=8", overlap, pool);
      const Ran ran = plan_model({"--batch", "64", "--pin", pins, "--json"});
      ASSERT_EQ(ran.exit_code, 0) << ran.err;
      const auto answer = nlohmann::json::parse(ran.out);
      EXPECT_EQ(answer["plan"]["overlap"], std::string{"on"} == overlap);
      EXPECT_EQ(answer["plan"]["memory_pool"], std::string{"on"} == pool);
      // The same pins and degrees lead to the same plan.
      const auto degrees = answer["plan"];
      const auto again = nlohmann::json::parse(
          plan_model(
              {"--batch", "64", "--json", "--pin",
               fmt::format("mode={},hp={},cp={},wp={},zp={},accumulate={},overlap={},pool={}",
                           degrees["mode"].get<std::string>(), degrees["hp"].get<int>(),
                           degrees["cp"].get<int>(), degrees["wp"].get<int>(),
                           degrees["zp"].get<int>(), degrees["accumulate"].get<int>(), overlap,
                           pool)})
              .out);
      EXPECT_EQ(again["plan"], degrees);
    }
  }
  const std::string words = plan_model({"--batch", "64", "--pin", "wp=8"}).out;
  EXPECT_THAT(words, AllOf(HasSubstr("\noverlap=off"), HasSubstr("\npool=o")));
  // A pool is for weights that are gathered ahead.
  EXPECT_THAT(plan_model({"--batch", "64", "--pin", "overlap=off,pool=on"}).err,
              HasSubstr("together they fit no plan"));
  EXPECT_THAT(plan_model({"--pin", "overlap=maybe,pool=1"}).err,
              AllOf(HasSubstr("overlap=on or off"), HasSubstr("pool=on or off")));
}

// A trainer without a pool does not get the memory that one would save.
TEST(TransformerCommand, OnlyInternEvoHasAMemoryPool) {
  for (const char* target : {"megatron", "deepspeed", "torchtitan", "torchrun"}) {
    const Ran ran = plan_model({"--gpu", "A100-40G", "--batch", "64", "--export", target, "--json"},
                               "llama2-7b.json");
    ASSERT_EQ(ran.exit_code, 0) << target << ran.err;
    EXPECT_EQ(nlohmann::json::parse(ran.out)["plan"]["memory_pool"], false) << target;
    const Ran pinned = plan_model({"--batch", "64", "--export", target, "--pin", "pool=on"});
    EXPECT_EQ(pinned.exit_code, 2) << target;
    EXPECT_THAT(pinned.err,
                AllOf(HasSubstr("\"pool=on\""), HasSubstr("no word for a memory pool")));
  }
  const Ran internevo = plan_model({"--batch", "64", "--export", "internevo", "--pin", "pool=on"});
  EXPECT_THAT(internevo.out, HasSubstr("memory_pool=True"));
  const Ran waits =
      plan_model({"--batch", "64", "--export", "internevo", "--pin", "pool=off,overlap=off,wp=8"});
  EXPECT_THAT(waits.out, HasSubstr("overlap=False, memory_pool=False"));
}

TEST(TransformerCommand, RefusesWhatContradicts) {
  Ran ran = plan_model({"--nodes", "2", "--pin", "tp=3"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, "--pin is \"tp=3\", expected tp= one of 1, 2, 4, 8\n");
  ran = plan_model({"--pin", "tp=2,tp=4,mode=x,placement=y,recompute=z,dp=0,foo=1"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("\"tp=4\", expected one value"), HasSubstr("mode=mtp, msp"),
                             HasSubstr("placement=head-first"), HasSubstr("recompute=none"),
                             HasSubstr("\"dp=0\""), HasSubstr("\"foo=1\"")));
}

TEST(TransformerCommand, RefusesOptionsOfMeasuredModels) {
  Ran ran =
      plan_model({"--model", "gpt", "--stages", "2", "--rate", "1GB/s", "--dims", "layers=1"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--model is"), HasSubstr("--stages is"),
                             HasSubstr("--rate is"), HasSubstr("either --model-config or --dims")));
  ran = weir({"plan", "--pin", "tp=2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--pin is"), HasSubstr("--model is missing"),
                             HasSubstr("--size is missing")));
  ran = plan_model({"--curve", "1..8", "--export", "weir", "--nodes", "2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--export is"), HasSubstr("--nodes is")));
}

TEST(TransformerCommand, NamesTheSmallestChangeWhenNothingFits) {
  const Ran ran = plan_model({"--gpus-per-node", "1"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--memory is \"80GiB\""), HasSubstr("or --nodes 2")));
  EXPECT_EQ(plan_model({"--gpus-per-node", "1", "--nodes", "2"}).exit_code, 0);
}

// What --memory has to be when nothing fits: "expected 40GiB for the smallest plan".
std::string advised_memory(const std::string& err) {
  const std::string before = "expected ";
  const std::size_t at = err.find(before);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + before.size();
  return err.substr(begin, err.find(' ', begin) - begin);
}

TEST(TransformerCommand, AdvisesAMemoryThatIsEnoughWithTheMargin) {
  const Ran ran = plan_model({"--gpus-per-node", "1", "--margin", "2GiB"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("--memory is \"80GiB\", expected ")) << "the GPU's, whole";
  const Ran followed =
      plan_model({"--gpus-per-node", "1", "--margin", "2GiB", "--memory", advised_memory(ran.err)});
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
}

TEST(TransformerCommand, QuotesAMemoryAsItWasTyped) {
  for (const char* memory : {"81919MiB", "0.0625TiB"}) {
    const Ran ran = plan_model({"--gpus-per-node", "1", "--memory", memory});
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.err, HasSubstr(fmt::format("--memory is \"{}\", expected ", memory)));
  }
}

// It stays with another GPU, also where it is as large as this one's.
TEST(TransformerCommand, SuggestsNoGpuBesideTheMemoryOfTheGpu) {
  const PlanWords words{"--gpus-per-node", "2", "--gpu", "A100-40G"};
  PlanWords with_memory = words;
  with_memory.insert(with_memory.end(), {"--memory", "40GiB"});
  EXPECT_THAT(plan_model(with_memory).err, testing::Not(HasSubstr("--gpu")));
  PlanWords with_margin = words;
  with_margin.insert(with_margin.end(), {"--margin", "2GiB"});
  EXPECT_THAT(plan_model(with_margin).err, HasSubstr("or --gpu A100-80G"));
}

TEST(TransformerCommand, SuggestsNoGpuBesideAMemory) {
  const Ran given = plan_model({"--gpus-per-node", "1", "--memory", "40GiB"});
  EXPECT_EQ(given.exit_code, 3);
  EXPECT_THAT(given.err, AllOf(HasSubstr("--memory is \"40GiB\", expected "), HasSubstr("--nodes"),
                               testing::Not(HasSubstr("--gpu"))));
  EXPECT_THAT(plan_model({"--gpus-per-node", "2", "--gpu", "A100-40G"}).err,
              HasSubstr("or --gpu A100-80G"));
}

TEST(TransformerCommand, NamesTheRecomputationsOfTheRuntime) {
  EXPECT_EQ(plan_model({"--pin", "recompute=selective"}).err,
            "--pin is \"recompute=selective\", expected recompute= one of full, none, selective++; "
            "selective needs a runtime without flash attention (--runtime megatron-2021)\n");
  EXPECT_EQ(plan_model({"--pin", "recompute=selective", "--runtime", "megatron-2021"}).exit_code,
            0);
  EXPECT_THAT(plan_model({"--pin", "recompute=selective++", "--runtime", "megatron-2021"}).err,
              AllOf(HasSubstr("recompute= one of full, none, selective;"),
                    HasSubstr("selective++ needs flash attention")));
}

TEST(TransformerCommand, NotesWhatIsNotCountedOfExperts) {
  const std::string note = "routing, the all-to-all of expert parallelism and imbalance";
  const Ran text = plan_model({"--nodes", "2", "--batch", "64"}, "mixtral-8x7b.json");
  EXPECT_THAT(text.err, HasSubstr("note: " + note));
  const Ran json = plan_model({"--nodes", "2", "--batch", "64", "--json"}, "mixtral-8x7b.json");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_THAT(nlohmann::json::parse(json.out)["notes"][0].get<std::string>(),
              testing::StartsWith(note));
  EXPECT_THAT(plan_model({"--curve", "16", "--batch", "64"}, "mixtral-8x7b.json").err,
              HasSubstr(note));
  EXPECT_THAT(plan_model({"--batch", "64"}).err, testing::Not(HasSubstr("routing")));
}

TEST(TransformerCommand, NotesAMemoryThatIsAlmostFull) {
  const PlanWords mixture{"--nodes", "2", "--batch", "64"};
  EXPECT_THAT(plan_model(mixture, "mixtral-8x7b.json").err,
              HasSubstr("stay free: drivers and fragmentation take 1 to 2 GiB, which --margin "
                        "2GiB keeps free"));
  PlanWords with_margin = mixture;
  with_margin.insert(with_margin.end(), {"--margin", "2GiB"});
  const Ran kept = plan_model(with_margin, "mixtral-8x7b.json");
  EXPECT_EQ(kept.exit_code, 0);
  EXPECT_THAT(kept.err, testing::Not(HasSubstr("stay free"))) << "whoever gave one knows";
}

TEST(TransformerCommand, RefusesArchitecturesItDoesNotKnow) {
  const formats::TemporaryFolder folder;
  const auto path = folder.path() / "config.json";
  std::ofstream{path} << R"({"model_type": "t5"})";
  const Ran ran = weir({"plan", "--model-config", path.string(), "--gpu", "X9"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("config.json:1: model_type is \"t5\""),
                             HasSubstr("--gpu is \"X9\", expected one of V100-16G")));
}

TEST(TransformerCommand, NamesTheTypesThatAShortNameMayMean) {
  EXPECT_EQ(plan_model({"--gpu", "a100"}).err,
            "--gpu is \"a100\", expected A100-40G or A100-80G\n");
  EXPECT_EQ(plan_model({"--gpu", "h100"}).exit_code, 0);
}

TEST(TransformerCommand, NamesWhatTheTrainerHasNoWordFor) {
  Ran ran =
      plan_model({"--nodes", "2", "--batch", "64", "--export", "megatron"}, "mixtral-8x7b.json");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(
      ran.err,
      AllOf(HasSubstr("--export is \"megatron\", expected another target: it has no "
                      "word for"),
            HasSubstr("experts without expert parallelism\n"), testing::Not(HasSubstr("--batch"))));
  ran = plan_model({"--nodes", "2", "--batch", "64", "--export", "deepspeed", "--pin", "tp=2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--pin is \"tp=2\", expected tp= one of 1"),
                             HasSubstr("it has no word for tensor parallelism\n")));
}

TEST(TransformerCommand, NamesASequenceThatGpusCanShare) {
  const Ran ran =
      plan_model({"--sequence", "1000001", "--nodes", "8", "--batch", "1"}, "llama2-7b.json");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("or --sequence 1000064, which 64 GPUs can share"));
  EXPECT_EQ(plan_model({"--sequence", "1000064", "--nodes", "8", "--batch", "1"}, "llama2-7b.json")
                .exit_code,
            0);
}

nlohmann::json plan_json(PlanWords words, const std::string& model = "llama2-7b-gqa.json") {
  words.emplace_back("--json");
  const Ran ran = plan_model(words, model);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return ran.exit_code == 0 ? nlohmann::json::parse(ran.out) : nlohmann::json{};
}

TEST(TransformerCommand, TakesTheSequenceOfTheConfigUpTo4096) {
  EXPECT_EQ(plan_json({"--batch", "8"}, "gpt2-small.json")["sequence"], 1024);
  EXPECT_EQ(plan_json({"--batch", "8"}, "qwen2-7b.json")["sequence"], 4096);
  EXPECT_EQ(plan_json({"--batch", "8", "--sequence", "512"}, "gpt2-small.json")["sequence"], 512);
  const Ran dims =
      weir({"plan", "--dims", "layers=2,hidden=64,heads=4,vocab=100", "--batch", "8", "--json"});
  EXPECT_EQ(nlohmann::json::parse(dims.out)["sequence"], 4096);
  const Ran exported = plan_model({"--batch", "8", "--export", "megatron"}, "gpt2-small.json");
  EXPECT_THAT(exported.out, HasSubstr("--seq-length 1024\n"));
  EXPECT_THAT(plan_model({"--batch", "8"}, "gpt2-small.json").out,
              testing::StartsWith("gpt2-small: 124 million parameters, sequences of 1024 tokens, "
                                  "batch 8.\n"));
}

TEST(TransformerCommand, WarnsOfASequenceBeyondTheModel) {
  const Ran ran = plan_model({"--batch", "8", "--sequence", "2048"}, "gpt2-small.json");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err,
            "note: --sequence 2048 is beyond 1024, the longest that the config says the model was "
            "made for\n");
  EXPECT_EQ(plan_model({"--batch", "8"}, "gpt2-small.json").err, "");
}

TEST(TransformerCommand, SaysThatFullAttentionIsAssumedWhereTheConfigHasAWindow) {
  const formats::TemporaryFolder folder;
  const auto file = folder.write(
      "config.json",
      R"({"model_type": "mistral", "hidden_size": 1024, "intermediate_size": 2816, "vocab_size": 32000,
          "num_hidden_layers": 4, "num_attention_heads": 16, "max_position_embeddings": 32768,
          "sliding_window": 2048, "rope_theta": 10000.0})");
  const auto run = [&](const char* sequence) {
    return weir({"plan", "--model-config", file.string(), "--batch", "8", "--sequence", sequence});
  };
  EXPECT_THAT(run("4096").err, HasSubstr("full attention over 4096 is assumed"));
  EXPECT_EQ(run("2048").err, "");
  EXPECT_THAT(run("2048").out, testing::StartsWith("mistral: ")) << "every file is config.json";
  const Ran predicted = weir({"predict", "--model-config", file.string(), "--gpu", "h200",
                              "--batch", "1", "--sequence", "4096"});
  EXPECT_THAT(predicted.err, HasSubstr("full attention over 4096 is assumed"));
  const Ran exported = weir({"plan", "--model-config", file.string(), "--batch", "8", "--sequence",
                             "2048", "--export", "megatron"});
  EXPECT_THAT(exported.out, HasSubstr("--rotary-base 10000\n"));
  EXPECT_THAT(exported.out, testing::Not(HasSubstr("--window-size")));
  EXPECT_THAT(weir({"plan", "--model-config", file.string(), "--batch", "8", "--sequence", "4096",
                    "--export", "megatron"})
                  .out,
              HasSubstr("--window-size 2047,0"));
}

TEST(TransformerCommand, BlamesTheMemoryForMemory) {
  EXPECT_EQ(plan_model({"--memory", "0GiB"}).err,
            "--memory is \"0GiB\", expected more than 0, such as 80GiB\n");
  EXPECT_THAT(plan_model({"--memory", "8GiB", "--margin", "8GiB"}).err, HasSubstr("--margin is"));
  const Ran more = plan_model({"--memory", "800GiB"});
  EXPECT_EQ(more.exit_code, 0);
  EXPECT_EQ(more.err, "note: --memory 800GiB is more than the 80GiB that A100-80G has\n");
  EXPECT_EQ(plan_model({"--memory", "80GiB"}).err, "");
}

TEST(TransformerCommand, HasNoPriceWhereNobodyKnowsOne) {
  const formats::TemporaryFolder folder;
  const auto file = folder.write("gpus.yaml",
                                 "gpus:\n  - {name: X1, tflops: 312, memory: 80GiB, memory_rate: "
                                 "2039, link_rate: 300}\n");
  EXPECT_THAT(plan_model({"--gpu-file", file.string()}).out, testing::Not(HasSubstr("costs")));
  EXPECT_FALSE(plan_json({"--gpu-file", file.string()}).contains("cost_per_iteration"));
  EXPECT_THAT(plan_model({"--gpu-file", file.string(), "--price", "2"}).out, HasSubstr("at 2.00"));
  EXPECT_THAT(plan_model({"--gpu-file", file.string()}).out,
              HasSubstr("no run of X1 was compared"));
}

TEST(TransformerCommand, NamesNoPlanTwice) {
  for (const char* model : {"llama2-7b.json", "gpt2-small.json"}) {
    const std::string out = plan_model({"--nodes", "2", "--batch", "64"}, model).out;
    const std::string table = out.substr(out.find("Runner-ups"));
    std::set<std::string> plans;
    std::istringstream lines{table};
    int rows = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t plan = line.find(", dp ");
      if (plan == std::string::npos) continue;
      ++rows;
      plans.insert(line.substr(line.rfind("  ", plan)));
    }
    EXPECT_EQ(rows, 4);
    EXPECT_EQ(plans.size(), 4U) << table;
  }
}

TEST(TransformerCommand, PrintsAnExportAsJsonWithThePlan) {
  const auto answer =
      plan_json({"--nodes", "2", "--batch", "64", "--export", "megatron"}, "llama2-7b.json");
  EXPECT_EQ(answer["export"]["target"], "megatron");
  EXPECT_THAT(answer["export"]["text"].get<std::string>(), HasSubstr("--num-layers 32\n"));
  EXPECT_GT(answer["predicted_ms"], 0);
  EXPECT_GE(answer["times_the_best"], 1);
  EXPECT_EQ(answer["plan"]["pp"], 1);
  EXPECT_FALSE(answer.contains("other_degrees"));
  const formats::TemporaryFolder folder;
  const auto path = folder.path() / "args.txt";
  plan_json({"--batch", "64", "--export", "megatron", "--out", path.string()}, "llama2-7b.json");
  std::ifstream file{path};
  std::string first;
  std::getline(file, first);
  EXPECT_EQ(first, "--num-layers 32") << "the file is the export, whatever is printed";
}

TEST(TransformerCommand, TellsWhatAnExportIsWorth) {
  const Ran best = plan_model({"--nodes", "2", "--batch", "64", "--export", "weir"});
  EXPECT_THAT(best.err, AllOf(HasSubstr(" ms an iteration"), testing::Not(HasSubstr("the best"))));
  const Ran ran =
      plan_model({"--nodes", "1", "--gpu", "A100-40G", "--batch", "64", "--export", "deepspeed"},
                 "llama2-7b.json");
  EXPECT_THAT(ran.err, AllOf(HasSubstr(" times as long as the best plan, "),
                             HasSubstr("deepspeed has no word for a ring")));
  EXPECT_EQ(nlohmann::json::parse(ran.out)["zero_optimization"]["stage"], 3);
  const Ran again = plan_model(
      {"--nodes", "2", "--batch", "64", "--export", "deepspeed", "--pin", "recompute=full"});
  EXPECT_THAT(again.err, HasSubstr("model.gradient_checkpointing_enable()"));
}

TEST(TransformerCommand, TellsWhyACurveHasGaps) {
  const Ran ran = plan_model({"--curve", "1,6,12,32,100,296", "--batch", "64"}, "llama2-7b.json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("too little memory: the smallest plan needs 176 GiB"),
                    HasSubstr("batch 64 cannot be divided among 296 GPUs, but 37 or 74 can"),
                    HasSubstr("times that of 32"), HasSubstr("llama2-7b: 6.74 billion")));
  EXPECT_EQ(ran.err,
            "note: no plan was made for 6, 12, 100 GPUs: neither a part of a node of 8 nor whole "
            "nodes\n");
  EXPECT_EQ(plan_model({"--curve", "1..8", "--batch", "64"}).err, "") << "nobody asked for 3";
  EXPECT_THAT(plan_model({"--curve", "1..8,12", "--batch", "64"}).err, HasSubstr("for 12 GPUs"));
  const auto answer = plan_json({"--curve", "1,32,296", "--batch", "64"}, "llama2-7b.json");
  EXPECT_EQ(answer["gpu"], "A100-80G");
  EXPECT_EQ(answer["sequence"], 4096);
  EXPECT_THAT(answer["curve"][0]["reason"].get<std::string>(), HasSubstr("memory"));
  EXPECT_THAT(answer["curve"][2]["reason"].get<std::string>(), HasSubstr("batch 64"));
  EXPECT_THAT(answer["curve"][1]["plan"].get<std::string>(), HasSubstr("dp "));
  EXPECT_GT(answer["curve"][1]["memory_mib"], 0);
  EXPECT_THAT(plan_model({"--curve", "8,16", "--batch", "64", "--pin", "dp=8,sp=1,tp=1,pp=1"}).out,
              HasSubstr("no plan with --pin tp=1,sp=1,dp=8,pp=1"));
}

TEST(TransformerCommand, NotesWhereMoreGpusAreSlower) {
  const Ran ran =
      plan_model({"--curve", "8,16,32", "--batch", "8", "--nic-rate", "0.01", "--sequence", "128"},
                 "gpt2-small.json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("note: 32 GPUs are slower than 16: "));
}

TEST(TransformerCommand, AsksForALongerCurve) {
  const Ran ran = plan_model({"--curve", "1..2", "--memory", "60GiB"}, "llama2-7b.json");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("or a --curve up to 4 GPUs"), testing::Not(HasSubstr("--nodes"))));
}

TEST(TransformerCommand, HintsAtAVocabularyThatIsWorthPadding) {
  const Ran odd = plan_model({"--gpu", "h200", "--batch", "64"}, "gpt2-small.json");
  EXPECT_THAT(odd.err, HasSubstr("note: a vocabulary of 50304 instead of 50257"));
  EXPECT_EQ(plan_model({"--gpu", "h200", "--batch", "64"}, "llama2-7b.json").err, "");
  EXPECT_EQ(plan_model({"--gpu", "A100-80G", "--batch", "64"}, "gpt2-small.json").err, "")
      << "only measured kernels know";
}

TEST(TransformerCommand, SaysWhereFewerGpusAreFaster) {
  EXPECT_THAT(plan_model({"--batch", "8", "--gpu", "L40S", "--nodes", "64"}, "gpt2-small.json").err,
              HasSubstr("note: 512 GPUs are slower than "));
  EXPECT_THAT(
      plan_model({"--gpu", "A100-80G", "--nodes", "2", "--batch", "64"}, "llama2-7b.json").err,
      testing::Not(HasSubstr("are slower than")));
}

TEST(TransformerCommand, SaysForHowManyGpusTheCheapestPlanIsExported) {
  const Ran ran = plan_model({"--nodes", "2", "--batch", "64", "--objective", "cost", "--price",
                              "2.1", "--export", "megatron"},
                             "llama2-7b.json");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, testing::ContainsRegex("# for [0-9]+ of 16 GPUs: "));
}

TEST(TransformerCommand, NamesSizesOfACurve) {
  EXPECT_EQ(plan_model({"--gpus-per-node", "6", "--batch", "96", "--curve", "4"}).exit_code, 0)
      << "as jobs are given";
  EXPECT_THAT(plan_model({"--gpus-per-node", "6", "--curve", "5"}).err,
              HasSubstr("expected one of 1, 2, 3, 4, 6 or more nodes of 6"));
  EXPECT_EQ(
      plan_model({"--curve", "3,5"}).err,
      "--curve is \"3,5\", expected one of 1, 2, 4, 8 or more nodes of 8: parts of a node, or "
      "whole nodes\n");
}

TEST(TransformerCommand, SaysThatARingNeedsFlashAttention) {
  EXPECT_THAT(plan_model({"--nodes", "2", "--runtime", "megatron-2021", "--pin", "cp=2"}).err,
              HasSubstr("\"cp=2\", expected cp=1: a ring needs flash attention"));
}

TEST(TransformerCommand, ExportsForEveryTarget) {
  for (const char* target :
       {"megatron", "deepspeed", "torchtitan", "internevo", "torchrun", "weir"}) {
    const Ran ran = plan_model({"--nodes", "4", "--batch", "64", "--export", target});
    EXPECT_EQ(ran.exit_code, 0) << target << ran.err;
    EXPECT_FALSE(ran.out.empty());
  }
  const Ran ran = plan_model({"--nodes", "2", "--export", "deepspeed", "--pin", "pp=2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--pin is \"pp=2\", expected pp= one of 1"));
}

TEST(TransformerCommand, RefusesToExportANetworkThatTheTrainerDoesNotBuild) {
  const formats::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  std::ofstream{file}
      << R"({"model_type": "gpt_neox", "hidden_size": 512, "intermediate_size": 2048,
      "num_hidden_layers": 8, "num_attention_heads": 8, "vocab_size": 1000})";
  const auto exported = [&](const char* target) {
    return weir({"plan", "--model-config", file.string(), "--batch", "8", "--export", target});
  };
  EXPECT_EQ(exported("megatron").exit_code, 2);
  EXPECT_THAT(
      exported("megatron").err,
      HasSubstr("it has no word for attention and MLP side by side (use_parallel_residual)"));
  EXPECT_EQ(exported("deepspeed").exit_code, 0);
}

TEST(TransformerCommand, ExportsAutocastOnlyToTrainersThatHaveIt) {
  const auto exported = [](const char* target) {
    return plan_model({"--batch", "8", "--runtime", "autocast", "--export", target},
                      "gpt2-small.json");
  };
  for (const char* target : {"megatron", "internevo"}) {
    const Ran ran = exported(target);
    EXPECT_EQ(ran.exit_code, 2) << target;
    EXPECT_THAT(ran.err, HasSubstr(fmt::format("--export is \"{}\", expected another target: it "
                                               "has no word for autocast: ",
                                               target)));
  }
  EXPECT_THAT(exported("deepspeed").out,
              AllOf(HasSubstr("\"torch_autocast\""), testing::Not(HasSubstr("\"bf16\""))));
  const Ran torchtitan = exported("torchtitan");
  ASSERT_EQ(torchtitan.exit_code, 0) << torchtitan.err;
  EXPECT_THAT(torchtitan.out, HasSubstr("data_parallel_shard_degree = 1\n"));
}

TEST(TransformerCommand, NamesWhatTheTrainerRefusesAtItsStart) {
  Ran ran = plan_model(
      {"--sequence", "1000", "--pin", "hp=8,cp=1", "--batch", "8", "--export", "megatron"},
      "llama2-7b.json");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--pin is \"hp=8\", expected hp= one of 1, 2, 4"),
                             HasSubstr("it wants a multiple of 16 (2 x context-parallel-size)")));
  ran = plan_model(
      {"--gpus-per-node", "8", "--batch", "2", "--pin", "pp=4", "--export", "torchtitan"},
      "llama2-7b.json");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--pin is \"pp=4\", expected pp= one of 1, 2"),
                             HasSubstr("it wants a batch of 8 or more")));
}

TEST(TransformerCommand, PlansForNodesOfAnyNumberOfGpus) {
  EXPECT_EQ(plan_model({"--gpus-per-node", "6", "--batch", "12"}).exit_code, 0);
}

// A rate of 0.000000 is none.
TEST(TransformerCommand, LeavesOutOfATableWhatTakesWeeks) {
  const formats::TemporaryFolder folder;
  const auto path = folder.path() / "slow.csv";
  const auto gpus = folder.path() / "gpus.yaml";
  std::ofstream{gpus} << "gpus:\n  - {name: slow, tflops: 0.00001, memory: 80GiB, memory_rate: 1, "
                         "link_rate: 1}\n";
  const Ran ran = plan_model(
      {"--gpu-file", gpus.string(), "--curve", "8", "--batch", "4096", "--out", path.string()},
      "llama2-7b.json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("so it is left out of the table"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("0.000000")));
  std::ifstream file{path};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  EXPECT_THAT(text, AllOf(HasSubstr("4096,\n"), testing::Not(HasSubstr("0.000000"))));
}

TEST(TransformerCommand, WritesACurveThatOtherCommandsRead) {
  const formats::TemporaryFolder folder;
  const auto path = folder.path() / "llama.csv";
  const Ran ran = plan_model({"--curve", "1..32", "--batch", "64", "--out", path.string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto book = formats::read_curves(folder.path());
  ASSERT_TRUE(book) << to_string(book.error().details);
  const Curve* curve = book->find({"llama", 64});
  ASSERT_NE(curve, nullptr);
  EXPECT_EQ(curve->origin(), CurveOrigin::planned);
  EXPECT_EQ(curve->rate_at(1).value, 0);  // does not fit
  EXPECT_GT(curve->rate_at(8).value, 0);
  EXPECT_GT(curve->rate_at(32).value, 3 * curve->rate_at(8).value);
}

TEST(TransformerCommand, FindsThatFewerGpusAreCheaper) {
  const auto answer = [](const char* objective) {
    const Ran ran = plan_model(
        {"--nodes", "8", "--batch", "64", "--objective", objective, "--price", "2", "--json"});
    return nlohmann::json::parse(ran.out);
  };
  const auto fastest = answer("time");
  const auto cheapest = answer("cost");
  EXPECT_LT(cheapest["gpus"], fastest["gpus"]);
  EXPECT_LE(cheapest["cost_per_iteration"], fastest["cost_per_iteration"]);
  EXPECT_GT(cheapest["plan"]["accumulate"], fastest["plan"]["accumulate"]);
  // Every size that was compared, the chosen one among them, and none is cheaper.
  EXPECT_FALSE(fastest.contains("sizes"));
  ASSERT_EQ(cheapest["sizes"].size(), 11U);
  double least = 1e300;
  for (const auto& size : cheapest["sizes"]) {
    EXPECT_EQ(size.contains("reason"), !size.contains("plan")) << size;
    if (!size.contains("gpu_s")) continue;
    least = std::min(least, size["gpu_s"].get<double>());
    if (size["gpus"] == cheapest["gpus"]) {
      EXPECT_EQ(size["plan"], cheapest["plan"]);
    }
    if (size["gpus"] == fastest["gpus"]) {
      EXPECT_EQ(size["predicted_ms"], fastest["predicted_ms"]);
    }
  }
  EXPECT_NEAR(cheapest["predicted_ms"].get<double>() * cheapest["gpus"].get<double>() / 1000, least,
              0.002);
  EXPECT_THAT(plan_model({"--nodes", "37", "--batch", "64", "--objective", "cost"}).out,
              AllOf(HasSubstr("GPUs  accumulate  iteration ms  GPU seconds    cost"),
                    HasSubstr("batch 64 cannot be divided among 296 GPUs, but 37 or 74 can")));
}

TEST(TransformerCommand, TellsWhyASizeHasNoCost) {
  const auto sizes = plan_json({"--nodes", "37", "--batch", "64", "--objective", "cost"},
                               "llama2-7b.json")["sizes"];
  EXPECT_EQ(sizes[0]["reason"], "too little memory: the smallest plan needs 176 GiB on each GPU");
  EXPECT_EQ(sizes.back()["reason"], "batch 64 cannot be divided among 296 GPUs, but 37 or 74 can");
  const std::string text =
      plan_model({"--nodes", "37", "--batch", "64", "--objective", "cost"}, "llama2-7b.json").out;
  for (const auto& size : sizes) {
    if (size.contains("reason")) {
      EXPECT_THAT(text, HasSubstr(size["reason"].get<std::string>()));
    }
  }
}

TEST(TransformerCommand, PlansForAGpuThatSomebodyDescribes) {
  const formats::TemporaryFolder folder;
  const auto like = [&](const char* name, const char* tflops) {
    return fmt::format(
        "  - {{name: {}, tflops: {}, memory: 80GiB, memory_rate: 2039, link_rate: 300, "
        "nics: 8, nic_rate: 200, gemm_efficiency: 0.78, attention_forward: 0.7, "
        "attention_backward: 0.6}}\n",
        name, tflops);
  };
  const auto file = folder.write("gpus.yaml", "gpus:\n" + like("X1", "312") + like("X2", "624"));
  const auto seconds = [&](const PlanWords& gpu) {
    PlanWords words{"--nodes", "2", "--batch", "64", "--json"};
    words.insert(words.end(), gpu.begin(), gpu.end());
    const Ran ran = plan_model(words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.exit_code == 0 ? nlohmann::json::parse(ran.out)["predicted_ms"].get<double>() : 0;
  };
  const double known = seconds({"--gpu", "A100-80G"});
  EXPECT_DOUBLE_EQ(seconds({"--gpu-file", file.string()}), known) << "the first, and the same";
  EXPECT_LT(seconds({"--gpu-file", file.string(), "--gpu", "x2"}), 0.8 * known);
  EXPECT_DOUBLE_EQ(seconds({"--gpu-file", file.string(), "--gpu", "A100-80G"}), known);
  const Ran unknown = plan_model({"--gpu-file", file.string(), "--gpu", "X3"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--gpu is \"X3\", expected one of X1, X2, V100-16G"));
  const Ran broken = plan_model({"--gpu-file", folder.write("b.yaml", "gpus: [{}]").string()});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("b.yaml:1: name is missing"),
                                HasSubstr("b.yaml:1: tflops is missing")));
  const Ran alone = weir({"plan", "--gpu-file", file.string()});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--gpu-file is \"given\""));
}

TEST(TransformerCommand, ElementsOfFourBytesAndALongLatencySlowCollectivesDown) {
  const formats::TemporaryFolder folder;
  const auto rates = [&](const std::string& more) {
    const auto file = folder.write(
        "gpus.yaml", fmt::format("gpus:\n  - {{name: CPU, tflops: 0.1, memory: 32GiB, memory_rate: "
                                 "20, link_rate: 2, gemm_efficiency: 1{}}}\n",
                                 more));
    const Ran ran =
        plan_model({"--gpu-file", file.string(), "--gpus-per-node", "2", "--batch", "2",
                    "--sequence", "64", "--runtime", "megatron-2021", "--curve", "1..2", "--json"},
                   "gpt2-small.json");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const auto curve = nlohmann::json::parse(ran.out)["curve"];
    return std::pair{curve[0]["iterations_per_s"].get<double>(),
                     curve[1]["iterations_per_s"].get<double>()};
  };
  const auto two_bytes = rates("");
  const auto four_bytes = rates(", element_bytes: 4");
  const auto late = rates(", latency: 1000000");
  EXPECT_GT(two_bytes.second / two_bytes.first, four_bytes.second / four_bytes.first);
  EXPECT_DOUBLE_EQ(late.first, two_bytes.first) << "one GPU has nobody to wait for";
  EXPECT_LT(late.second, 0.6 * two_bytes.second);
}

}  // namespace
}  // namespace weir::cli
