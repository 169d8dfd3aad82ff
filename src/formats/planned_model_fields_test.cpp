// SPDX-License-Identifier: Apache-2.0
#include "formats/planned_model_fields.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/input_ranges.h"
#include "formats/job_document.h"
#include "formats/temporary_file_testing.h"
#include "formats/transformer_config.h"

namespace weir::formats {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr std::string_view kGptConfig = R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768,
  "n_head": 12, "n_positions": 1024, "vocab_size": 50257})";

class PlannedModelFields : public testing::Test {
 protected:
  Result<std::vector<JobDocument>> jobs_with(std::string_view model, std::string_view more = "") {
    const auto file = folder_.write(
        "job.yaml",
        fmt::format("name: a\ncommand: [x]\niterations: 10\nmodel: {}\n{}\n", model, more));
    return read_job_yaml(file);
  }
  std::vector<std::string> mistakes(std::string_view model, std::string_view more = "") {
    const auto jobs = jobs_with(model, more);
    std::vector<std::string> lines;
    if (jobs) return lines;
    for (const Diagnostic& each : jobs.error().details.list()) {
      std::string line = to_string(each);
      const std::string here = folder_.path().string() + "/";
      for (auto at = line.find(here); at != std::string::npos; at = line.find(here))
        line.erase(at, here.size());
      lines.push_back(std::move(line));
    }
    return lines;
  }
  TemporaryFolder folder_;
};

TEST_F(PlannedModelFields, ReadTheConfigBesideTheJob) {
  folder_.write("gpt.json", kGptConfig);
  const auto jobs = jobs_with("{config: gpt.json, batch: 256, sequence: 512, gpu: h200}");
  ASSERT_TRUE(jobs) << to_string(jobs.error().details);
  const JobDocument& job = jobs->front();
  ASSERT_TRUE(job.planned);
  EXPECT_EQ(job.curve, (CurveKey{"gpt-124M-s512", 256}));
  EXPECT_EQ(job.planned->dimensions.layers, 12);
  EXPECT_EQ(job.planned->dimensions.ffn, 4 * 768);
  EXPECT_TRUE(job.planned->dimensions.has_tied_embeddings);
  EXPECT_EQ(job.planned->sequence, 512);
  EXPECT_EQ(job.planned->gpu, "h200");
}

TEST_F(PlannedModelFields, TheConfigSaysHowLongASequenceIs) {
  folder_.write("gpt.json", kGptConfig);
  const auto jobs = jobs_with("{config: gpt.json, batch: 256, name: mine}");
  ASSERT_TRUE(jobs) << to_string(jobs.error().details);
  EXPECT_EQ(jobs->front().planned->sequence, 1024);
  EXPECT_EQ(jobs->front().curve.model, "mine");
  folder_.write("config.json", R"({"model_type": "llama", "hidden_size": 64, "vocab_size": 100,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128})");
  EXPECT_THAT(mistakes("{config: config.json, batch: 8}"),
              ElementsAre("job.yaml:4: model.sequence is missing, expected the tokens of a sample: "
                          "the config does not say how many"));
  folder_.write("long.json", R"({"model_type": "llama", "hidden_size": 64, "vocab_size": 100,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
    "max_position_embeddings": 131072})");
  const auto cut = jobs_with("{config: long.json, batch: 8}");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->front().planned->sequence, 4096);
  const auto named = jobs_with("{config: config.json, batch: 8, sequence: 128}");
  ASSERT_TRUE(named);
  EXPECT_THAT(named->front().curve.model, MatchesRegex("llama-95K-s128-[0-9a-f]{8}"))
      << "every config has that name";
}

TEST_F(PlannedModelFields, DimensionsDoWithoutAFile) {
  const auto jobs =
      jobs_with("{layers: 2, hidden: 64, heads: 4, vocab: 100, batch: 8, sequence: 32}");
  ASSERT_TRUE(jobs) << to_string(jobs.error().details);
  const TransformerModel& model = jobs->front().planned->dimensions;
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_dim, 16);
  EXPECT_EQ(model.ffn, 256);
  EXPECT_EQ(model.experts, 1);
}

