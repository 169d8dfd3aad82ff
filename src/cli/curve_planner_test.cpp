// SPDX-License-Identifier: Apache-2.0
#include "cli/curve_planner.h"

#include <gmock/gmock.h>

#include "cli/run_testing.h"
#include "cli/transformer_times.h"
#include "formats/cluster_shorthand.h"
#include "formats/temporary_file_testing.h"
#include "plan/transformer/transformer_curve.h"

namespace weir::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

PlannedModel small_gpt() {
  PlannedModel model;
  model.dimensions = {"gpt", 12, 768, 12, 12, 64, 3072, false, 50257, true};
  model.sequence = 1024;
  return model;
}

std::string why(const Result<std::vector<Curve>>& curves) {
  return curves ? "" : to_string(curves.error().details);
}

TEST(CurvePlanner, PlansForTheGpusOfEachPool) {
  const std::vector<PoolGpus> pools{{PoolIndex{0}, "old", "V100", 8, 16},
                                    {PoolIndex{1}, "strange", "T4", 4, 8},
                                    {PoolIndex{2}, "new", "NVIDIA H100 80GB HBM3", 8, 16}};
  const auto curves = curve_planner({})(small_gpt(), 256, pools);
  ASSERT_TRUE(curves) << why(curves);
  ASSERT_EQ(curves->size(), 3U);
  EXPECT_TRUE((*curves)[1].empty()) << "nobody knows the T4";
  for (const std::int32_t gpus : {1, 2, 4, 8, 16}) {
    EXPECT_GT((*curves)[0].rate_at(gpus).value, 0) << gpus;
    EXPECT_GT((*curves)[2].rate_at(gpus).value, 2 * (*curves)[0].rate_at(gpus).value) << gpus;
  }
  EXPECT_EQ((*curves)[0].origin(), CurveOrigin::planned);
}

TEST(CurvePlanner, TheJobMaySayForWhich) {
  PlannedModel model = small_gpt();
  model.gpu = "h200";
  const std::vector<PoolGpus> pools{{PoolIndex{0}, "gpus", "CPU", 4, 4}};
  const auto curves = curve_planner({})(model, 256, pools);
  ASSERT_TRUE(curves) << why(curves);
  model.gpu = "h300";
  EXPECT_THAT(why(curve_planner({})(model, 256, pools)),
              HasSubstr("model.gpu is \"h300\", expected one of V100-16G"));
  model.gpu = "";
  EXPECT_THAT(why(curve_planner({})(model, 256, pools)),
              HasSubstr("model.gpu is missing, expected the type to plan for, because nobody knows "
                        "CPU, the GPUs of pool gpus: one of V100-16G"));
}

// As `weir plan --curve` does: from the GPU's kernels where a model of them is inside.
TEST(CurvePlanner, AsksTheKernelsOfAGpuThatWasMeasured) {
  const predict::GpuType& h200 = *predict::find_gpu_type("H200-141G");
  const auto kernels = times_of_kernels_inside(h200, predict::modern_runtime());
  ASSERT_NE(kernels, nullptr);
  EXPECT_EQ(times_of_kernels_inside(*predict::find_gpu_type("A100-80G"), predict::modern_runtime()),
            nullptr);
  const std::vector<PoolGpus> pools{{PoolIndex{0}, "new", "NVIDIA H200", 8, 8}};
  const auto curves = curve_planner({})(small_gpt(), 64, pools);
  ASSERT_TRUE(curves) << why(curves);
  plan::TransformerRequest request;
  request.task.model = small_gpt().dimensions;
  request.task.sequence = 1024;
  request.task.batch = 64;
  request.task.gpu = h200;
  request.task.fabric = predict::usual_fabric(h200, 8);
  request.task.runtime = predict::modern_runtime();
  request.gpus = 8;
  request.memory_bytes = h200.memory_gib * 1024 * 1024 * 1024;
  const std::vector<int> eight{8};
  const auto analytic = plan::planned_curve(plan::plan_sizes(request, eight)).rate_at(8).value;
  request.task.compute = kernels;
  const auto measured = plan::planned_curve(plan::plan_sizes(request, eight)).rate_at(8).value;
  EXPECT_EQ(curves->front().rate_at(8).value, measured);
  EXPECT_NE(analytic, measured);
}

TEST(CurvePlanner, SaysWhatDoesNotFit) {
  PlannedModel model = small_gpt();
  model.dimensions.layers = 96;
  model.dimensions.hidden = 12288;
  model.dimensions.heads = model.dimensions.kv_heads = 96;
  model.dimensions.head_dim = 128;
  model.dimensions.ffn = 4 * 12288;
  const std::vector<PoolGpus> pools{{PoolIndex{0}, "a", "A100-40G", 8, 8},
                                    {PoolIndex{1}, "b", "CPU", 8, 8}};
  EXPECT_THAT(
      why(curve_planner({})(model, 256, pools)),
      AllOf(HasSubstr("model is \"gpt with batch 256 and sequences of 1024\", expected one "
                      "that fits pool a: it needs"),
            HasSubstr("on each of 8 GPUs, and A100-40G has 40GiB"), HasSubstr("nobody knows CPU")));
}

