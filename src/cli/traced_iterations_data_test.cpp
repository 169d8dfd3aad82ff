// SPDX-License-Identifier: Apache-2.0
//
// Networks that were traced without a GPU (examples/ops) against the same networks as weir writes them out, and against
// iterations measured on the H200: the table of docs/models/kernels.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

#include "cli/embedded_kernel_models.h"
#include "domain/source_folder_testing.h"
#include "formats/measured_iterations_csv.h"
#include "formats/traced_training_json.h"
#include "predict/kernels/error_figures.h"
#include "predict/kernels/iteration_prediction.h"
#include "predict/kernels/known_networks.h"
#include "predict/kernels/traced_ops.h"

namespace weir::cli {
namespace {

predict::TrainingOps traced_file(const std::filesystem::path& path, std::int64_t batch) {
  auto input = formats::InputFile::open(path);
  EXPECT_TRUE(input) << path;
  const auto traced = formats::read_traced_training(std::move(*input));
  EXPECT_TRUE(traced) << to_string(traced.error().details);
  EXPECT_EQ(traced->batch, batch);
  return predict::ops_of_trace(*traced);
}

predict::TrainingOps traced_network(const std::string& name, std::int64_t batch) {
  return traced_file(
      source_folder() / "examples" / "ops" / fmt::format("{}-{}.json.gz", name, batch), batch);
}

std::vector<MeasuredIteration> measured_iterations(const char* file) {
  auto input = formats::InputFile::open(source_folder() / "docs" / "measurements" / file);
  return *formats::read_measured_iterations(std::move(*input));
}

std::vector<MeasuredIteration> judged_iterations() {
  auto iterations = measured_iterations("h200_iterations.csv.gz");
  std::erase_if(iterations, [](const MeasuredIteration& one) { return !one.is_judged; });
  return iterations;
}

// The middle and the worst of two rounds of fifteen.
void expect_below(const std::vector<double>& errors, double median, double worst) {
  ASSERT_EQ(errors.size(), 30U);
  const auto figures = predict::median_and_worst(errors);
  fmt::print("median {:.1f} %, worst {:.1f} %\n", 100 * figures.median, 100 * figures.worst);
  EXPECT_LT(figures.median, median);
  EXPECT_LT(figures.worst, worst);
}

// All iterations of another session, with the networks, against what was fitted to this one's.
TEST(IterationsOfAnotherSession, AreAsNear) {
  const auto model = embedded_kernel_model("h200");
  ASSERT_TRUE(model);
  const predict::KernelPredictor predictor{*model};
  std::vector<double> judged;
  for (const MeasuredIteration& measured : measured_iterations("h200_iterations_again.csv.gz")) {
    const auto ops = predict::known_network(measured.network, measured.batch);
    ASSERT_TRUE(ops) << measured.network;
    const auto iteration = predict::predict_iteration(predictor, *ops, measured.probe_microseconds);
    const double error = iteration.seconds * 1e3 / measured.milliseconds - 1;
    if (measured.is_judged) judged.push_back(std::abs(error));
    fmt::print("{} {}{}: {:.1f} measured, {:.1f} predicted, {:+.1f} %\n", measured.network,
               measured.batch, measured.is_judged ? "" : " (like those fitted to)",
               measured.milliseconds, iteration.seconds * 1e3, 100 * error);
  }
  expect_below(judged, 0.06,
               0.2);  // llama-1b at 1: the first iteration of a turn counted, above 15 %
}

TEST(TracedIterations, AreAsFastAsTheNetworksThatAreWrittenOutAndNearTheMeasuredOnes) {
  const auto model = embedded_kernel_model("h200");
  ASSERT_TRUE(model);
  const predict::KernelPredictor predictor{*model};
  std::vector<double> errors;
  for (const MeasuredIteration& measured : judged_iterations()) {
    const auto named = predict::known_network(measured.network, measured.batch);
    ASSERT_TRUE(named) << measured.network;
    const predict::TrainingOps ops = traced_network(measured.network, measured.batch);
    EXPECT_EQ(ops.parameters, named->parameters) << measured.network;
    EXPECT_EQ(ops.tensors, named->tensors) << measured.network;
    const double probe = measured.probe_microseconds;
    const auto of_trace = predict::predict_iteration(predictor, ops, probe);
    const auto of_name = predict::predict_iteration(predictor, *named, probe);
    const double apart = of_trace.gpu_seconds / of_name.gpu_seconds - 1;
    EXPECT_LT(std::abs(apart), 0.01) << measured.network << " " << measured.batch;
    EXPECT_LT(std::abs(of_trace.calls / of_name.calls - 1), 0.025) << measured.network;
    const double error = of_trace.seconds * 1e3 / measured.milliseconds - 1;
    errors.push_back(std::abs(error));
    fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:+.1f} |\n", measured.network,
               measured.batch, measured.milliseconds, of_name.seconds * 1e3, of_trace.seconds * 1e3,
               100 * error);
  }
  expect_below(errors, 0.06, 0.15);
}

