// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/fit_kernels.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "domain/seeded_rng.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/error_figures.h"
#include "predict/kernels/kernel_predictor.h"
#include "predict/kernels/launch_sketch.h"

namespace weir::predict {
namespace {

constexpr double kSms = 10;

DeviceSpec small_device() {
  return {"small", kSms, 1000, 1e11, 1e6, {{"fp32", 1e12}}, 64};
}

// A made-up device whose times follow the model's form: launch, whole waves, bytes.
double true_milliseconds(const KernelCall& call) {
  const double tiles = std::ceil(static_cast<double>(call.sizes[1]) / 64) *
                       std::ceil(static_cast<double>(call.sizes[3]) / 64);
  const double waves = std::ceil(tiles / kSms);
  const double bytes = kernel_work(call).bytes;
  return 1e3 * (4e-6 + waves * 64 * 64 * static_cast<double>(call.sizes[2]) * 2e-11 + bytes / 1e11);
}

std::vector<KernelSample> made_up(int count, std::uint64_t seed) {
  SeededRng rng{seed};
  std::vector<KernelSample> samples;
  for (int i = 0; i < count; ++i) {
    KernelSample sample;
    const auto size = [&] { return static_cast<std::int64_t>(std::exp2(5 + 6 * rng.uniform())); };
    sample.call = {KernelFamily::gemm, "mm", "fp32", "nn", {1, size(), size(), size()}};
    const auto tiles = [](std::int64_t n) { return (n + 63) / 64; };
    sample.launch = {"sgemm_64x64_nn",
                     "0",
                     tiles(sample.call.sizes[1]) * tiles(sample.call.sizes[3]),
                     128,
                     1,
                     1,
                     0};
    sample.milliseconds = true_milliseconds(sample.call);
    samples.push_back(sample);
  }
  return samples;
}

std::vector<const KernelSample*> pointers(const std::vector<KernelSample>& samples) {
  std::vector<const KernelSample*> all;
  for (const KernelSample& sample : samples) all.push_back(&sample);
  return all;
}

const KernelModel& fitted() {
  static const std::vector<KernelSample> kSamples = made_up(400, 1);
  static const KernelModel kModel = fit_kernels(pointers(kSamples), small_device(), {});
  return kModel;
}

TEST(FitKernels, FindsTheFormThatMadeTheTimes) {
  const KernelPredictor predictor{fitted()};
  std::vector<PredictedTime> known;
  std::vector<PredictedTime> predicted;
  for (const KernelSample& sample : made_up(100, 2)) {
    known.push_back(
        {predictor.with_launch(sample.call, sample.launch).seconds * 1e3, sample.milliseconds});
    predicted.push_back({predictor.predict(sample.call).seconds * 1e3, sample.milliseconds});
  }
  EXPECT_LT(error_figures(known).mean, 0.05);
  EXPECT_LT(error_figures(predicted).mean, 0.2);
}

// The driver's copies have no blocks: profilers write down one, whatever the size.
std::vector<KernelSample> made_up_copies(int count) {
  SeededRng rng{3};
  std::vector<KernelSample> samples;
  for (int i = 0; i < count; ++i) {
    const auto size = [&] { return static_cast<std::int64_t>(std::exp2(4 + 9 * rng.uniform())); };
    KernelSample sample;
    sample.call = {KernelFamily::rows, "copy", "fp32", "", {size(), size()}};
    sample.launch = {"(memcpy)", "0", 1, 1, 1, 1, 0};
    sample.milliseconds = 1e3 * (2e-6 + kernel_work(sample.call).bytes / 8e10);
    samples.push_back(sample);
  }
  return samples;
}

TEST(FitKernels, CopiesOfTheDriverGrowWithTheirBytesHoweverTheyAreCutIntoRows) {
  const std::vector<KernelSample> samples = made_up_copies(200);
  const KernelModel model = fit_kernels(pointers(samples), small_device(), {});
  const KernelPredictor predictor{model};
  for (const std::int64_t columns : {64, 512, 4096}) {
    const KernelCall call{KernelFamily::rows, "copy", "fp32", "", {(1 << 24) / columns, columns}};
    const KernelPrediction copied = predictor.predict(call);
    EXPECT_NEAR(copied.seconds / (2e-6 + kernel_work(call).bytes / 8e10), 1, 0.15) << columns;
    EXPECT_EQ(copied.kind, KernelClass::dram_bound);
    EXPECT_GT(copied.blocks, 1000);
  }
  const KernelCall small{KernelFamily::rows, "copy", "fp32", "", {16, 16}};
  EXPECT_EQ(predictor.predict(small).kind, KernelClass::under_utilised);
}

TEST(FitKernels, NothingBeyondWhatWasMeasuredIsFasterThanMemory) {
  std::vector<KernelSample> samples = made_up_copies(200);
  // Caches make small ones faster than memory is: nothing here tells how slow large ones are.
  for (KernelSample& sample : samples)
    sample.milliseconds = 1e3 * (2e-6 + kernel_work(sample.call).bytes / 1e12);
  const KernelModel model = fit_kernels(pointers(samples), small_device(), {});
  const KernelCall large{KernelFamily::rows, "copy", "fp32", "", {1 << 16, 1 << 14}};
  const KernelPrediction copied = KernelPredictor{model}.predict(large);
  EXPECT_TRUE(copied.is_extrapolated);
  EXPECT_GE(copied.seconds, 0.999 * kernel_work(large).bytes / small_device().bytes_per_second);
}

TEST(FitKernels, IsTheSameEachTime) {
  const std::vector<KernelSample> samples = made_up(400, 1);
  EXPECT_EQ(fit_kernels(pointers(samples), small_device(), {}), fitted());
}

TEST(FitKernels, FewSamplesOfAKernelLeanOnTheOthers) {
  std::vector<KernelSample> samples = made_up(100, 1);
  for (std::size_t i = 0; i < 6; ++i) {
    samples[i].launch.kernel = "sgemm_64x64_nt_special";
    samples[i].launch.algorithm = "7";
    samples[i].milliseconds *= 3;
  }
  KernelFitOptions options;
  options.with_corrections = false;
  options.with_dispatch = false;
  const KernelModel model = fit_kernels(pointers(samples), small_device(), options);
  const auto special =
      std::find_if(model.groups.begin(), model.groups.end(),
                   [](const KernelGroup& group) { return group.key.ends_with("/7"); });
  ASSERT_NE(special, model.groups.end());
  EXPECT_EQ(special->samples, 6);
  const KernelPredictor predictor{model};
  KernelLaunch usual = samples[20].launch;
  KernelLaunch other = usual;
  other.algorithm = "7";
  const double ratio = predictor.with_launch(samples[20].call, other).seconds /
                       predictor.with_launch(samples[20].call, usual).seconds;
  EXPECT_GT(ratio, 1.8);
  EXPECT_LT(ratio, 3.1);
}

TEST(FitKernels, NothingAlikeFallsBackToTheRooflineAndSaysSo) {
  const KernelPredictor predictor{fitted()};
  const KernelPrediction prediction =
      predictor.predict({KernelFamily::conv, "conv", "fp32", "fwd/nchw", {1, 8, 8, 3, 32, 1, 1}});
  EXPECT_TRUE(prediction.is_extrapolated);
  EXPECT_GT(prediction.seconds, 0);
}

// 1 TFLOP/s of float32, 4 of bf16 by the sheet.
TEST(FitKernels, AFormatThatNobodyMeasuredTakesFloat32sArithmeticOrThatOfTheSheet) {
  const KernelCall call{KernelFamily::gemm, "mm", "bf16", "nn", {1, 4096, 4096, 4096}};
  const double flops = kernel_work(call).flops;
  KernelModel model = fitted();
  const double plain = model.roofline_flops.at("fp32");
  EXPECT_GE(KernelPredictor{model}.predict(call).seconds, 0.99 * flops / plain);
  model.device.flops["bf16"] = 4e12;
  const KernelPrediction told = KernelPredictor{model}.predict(call);
  EXPECT_GE(told.seconds, 0.99 * flops / plain / 4);
  EXPECT_LE(told.seconds, 1.01 * flops / plain / 4);
  EXPECT_TRUE(told.is_extrapolated);
  EXPECT_EQ(told.kind, KernelClass::compute_bound);
}

TEST(FitKernels, ALargeCallThatNobodyMeasuredFillsTheGpu) {
  const KernelCall adamw{KernelFamily::rows, "adamw", "fp32", "", {1, 1 << 24}};
  const KernelPrediction prediction = KernelPredictor{fitted()}.predict(adamw);
  EXPECT_GT(prediction.blocks, 1000);
  EXPECT_EQ(prediction.kind, KernelClass::dram_bound);
  EXPECT_EQ(roofline_flops_of(KernelModel{}, "bf16"), 0);
}

TEST(KernelFeatures, OnlyAttentionThatIsNotFusedMovesItsScores) {
  const KernelModel& model = fitted();
  const auto kind_of = [&](const char* variant) {
    const KernelCall call{
        KernelFamily::attention, "sdpa", "fp32", variant, {8, 16, 16, 8192, 8192, 128, 0}};
    return kernel_features(call, {.threads = 256}, {10000, 0}, model).kind;
  };
  EXPECT_EQ(kind_of("fwd/flash"), KernelClass::compute_bound);
  EXPECT_EQ(kind_of("bwd/cudnn"), KernelClass::compute_bound);
  EXPECT_NE(
      kernel_features(
          {KernelFamily::attention, "sdpa", "fp32", "fwd/math", {8, 16, 16, 8192, 8192, 4, 0}},
          {.threads = 256}, {10000, 0}, model)
          .kind,
      KernelClass::compute_bound);
}

TEST(KernelFeatures, WhereNobodyToldHowManyBlocksAnSmHoldsItsWarpsTell) {
  const KernelCall call{KernelFamily::rows, "add", "fp32", "", {4096, 4096}};
  const auto at = [&](std::int32_t occupancy) {
    return kernel_features(call, {.occupancy = occupancy, .threads = 128}, {8192, 0}, fitted());
  };
  EXPECT_EQ(at(0).warps_per_sm, 64);
  EXPECT_EQ(at(0).kind, KernelClass::dram_bound);
  EXPECT_EQ(at(1).warps_per_sm, 4);
  EXPECT_EQ(at(1).kind, KernelClass::under_utilised);
}

TEST(FitKernels, WarnsFarOutsideOfWhatWasSeen) {
  const KernelPredictor predictor{fitted()};
  EXPECT_FALSE(predictor.predict({KernelFamily::gemm, "mm", "fp32", "nn", {1, 512, 512, 512}})
                   .is_extrapolated);
  EXPECT_TRUE(predictor.predict({KernelFamily::gemm, "mm", "fp32", "nn", {1, 65536, 65536, 65536}})
                  .is_extrapolated);
}

// As much work as was seen, but in a shape that is nothing like it.
TEST(FitKernels, WarnsFarFromEveryShapeThatWasSeen) {
  const KernelPredictor predictor{fitted()};
  const auto predicted = [&](KernelSizes sizes) {
    return predictor.predict({KernelFamily::gemm, "mm", "fp32", "nn", sizes});
  };
  EXPECT_TRUE(predicted({1, 16384, 16, 512}).is_extrapolated);  // sizes beyond
  EXPECT_GT(predicted({1, 16384, 16, 512}).distance, kFarShape);
  EXPECT_TRUE(predicted({64, 256, 32, 256}).is_extrapolated);  // a batch, where all had one
  EXPECT_FALSE(predicted({1, 301, 1001, 701}).is_extrapolated);
  EXPECT_LT(predicted({1, 301, 1001, 701}).distance, kFarShape);
}

// Every leaf within its bounds, and their sum beyond what a double can be the exponential of.
TEST(FitKernels, TreesDoNotSpoilWhatAGroupKnowsWell) {
  const KernelSample sample = made_up(1, 9).front();
  const auto seconds_with = [&](double group_error, float leaf) {
    KernelModel model = fitted();
    model.by_shape.clear();
    for (KernelGroup& group : model.groups) group.error = group_error;
    for (auto& [key, trees] : model.known_launch) {
      std::fill(trees.leaves.begin(), trees.leaves.end(), 0.0F);
      trees.offset = leaf;
    }
    return KernelPredictor{model}.with_launch(sample.call, sample.launch).seconds;
  };
  const double plain = seconds_with(0.01, 0);
  EXPECT_NEAR(seconds_with(0.01, 0.4F) / plain, std::exp(0.05), 1e-9);
  EXPECT_NEAR(seconds_with(0.01, -0.4F) / plain, std::exp(-0.05), 1e-9);
  EXPECT_NEAR(seconds_with(0.01, 0.03F) / plain, std::exp(0.03), 1e-6);
  EXPECT_NEAR(seconds_with(0.2, 0.4F) / plain, std::exp(0.4), 1e-6);
  EXPECT_NEAR(seconds_with(0.2, 3.0F) / plain, 2, 1e-9);
  EXPECT_NEAR(seconds_with(0, 3.0F) / plain, 1, 1e-9);
}

TEST(FitKernels, AModelWithWildTreesStillTellsTimes) {
  KernelModel model = fitted();
  for (const float leaf : {100.0F, -100.0F}) {
    BoostedTrees wild;
    wild.depth = 1;
    for (int i = 0; i < 20; ++i) {
      wild.features.push_back(0);
      wild.thresholds.push_back(0);
      wild.leaves.insert(wild.leaves.end(), {leaf, leaf});
    }
    for (auto* trees : {&model.known_launch, &model.predicted_launch, &model.by_shape})
      for (auto& [key, one] : *trees) one = wild;
    for (auto& [key, entries] : model.dispatch)
      for (DispatchEntry& entry : entries) entry.residual = static_cast<double>(leaf);
    const KernelPredictor predictor{model};
    for (const KernelSample& sample : made_up(20, 3)) {
      const double predicted = predictor.predict(sample.call).seconds;
      EXPECT_TRUE(std::isfinite(predicted) && predicted > 0) << predicted;
      const double known = predictor.with_launch(sample.call, sample.launch).seconds;
      EXPECT_TRUE(std::isfinite(known) && known > 0) << known;
    }
  }
}

RC_GTEST_PROP(KernelFeaturesProperties, TailAndWavesAreWhatTheySay, ()) {
  LaunchSketch sketch;
  sketch.tile_rows = sketch.tile_columns = 64;
  sketch.occupancy = *rc::gen::inRange(1, 8);
  sketch.threads = 128;
  const double tiles = *rc::gen::inRange(1, 5000);
  const KernelFeatures features = kernel_features(
      {KernelFamily::gemm, "mm", "fp32", "nn", {1, 64, 64, 64}}, sketch, {tiles, 0}, fitted());
  RC_ASSERT(features.waves >= 1);
  RC_ASSERT(features.tail > 0);
  RC_ASSERT(features.tail <= 1);
  RC_ASSERT(std::abs(features.tail * features.waves * sketch.occupancy * kSms - tiles) <
            1e-6 * tiles);
  for (const double column : features.columns) RC_ASSERT(column >= 0);
}

// By the fitted columns, with the kernel fixed: more depth or more tiles never take less.
RC_GTEST_PROP(GroupSecondsProperties, NeverFallWithDepthOrTiles, ()) {
  const KernelGroup& group = fitted().groups.front();
  LaunchSketch sketch;
  sketch.tile_rows = sketch.tile_columns = 64;
  sketch.threads = 128;
  const auto m = *rc::gen::inRange<std::int64_t>(1, 4096);
  const auto n = *rc::gen::inRange<std::int64_t>(1, 4096);
  const auto seconds = [&](std::int64_t rows, std::int64_t depth) {
    const KernelCall call{KernelFamily::gemm, "mm", "fp32", "nn", {1, rows, depth, 512}};
    return group_seconds(
        group,
        kernel_features(call, sketch, {tiles_of(sketch, kernel_work(call), 0, 0), 0}, fitted()));
  };
  RC_ASSERT(seconds(m, n) > 0);
  RC_ASSERT(std::isfinite(seconds(m, n)));
  RC_ASSERT(seconds(m + 64, n) >= seconds(m, n));
  RC_ASSERT(seconds(m, n + 8) >= seconds(m, n));
}

}  // namespace
}  // namespace weir::predict