TEST(CurvePlanner, SaysWhenAStepWouldTakeTooLong) {
  const std::vector<PoolGpus> pools{{PoolIndex{0}, "a", "V100-16G", 1, 1}};
  EXPECT_THAT(why(curve_planner({})(small_gpt(), 1'000'000'000, pools)),
              AllOf(HasSubstr("expected one that makes a step in at most 11 days: the best plan "
                              "for pool a needs "),
                    HasSubstr("A smaller model or batch"), Not(HasSubstr("can divide"))));
}

TEST(PlanInto, EveryPoolHasItsBook) {
  const Cluster cluster = formats::parse_cluster_shorthand("1x8xA100-80G+1x8xH100-80G").value();
  std::set<std::string> notes;
  for (const std::size_t count : {0U, 1U, 3U}) {
    std::vector<CurveBook> books(count);
    const auto curve = plan_into(cluster, books, {}, notes)({"gpt", 256}, small_gpt());
    ASSERT_FALSE(curve) << count;
    EXPECT_THAT(to_string(curve.error().details),
                HasSubstr("expected one book for each of the 2 pools with GPUs"));
  }
  std::vector<CurveBook> books(2);
  ASSERT_TRUE(plan_into(cluster, books, {}, notes)({"gpt", 256}, small_gpt()));
  EXPECT_LT(books[0].find({"gpt", 256})->rate_at(8), books[1].find({"gpt", 256})->rate_at(8));
}

// One job of a small GPT in a file of its own folder.
class PlannedJobs : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("gpt.json", content_of(kExamples + "/models/gpt2-small.json"));
    folder_.write("llama.json", content_of(kExamples + "/models/llama2-7b.json"));
  }
  Ran simulate(const std::string& jobs, const std::vector<std::string>& more = {},
               const std::string& cluster = "2x8xA100") {
    const auto file = folder_.write("jobs.yaml", jobs);
    std::vector<std::string> words{"simulate", "--cluster", cluster, "--jobs", file.string()};
    words.insert(words.end(), more.begin(), more.end());
    return weir(words);
  }
  formats::TemporaryFolder folder_;
};

TEST_F(PlannedJobs, ArePlayedWithoutATable) {
  const auto log = (folder_.path() / "run.jsonl").string();
  const Ran ran = simulate(
      "jobs:\n"
      "  - {name: a, model: {config: gpt.json, batch: 256}, iterations: 20000, deadline: 4h}\n"
      "  - {name: b, model: {config: llama.json, batch: 64, gpu: A100-80G}, iterations: 50}\n",
      {"--log", log});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(content_of(log), AllOf(HasSubstr("\"planned\""), HasSubstr("gpt-124M-s1024")));
  const Ran told = weir({"explain", "--log", log, "--job", "a"});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("It was planned with throughput from a plan of its model, which "
                                  "nobody has measured: "));
  const Ran larger = weir({"explain", "--log", log, "--job", "b"});
  EXPECT_THAT(larger.out, AllOf(HasSubstr("it/s on 4 GPUs"), Not(HasSubstr("on 1 GPU,"))))
      << "it does not fit one or two";
}

TEST_F(PlannedJobs, TheCurveIsThatOfTheCommand) {
  const auto log = (folder_.path() / "run.jsonl").string();
  ASSERT_EQ(simulate("jobs:\n  - {name: a, model: {config: gpt.json, batch: 256, gpu: A100-80G}, "
                     "iterations: 200}\n",
                     {"--log", log}, "1x8xA100")
                .exit_code,
            0);
  const Ran planned = weir({"plan", "--model-config", (folder_.path() / "gpt.json").string(),
                            "--batch", "256", "--sequence", "1024", "--gpu", "A100-80G", "--curve",
                            "1..8", "--out", (folder_.path() / "gpt.csv").string()});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  // 256,<1>,<2>,<4>,<8>: the same digits without the point.
  std::string row = content_of(folder_.path() / "gpt.csv");
  row = row.substr(row.find("\n256,") + 5);
  std::string one = row.substr(0, row.find(','));
  one.erase(one.find('.'), 1);
  one.erase(0, one.find_first_not_of('0'));
  EXPECT_THAT(content_of(log), HasSubstr("[[1," + one.substr(0, one.size() - 1)));
}

