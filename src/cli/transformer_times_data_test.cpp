// SPDX-License-Identifier: Apache-2.0
//
// Compute times of plans: where they come from, and how far they are from iterations that were measured on one H200. No row
// here was used to fit anything. The tables are printed; docs/models/transformer.md has them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/embedded_kernel_models.h"
#include "cli/run_testing.h"
#include "cli/transformer_times.h"
#include "formats/kernel_model_json.h"
#include "formats/measured_iterations_csv.h"
#include "formats/temporary_file_testing.h"
#include "predict/transformer/kernel_times.h"
#include "predict/transformer/published_runs_testing.h"

namespace weir::cli {
namespace {

using predict::TransformerPlan;
using predict::TransformerTask;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kDocs = kExamples + "/../docs/measurements";

// The model inside weir as a file.
const std::string& model_file() {
  static const formats::TemporaryFolder kFolder;
  static const std::string kPath =
      kFolder.write("h200.json", *formats::kernel_model_json(*embedded_kernel_model("h200")));
  return kPath;
}

Ran plan_on(const std::vector<std::string>& more) {
  std::vector<std::string> words{"plan", "--model-config", kExamples + "/models/llama2-7b-gqa.json",
                                 "--batch", "64"};
  words.insert(words.end(), more.begin(), more.end());
  return weir(words);
}

TEST(TransformerTimes, AreThoseOfKernelsWhereAModelOfThemIsInside) {
  const auto answer = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--nodes", "2", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = plan_on(words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out);
  };
  const auto kernels = answer({"--gpu", "h200"});
  EXPECT_EQ(kernels["compute_times"], "kernel model of NVIDIA H200");
  EXPECT_TRUE(kernels.contains("beyond_measured_ms"));
  EXPECT_GT(kernels["cpu_ms"], 0);
  const auto analytic = answer({"--gpu", "h200", "--times", "analytic"});
  EXPECT_EQ(analytic["compute_times"], "analytic");
  EXPECT_GT(analytic["cpu_ms"], 0);
  EXPECT_FALSE(analytic.contains("beyond_measured_ms"));
  EXPECT_NE(analytic["predicted_ms"], kernels["predicted_ms"]);
  EXPECT_EQ(answer({"--gpu", "A100-80G"})["compute_times"], "analytic");
  const auto file = answer({"--gpu", "h200", "--kernel-model", model_file()});
  EXPECT_EQ(file["predicted_ms"], kernels["predicted_ms"]);
}

TEST(TransformerTimes, AreNamedInTheText) {
  EXPECT_THAT(plan_on({"--gpu", "h200"}).out,
              HasSubstr("Compute times: kernel model of NVIDIA H200"));
  EXPECT_THAT(plan_on({"--gpu", "h200", "--times", "analytic"}).out,
              HasSubstr("Compute times: analytic. Nothing was measured"));
  EXPECT_THAT(plan_on({"--gpu", "h200", "--curve", "1..8"}).out,
              HasSubstr("Compute times: kernel model of NVIDIA H200, links"));
}

// A user's own description holds, whatever its name is.
TEST(TransformerTimes, OfADescribedGpuAreItsOwn) {
  const formats::TemporaryFolder folder;
  const std::string file = (folder.path() / "gpus.yaml").string();
  std::ofstream{file} << "gpus:\n  - {name: H200, tflops: 10, memory: 141GiB, memory_rate: 1000, "
                         "link_rate: 100}\n";
  const Ran ran = plan_on({"--gpu-file", file});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Compute times: analytic"),
                             HasSubstr("no run of H200 was compared")));
  EXPECT_THAT(plan_on({"--gpu-file", file, "--out", file}).err, HasSubstr("--out"));
}