// Curves belong to names: two models of one would share theirs.
TEST_F(PlannedModelFields, WithoutAFileTheNameTellsModelsApart) {
  const auto name_of = [&](std::string_view more) {
    const auto jobs = jobs_with(fmt::format("{{heads: 4, vocab: 100, sequence: 32, {}}}", more));
    EXPECT_TRUE(jobs) << to_string(jobs.error().details);
    return jobs ? jobs->front().curve.model : "";
  };
  const std::string name = name_of("layers: 2, hidden: 64, batch: 8");
  EXPECT_EQ(name, name_of("hidden: 64, layers: 2, ffn: 256, batch: 8")) << "in any words";
  EXPECT_EQ(name, name_of("layers: 2, hidden: 64, batch: 16")) << "a curve has that beside it";
  for (const char* other : {"layers: 2, hidden: 64, kv_heads: 4, head_dim: 16, ffn: 257, batch: 8",
                            "layers: 2, hidden: 64, batch: 8, gpu: H200-141G",
                            "layers: 2, hidden: 64, batch: 8, experts: 1, head_dim: 8"}) {
    EXPECT_NE(name, name_of(other)) << other;
  }
  EXPECT_EQ(name, "transformer-111K-s32-3bfed34e") << "the same on every machine and for ever";
}

TEST_F(PlannedModelFields, WhatIsSentHasDimensionsAndNoPath) {
  folder_.write("gpt.json", kGptConfig);
  const auto jobs = jobs_with("{config: gpt.json, batch: 256}");
  ASSERT_TRUE(jobs);
  const std::string sent = write_job_json(jobs->front());
  EXPECT_THAT(sent, HasSubstr(R"("model":{"name":"gpt-124M-s1024","batch":256,"sequence":1024,)"
                              R"("layers":12,"hidden":768,"heads":12,"vocab":50257,"tied":true})"));
  EXPECT_EQ(sent.find("json"), std::string::npos);
  const auto back = read_job_json(sent, "request");
  ASSERT_TRUE(back) << to_string(back.error().details);
  EXPECT_EQ(*back, jobs->front());
}

TEST_F(PlannedModelFields, AServerOpensNoFileOfAUser) {
  folder_.write("gpt.json", kGptConfig);
  const std::string json = fmt::format(
      R"({{"name":"a","command":["x"],"iterations":1,"model":{{"config":"{}/gpt.json","batch":1}}}})",
      folder_.path().string());
  const auto job = read_job_json(json, "request");
  ASSERT_FALSE(job);
  EXPECT_THAT(to_string(job.error().details),
              AllOf(HasSubstr("request:1: model.config is"),
                    HasSubstr("the dimensions instead: layers, hidden, heads, vocab. Servers open "
                              "no files of users; `weir submit` reads it and sends them")));
  const auto yaml = read_one_job_yaml(*InputFile::from_memory(
      "body", fmt::format("name: a\ncommand: [x]\niterations: 1\nmodel: {{config: {}/gpt.json, "
                          "batch: 1}}\n",
                          folder_.path().string())));
  ASSERT_FALSE(yaml);
  EXPECT_THAT(to_string(yaml.error().details), HasSubstr("body:4: model.config"));
}

TEST_F(PlannedModelFields, AMissingConfigIsNamedWithItsPath) {
  EXPECT_THAT(
      mistakes("{config: models/gpt.json, batch: 8}"),
      ElementsAre("job.yaml:4: model.config is \"models/gpt.json\", expected a file that is "
                  "there: models/gpt.json is not (the path counts from the folder of the "
                  "job's file)"));
  EXPECT_THAT(mistakes("{config: [a], batch: 8}"),
              ElementsAre(HasSubstr("model.config is \"a list\", expected the path")));
}

TEST_F(PlannedModelFields, AFolderInPlaceOfAConfigIsNamedWithItsLine) {
  std::filesystem::create_directory(folder_.path() / "models");
  EXPECT_THAT(
      mistakes("{config: models, batch: 8}"),
      ElementsAre("job.yaml:4: model.config is \"models\", expected a config.json: models is "
                  "a folder"));
}

TEST_F(PlannedModelFields, AnUnknownArchitectureIsNamedWithWhatElseToDo) {
  folder_.write("phi.json", R"({"model_type": "phi", "num_hidden_layers": 24})");
  EXPECT_THAT(
      mistakes("{config: phi.json, batch: 8}"),
      ElementsAre(AllOf(HasSubstr("phi.json:1: model_type is \"phi\", expected one of gpt2, "),
                        HasSubstr("--dims layers=24 (in a job the same names, with _ for -)"))));
}

TEST_F(PlannedModelFields, ABatchIsNeeded) {
  folder_.write("gpt.json", kGptConfig);
  EXPECT_THAT(
      mistakes("{config: gpt.json}"),
      ElementsAre("job.yaml:4: model.batch is missing, expected the global batch, an integer "
                  "from 1 to 1000000000: a plan is made for it"));
  EXPECT_THAT(mistakes("{config: gpt.json, batch: 0}"),
              ElementsAre("job.yaml:4: model.batch is \"0\", expected an integer from 1 to "
                          "1000000000"));
  EXPECT_THAT(mistakes("{config: gpt.json}", "batch: 8"),
              ElementsAre(HasSubstr("model.batch is missing"),
                          "job.yaml:5: batch is \"8\", expected it inside of model: the plan is "
                          "made for it"));
}