TEST_F(PlannedJobs, AllMistakesOfAFileAreNamedAtOnce) {
  const Ran ran = simulate(
      "jobs:\n"
      "  - {name: a, model: {config: none.json, batch: 256}, iterations: 20}\n"
      "  - {name: b, model: {config: gpt.json, batch: 0, gpu: H1000}, iterations: 20}\n"
      "  - {name: c, model: {config: gpt.json, batch: 8, gpu: x}, iterations: 20}\n"
      "  - {name: d, model: bert, batch: 8, iterations: 20}\n"
      "  - {name: e, model: {config: llama.json, batch: 8}, iterations: 20, gpus: 1, rigid: true}\n"
      "  - {name: f, model: {config: gpt.json, batch: 8}, batch: 9, iterations: 20}\n");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("jobs.yaml:2: model.config is \"none.json\", expected a file"),
                    HasSubstr("jobs.yaml:3: model.batch is \"0\""),
                    HasSubstr("jobs.yaml:3: model.gpu is \"H1000\", expected one of"),
                    HasSubstr("jobs.yaml:4: model.gpu is \"x\", expected one of"),
                    HasSubstr("jobs.yaml:5: model is \"bert\", expected a model with measured "
                              "throughput, and there is none; or one to plan: {config: gpt.json, "
                              "batch: 256}"),
                    HasSubstr("jobs.yaml:6: gpus is \"1\", expected a size at which "
                              "llama-6.74B-s4096 was planned, because rigid is true: 8, 16"),
                    HasSubstr("jobs.yaml:7: batch is \"9\", expected it inside of model")));
}

TEST_F(PlannedJobs, ATableAndAPlanOfOneNameAreNotMixed) {
  std::filesystem::create_directory(folder_.path() / "curves");
  folder_.write("curves/mine.csv", "global_batch_size,1,2\n8,1,2\n");
  const Ran ran = simulate(
      "jobs:\n  - {name: a, model: {config: gpt.json, batch: 8, name: mine}, iterations: 20}\n",
      {"--curves", (folder_.path() / "curves").string()});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("expected a plan or a table, not both: --curves has mine with "
                                 "batch 8; write model: mine or give another model.name"));
}

TEST_F(PlannedJobs, TwoModelsOfOneNameAreRefused) {
  const Ran ran = simulate(
      "jobs:\n"
      "  - {name: a, model: {config: gpt.json, batch: 8, name: m}, iterations: 20}\n"
      "  - {name: b, model: {config: gpt.json, batch: 8, name: m, sequence: 64}, iterations: 2}\n");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("jobs.yaml:3: model.name is \"m\", expected another name"));
}

TEST_F(PlannedJobs, NothingThatFitsIsAMistakeOfTheFile) {
  const Ran ran =
      simulate("jobs:\n  - {name: a, model: {config: llama.json, batch: 8}, iterations: 20}\n", {},
               "1x1xV100");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("jobs.yaml:2: model is \"llama-6.74B-s4096"),
                             HasSubstr("V100-16G has 16GiB")));
}

TEST_F(PlannedJobs, AreSaidToBePlanned) {
  const std::string jobs =
      "jobs:\n  - {name: a, model: {config: gpt.json, batch: 256}, iterations: 200}\n";
  const auto page = (folder_.path() / "page.html").string();
  const Ran ran = simulate(jobs, {"--report", page}, "1x8xA100-80G");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(
      ran.out,
      HasSubstr("Note: throughput from plans, which nobody has measured: gpt-124M-s1024.\n"));
  EXPECT_THAT(ran.err, Not(HasSubstr("note:"))) << "A100-80G is one type";
  EXPECT_THAT(content_of(page), HasSubstr("planned, not measured"));
  EXPECT_THAT(simulate(jobs, {"--json"}).out, HasSubstr("\"planned_models\":[\"gpt-124M-s1024\"]"));
}

TEST_F(PlannedJobs, ANameOfTwoTypesIsTakenForOneAndThatIsTold) {
  const Ran pool =
      simulate("jobs:\n  - {name: a, model: {config: gpt.json, batch: 8}, iterations: 20}\n");
  EXPECT_EQ(pool.exit_code, 0) << pool.err;
  EXPECT_THAT(pool.err, HasSubstr("note: A100 is taken to be A100-40G, the one with the least "
                                  "memory; write A100-80G if that is meant\n"));
  const Ran model = simulate(
      "jobs:\n  - {name: a, model: {config: gpt.json, batch: 8, gpu: v100}, iterations: 20}\n");
  EXPECT_THAT(model.err, HasSubstr("note: v100 is taken to be V100-16G"));
  EXPECT_EQ(note_on_choice("H200", {}), std::nullopt) << "there is one";
  EXPECT_EQ(note_on_choice("B200", {}), std::nullopt) << "nobody's";
}

TEST_F(PlannedJobs, WhatIsWrongWithTheFileComesBeforeTheCurves) {
  const auto of = [&](const std::string& file) {
    const Ran ran = weir({"simulate", "--cluster", "1x8xA100-80G", "--jobs", file});
    EXPECT_EQ(ran.exit_code, 2);
    return ran.err;
  };
  EXPECT_THAT(of((folder_.path() / "gpt.json").string()),
              AllOf(HasSubstr("gpt.json: file is \"the config of a model\""),
                    Not(HasSubstr("--curves is missing"))));
  EXPECT_THAT(of(folder_.write("empty.yaml", "").string()),
              AllOf(HasSubstr("empty.yaml: file is \"empty\""), Not(HasSubstr("--curves"))));
  EXPECT_THAT(of(folder_.write("named.yaml", "jobs: [{name: a, model: bert}]\n").string()),
              HasSubstr("--curves is missing"));
}

}  // namespace
}  // namespace weir::cli
