// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/iteration_prediction.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "predict/kernels/device_specs.h"
#include "predict/kernels/fit_host.h"
#include "predict/kernels/known_networks.h"
#include "predict/kernels/scaled_model.h"

namespace weir::predict {
namespace {

// Knows a roofline only.
KernelModel bare_model() {
  KernelModel model;
  model.device = *find_device("h200");
  model.roofline_flops = {{"bf16", 5e14}, {"fp32", 4e13}};
  model.roofline_bytes_per_second = 3e12;
  model.host = {10, 3, 8};
  return model;
}

TEST(IterationPrediction, IsTheSumOfItsOperatorsWhereTheGpuIsSlower) {
  const KernelModel model = bare_model();
  const KernelPredictor predictor{model};
  const TrainingOps ops = *known_network("gpt2-medium", 64);
  const IterationPrediction iteration = predict_iteration(predictor, ops, 0);
  double sum = 0;
  for (const TrainingOp& op : ops.ops)
    sum += predictor.predict(op.call).seconds * static_cast<double>(op.count);
  EXPECT_NEAR(iteration.gpu_seconds, sum, 1e-12 * sum);
  EXPECT_EQ(iteration.seconds, iteration.gpu_seconds);
  EXPECT_FALSE(iteration.is_launch_bound());
  EXPECT_NEAR(std::accumulate(iteration.phase_seconds.begin(), iteration.phase_seconds.end(), 0.0),
              sum, 1e-9 * sum);
  EXPECT_NEAR(std::accumulate(iteration.class_seconds.begin(), iteration.class_seconds.end(), 0.0),
              sum, 1e-9 * sum);
}

TEST(IterationPrediction, FollowsTheCpuWhereThatIsSlower) {
  const KernelModel model = bare_model();
  const KernelPredictor predictor{model};
  const TrainingOps ops = *known_network("resnet50", 1);
  const IterationPrediction slow = predict_iteration(predictor, ops, 20);
  EXPECT_TRUE(slow.is_launch_bound());
  EXPECT_NEAR(slow.seconds, 20e-6 * (3 * slow.calls + 8 * 161), 1e-9);
  EXPECT_NEAR(predict_iteration(predictor, ops, 0).cpu_seconds * 2, slow.cpu_seconds, 1e-9);
}

TEST(IterationPrediction, ListsTheLongestFirst) {
  const KernelModel model = bare_model();
  const IterationPrediction iteration =
      predict_iteration(KernelPredictor{model}, *known_network("vgg16", 8), 0);
  for (std::size_t i = 1; i < iteration.ops.size(); ++i)
    EXPECT_GE(iteration.ops[i - 1].seconds, iteration.ops[i].seconds);
  EXPECT_NEAR(iteration.extrapolated_seconds, iteration.gpu_seconds, 1e-12);
}

TEST(FitHost, FindsWhatTheCpuNeedsFromIterationsThatItLimits) {
  KernelModel model = bare_model();
  std::vector<MeasuredIteration> iterations;
  for (const char* name : {"resnet18", "vgg11", "bert-mini", "gpt-mini"}) {
    const TrainingOps ops = *known_network(name, 1);
    double calls = 0;
    for (const TrainingOp& op : ops.ops)
      calls += op.phase == TrainingPhase::optimizer ? 0 : static_cast<double>(op.count);
    iterations.push_back(
        {name, 1, 0, false, 1e-3 * 9 * (4 * calls + 11 * static_cast<double>(ops.tensors)), 9});
  }
  iterations.push_back({"resnet50", 8, 0, true, 1, 1});      // judged: not looked at
  iterations.push_back({"resnet18", 4096, 0, false, 1, 1});  // the GPU is slower
  iterations.push_back({"vgg11", 2, 0, false, 1000, 9});     // not its smallest batch
  iterations.push_back(
      {"llama-mini", 512, 0, false, 1, 1});  // the GPU is slower, and there is no smaller one
  fit_host(iterations, model);
  EXPECT_NEAR(model.host.op_probes, 4, 0.01);
  EXPECT_NEAR(model.host.tensor_probes, 11, 0.05);
  EXPECT_EQ(model.host.probe_microseconds, 9);
}

TEST(HabitatFactor, IsOneToItselfAndFollowsBandwidthForCopies) {
  const DeviceSpec h200 = *find_device("H200");
  const DeviceSpec a100 = *find_device("NVIDIA A100-PCIE-40GB");
  const KernelCall copy{KernelFamily::rows, "copy", "bf16", "", {4096, 4096}};
  EXPECT_NEAR(habitat_factor(copy, h200, h200, 1000), 1, 1e-12);
  EXPECT_NEAR(habitat_factor(copy, h200, a100, 1000), 4800.0 / 1555, 0.02);
}

// Its scores stay on the GPU's SMs: what counts is arithmetic.
TEST(HabitatFactor, FusedAttentionIsScaledByArithmetic) {
  const DeviceSpec h200 = *find_device("h200");
  DeviceSpec slow_memory = h200;
  slow_memory.bytes_per_second /= 4;
  const auto factor = [&](const char* variant) {
    return habitat_factor(
        {KernelFamily::attention, "sdpa", "bf16", variant, {8, 16, 16, 8192, 8192, 64, 1}}, h200,
        slow_memory, 10000);
  };
  EXPECT_LT(factor("fwd/cudnn"), 1.5);
  EXPECT_GT(factor("fwd/math"), 2);
}

TEST(ScaledSeconds, ALaunchTakesAsLongOnEveryGpu) {
  const DeviceSpec h200 = *find_device("h200");
  const DeviceSpec l4 = *find_device("l4");
  const KernelCall copy{KernelFamily::rows, "copy", "bf16", "", {4, 64}};
  EXPECT_NEAR(scaled_seconds(copy, 2e-6, 1, 1, h200, l4), 2e-6, 0.2e-6);
  EXPECT_NEAR(scaled_seconds(copy, 1e-6, 1, 1, h200, l4), 1e-6, 1e-12);
  // A hundred blocks take two turns on 60 SMs; a full grid waits for memory.
  EXPECT_NEAR(scaled_seconds(copy, 2.3e-6, 1, 120, h200, l4), 1.3e-6 + 2e-6, 0.1e-6);
  EXPECT_NEAR(scaled_seconds(copy, 1e-3, 1, 9999, h200, l4), 16e-3, 0.2e-3);
}

RC_GTEST_PROP(HabitatFactorProperties, TwiceTheGpuTakesHalfTheTime, ()) {
  const DeviceSpec from = *find_device("h200");
  const DeviceSpec to = *find_device("a100");
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(16, 8192); };
  const KernelCall call{KernelFamily::gemm, "mm", "bf16", "nn", {1, size(), size(), size()}};
  const double blocks = *rc::gen::inRange(132, 2000);
  const double before = habitat_factor(call, from, to, blocks);
  RC_ASSERT(before > 1);  // an A100 is slower
  DeviceSpec twice = to;
  twice.bytes_per_second *= 2;
  for (auto& [format, rate] : twice.flops) rate *= 2;
  RC_ASSERT(std::abs(habitat_factor(call, from, twice, blocks) / before - 0.5) < 1e-9);
}

TEST(DeviceSpecs, AreFoundByEitherName) {
  EXPECT_EQ(find_device("h200")->name, "NVIDIA H200");
  EXPECT_EQ(find_device("nvidia h200")->name, "NVIDIA H200");
  EXPECT_EQ(find_device("A100-80")->name, "NVIDIA A100 80GB PCIe");
  EXPECT_EQ(find_device("A100-80G")->name, "NVIDIA A100 80GB PCIe");  // as `weir plan` calls it
  EXPECT_EQ(find_device("h200-141g")->name, "NVIDIA H200");
  EXPECT_FALSE(find_device("h300"));
  EXPECT_EQ(short_device_name("Tesla T4"), "t4");
}

}  // namespace
}  // namespace weir::predict