TEST_F(PlannedModelFields, ThereIsOneCurve) {
  folder_.write("gpt.json", kGptConfig);
  EXPECT_THAT(mistakes("{config: gpt.json, batch: 8}", "throughput: {1: 2}"),
              ElementsAre("job.yaml:5: throughput is \"a map\", expected none beside a model to "
                          "plan: state a curve, or have one planned"));
  EXPECT_THAT(mistakes("{config: gpt.json, batch: 8}", "profile: true\nreports_progress: true"),
              ElementsAre(HasSubstr("profile is \"true\", expected none beside a model to plan")));
  EXPECT_THAT(mistakes("{config: gpt.json, layers: 3, batch: 8}"),
              ElementsAre("job.yaml:4: model.layers is \"3\", expected none of it beside config, "
                          "which has the dimensions"));
  EXPECT_THAT(
      mistakes("{batch: 8}"),
      ElementsAre("job.yaml:4: model.config is missing, expected the model's config.json, or "
                  "its dimensions: layers, hidden, heads, vocab"));
}

TEST_F(PlannedModelFields, AllMistakesAreNamedAtOnce) {
  EXPECT_THAT(
      mistakes("{hidden: 64, heads: 5, kv_heads: 2, vocab: 0, gated: perhaps, size: 3, batch: x, "
               "gpu: [], name: a b}",
               "gpus: 0"),
      ElementsAre(HasSubstr("model.field is \"size\", expected one of config, batch"),
                  HasSubstr("model.layers is missing"), HasSubstr("model.vocab is \"0\""),
                  HasSubstr("model.gated is \"perhaps\", expected true or false"),
                  HasSubstr("model.heads is \"5\", expected a divisor of hidden, 64"),
                  HasSubstr("model.kv_heads is \"2\", expected a divisor of heads, 5"),
                  HasSubstr("model.batch is \"x\""), HasSubstr("model.sequence is missing"),
                  HasSubstr("model.gpu is \"a list\""), HasSubstr("model.name is \"a b\""),
                  HasSubstr("job.yaml:5: gpus is \"0\"")));
}

TEST_F(PlannedModelFields, AModelToPlanIsOfATrainingJob) {
  const auto job = read_job_json(
      R"({"name":"a","command":["x"],"model":{"layers":1,"hidden":8,"heads":1,"vocab":9,)"
      R"("batch":1,"sequence":8}})",
      "request");
  ASSERT_FALSE(job);
  EXPECT_THAT(to_string(job.error().details),
              HasSubstr("model is \"a map\", expected iterations too, or none of it"));
}

RC_GTEST_PROP(PlannedModelProperties, WhatIsWrittenReadsBackEqual, ()) {
  const auto any = [](std::int64_t most) { return *rc::gen::inRange<std::int64_t>(1, most + 1); };
  PlannedModel planned;
  TransformerModel& model = planned.dimensions;
  model.name = *rc::gen::element<std::string>("gpt-124M-s1024", "a\"b", "m");
  model.layers = any(kMostModelLayers);
  model.kv_heads = any(8);
  model.heads = model.kv_heads * any(64);
  model.head_dim = any(kMostHeads);
  model.hidden = *rc::gen::arbitrary<bool>() ? model.heads * model.head_dim % kMostHidden + 1
                                             : any(kMostHidden);
  model.ffn = *rc::gen::arbitrary<bool>() ? std::min(4 * model.hidden, kMostFfn) : any(kMostFfn);
  model.vocab = any(kMostVocab);
  model.is_gated = *rc::gen::arbitrary<bool>();
  model.has_tied_embeddings = *rc::gen::arbitrary<bool>();
  model.experts = any(kMostExperts);
  model.experts_per_token = any(model.experts);
  planned.sequence = any(kLongestSequence);
  planned.gpu = *rc::gen::element<std::string>("", "H200-141G", "NVIDIA H100 80GB HBM3");
  JobDocument job;
  job.name = "j";
  job.launch.command = {"x"};
  job.is_training = true;
  job.is_rigid = false;
  job.iterations = 1;
  job.curve = {model.name, any(kMostGlobalBatch)};
  job.planned = planned;
  const auto back = read_job_json(write_job_json(job), "back");
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == job);
}

}  // namespace
}  // namespace weir::formats
