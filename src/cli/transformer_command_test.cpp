// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

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

TEST(TransformerCommand, RefusesArchitecturesItDoesNotKnow) {
  const formats::TemporaryFolder folder;
  const auto path = folder.path() / "config.json";
  std::ofstream{path} << R"({"model_type": "t5"})";
  const Ran ran = weir({"plan", "--model-config", path.string(), "--gpu", "X9"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("config.json:1: model_type is \"t5\""),
                             HasSubstr("--gpu is \"X9\", expected one of V100-16G")));
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

TEST(TransformerCommand, WritesACurveThatOtherCommandsRead) {
  const formats::TemporaryFolder folder;
  const auto path = folder.path() / "llama.csv";
  const Ran ran = plan_model({"--curve", "1..32", "--batch", "64", "--out", path.string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto book = formats::read_curves(folder.path());
  ASSERT_TRUE(book) << to_string(book.error().details);
  const Curve* curve = book->find({"llama", 64});
  ASSERT_NE(curve, nullptr);
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
}

}  // namespace
}  // namespace weir::cli