// As tools/collect/decoders.py writes them out in PyTorch.
constexpr std::int64_t kDecoderLength = 512;

TransformerModel small_decoder(const std::string& name) {
  TransformerModel decoder;
  decoder.name = name;
  decoder.is_gated = decoder.name != "gpt_neox";
  decoder.layers = 6;
  decoder.hidden = 1024;
  decoder.heads = 16;
  decoder.kv_heads = decoder.is_gated ? 4 : 16;
  decoder.head_dim = 64;
  decoder.ffn = 2816;
  decoder.vocab = 32000;
  return decoder;
}

// Nothing of them is in any fit.
TEST(DecodersOfTheH200, AreNearWhatWasMeasured) {
  const auto model = embedded_kernel_model("h200");
  ASSERT_TRUE(model);
  const predict::KernelPredictor predictor{*model};
  std::vector<double> errors;
  for (const MeasuredIteration& measured : measured_iterations("h200_decoders.csv.gz")) {
    const auto iteration = predict::predict_iteration(
        predictor,
        predict::transformer_ops(small_decoder(measured.network), measured.batch, kDecoderLength),
        measured.probe_microseconds);
    const double error = iteration.seconds * 1e3 / measured.milliseconds - 1;
    errors.push_back(std::abs(error));
    fmt::print("| {} | {} | {:.1f} | {:.1f} | {:+.1f}{} |\n", measured.network, measured.batch,
               measured.milliseconds, iteration.seconds * 1e3, 100 * error,
               iteration.is_launch_bound() ? " launch-bound" : "");
  }
  expect_below(errors, 0.08, 0.2);
}

TEST(TracedDecoders, TakeAsLongAsWhatIsMadeOfTheirDimensions) {
  constexpr std::int64_t kBatch = 8;
  const auto model = embedded_kernel_model("h200");
  ASSERT_TRUE(model);
  const predict::KernelPredictor predictor{*model};
  for (const char* name : {"llama", "qwen2", "qwen3", "internlm2", "gpt_neox"}) {
    const TransformerModel decoder = small_decoder(name);
    const auto of_dimensions = predict::transformer_ops(decoder, kBatch, kDecoderLength);
    const auto of_trace = traced_file(
        source_folder() / "tests" / "fixtures" / "ops" / fmt::format("{}.json.gz", name), kBatch);
    EXPECT_EQ(of_dimensions.parameters, of_trace.parameters) << name;
    EXPECT_EQ(of_dimensions.tensors, of_trace.tensors) << name;
    const auto one = predict::predict_iteration(predictor, of_dimensions, 0);
    const auto other = predict::predict_iteration(predictor, of_trace, 0);
    fmt::print("{}: {:.2f} ms from dimensions, {:.2f} ms traced; {} and {} operators\n", name,
               one.gpu_seconds * 1e3, other.gpu_seconds * 1e3, one.calls, other.calls);
    EXPECT_LT(std::abs(one.gpu_seconds / other.gpu_seconds - 1), 0.01) << name;
    EXPECT_LT(std::abs(one.calls / other.calls - 1), 0.02) << name;
  }
}

// Only VGG's pooling from 7 x 7 to 7 x 7 has no times of its own.
TEST(TracedIterations, LeaveAlmostNothingToStandIns) {
  const auto model = embedded_kernel_model("h200");
  ASSERT_TRUE(model);
  const predict::KernelPredictor predictor{*model};
  for (const MeasuredIteration& measured : judged_iterations()) {
    const auto iteration =
        predict::predict_iteration(predictor, traced_network(measured.network, measured.batch), 0);
    double seconds = 0;
    for (const predict::PredictedOp& op : iteration.ops)
      if (!op.op.stands_for.empty()) seconds += op.seconds;
    EXPECT_LT(seconds, 0.002 * iteration.gpu_seconds) << measured.network << " " << measured.batch;
  }
}

}  // namespace
}  // namespace weir::cli