TEST(TransformerTimes, OfAnotherGpuAreRefused) {
  Ran ran = plan_on({"--gpu", "A100-80G", "--kernel-model", model_file()});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("device is \"NVIDIA H200\", expected a model of A100-80G, as"));
  ran = plan_on({"--gpu", "A100-80G", "--times", "kernels"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--times is \"kernels\", expected analytic, or --kernel-model"));
  ran = plan_on({"--gpu", "h200", "--times", "analytic", "--kernel-model", model_file()});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--kernel-model is \"given\", expected none with --times"));
  ran = weir({"plan", "--model", "gpt", "--size", "1.3B", "--times", "kernels"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--times is"));
}

// On one GPU, everything kept, the whole batch at once.
struct Prediction {
  double analytic = 0;  // ms
  double kernels = 0;
  bool is_launch_bound = false;
};
Prediction predicted(const TransformerModel& model, std::int64_t sequence, std::int64_t batch,
                     const predict::RuntimeTraits& runtime, const KernelModel& kernels) {
  TransformerTask task = predict::task_on("H200-141G", model, sequence, batch, runtime);
  TransformerPlan plan;
  plan.mode = predict::ParallelMode::mtp;
  plan.micro_batch = static_cast<int>(batch);
  Prediction prediction;
  prediction.analytic = predict::transformer_time(task, plan).iteration * 1000;
  task.compute = std::make_shared<const predict::KernelTimes>(kernels, runtime);
  const predict::TransformerTime time = predict::transformer_time(task, plan);
  prediction.kernels = time.iteration * 1000;
  prediction.is_launch_bound = time.launching > 0;
  return prediction;
}

double error_of(double predicted_ms, double measured_ms) {
  return predicted_ms / measured_ms - 1;
}

void print_row(const std::string& name, double measured, const Prediction& prediction) {
  fmt::print(
      "{:28} {:7.2f} ms measured, analytic {:7.2f} ({:+5.1f} %), kernels {:7.2f} ({:+5.1f} %){}\n",
      name, measured, prediction.analytic, 100 * error_of(prediction.analytic, measured),
      prediction.kernels, 100 * error_of(prediction.kernels, measured),
      prediction.is_launch_bound ? " launch-bound" : "");
}

TEST(TransformerTimes, AreNearStepsThatWereMeasured) {
  const auto kernels = embedded_kernel_model("h200");
  ASSERT_TRUE(kernels);
  std::ifstream file{kDocs + "/gpt-steps-h200.csv"};
  std::string line;
  std::getline(file, line);
  // The script kept Adam's state in bf16: it moved 14 bytes where plans count 34.
  predict::RuntimeTraits script = predict::modern_runtime();
  script.optimizer_bytes = 14;
  double bias = 0;
  double script_bias = 0;
  int rows = 0;
  while (std::getline(file, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream cells{line};
    std::int64_t layers = 0, hidden = 0, heads = 0, vocab = 0, batch = 0, sequence = 0;
    double measured = 0;
    cells >> layers >> hidden >> heads >> vocab >> batch >> sequence >> measured;
    const Prediction prediction = predicted(predict::gpt_like(layers, hidden, heads, vocab),
                                            sequence, batch, predict::modern_runtime(), *kernels);
    print_row(fmt::format("{} x {}, {} x {}", layers, hidden, batch, sequence), measured,
              prediction);
    // As the answers for an H200 say (report/transformer_accuracy.cpp).
    EXPECT_LT(std::abs(error_of(prediction.kernels, measured)), 0.06);
    EXPECT_LT(std::abs(error_of(prediction.analytic, measured)), 0.12);
    bias += error_of(prediction.kernels, measured);
    const Prediction lighter = predicted(predict::gpt_like(layers, hidden, heads, vocab), sequence,
                                         batch, script, *kernels);
    print_row("  with bf16 state", measured, lighter);
    EXPECT_LT(std::abs(error_of(lighter.kernels, measured)), 0.09);
    script_bias += error_of(lighter.kernels, measured);
    ++rows;
  }
  ASSERT_EQ(rows, 5);
  fmt::print("bias of kernels {:+.1f} %, with bf16 state {:+.1f} %\n", 100 * bias / rows,
             100 * script_bias / rows);
}

// With the speed of the CPU that was measured beside each row, as in docs/models/kernels.md.
TEST(TransformerTimes, AreNearIterationsUnderAutocastThatWereMeasured) {
  auto kernels = embedded_kernel_model("h200");
  ASSERT_TRUE(kernels);
  auto input = formats::InputFile::open(kDocs + "/h200_iterations.csv.gz");
  ASSERT_TRUE(input);
  const auto rows = formats::read_measured_iterations(std::move(*input));
  ASSERT_TRUE(rows);
  int judged = 0;
  for (const MeasuredIteration& row : *rows) {
    const bool is_gpt = row.network == "gpt2-medium";
    if (!is_gpt && row.network != "llama-1b") continue;
    const TransformerModel model = is_gpt ? predict::gpt_like(24, 1024, 16, 50'257)
                                          : predict::llama_like(16, 2048, 32, 8, 8192, 32'000);
    kernels->host.probe_microseconds = row.probe_microseconds;
    const Prediction prediction =
        predicted(model, is_gpt ? 1024 : 512, row.batch, predict::autocast_runtime(), *kernels);
    print_row(fmt::format("{} {}", row.network, row.batch), row.milliseconds, prediction);
    EXPECT_LT(std::abs(error_of(prediction.kernels, row.milliseconds)), 0.15);
    // It knows no casts, and no speed of this CPU.
    const double analytic = error_of(prediction.analytic, row.milliseconds);
    EXPECT_GT(analytic, -0.41);
    EXPECT_LT(analytic, prediction.is_launch_bound ? 0.37 : -0.14);
    ++judged;
  }
  EXPECT_EQ(judged, 12);
}

}  // namespace
}  // namespace weir::cli
