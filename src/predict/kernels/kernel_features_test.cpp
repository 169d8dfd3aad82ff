// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/kernel_features.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "predict/kernels/device_specs.h"

namespace weir::predict {
namespace {

constexpr std::int64_t kQueries = 128;  // of a block

KernelModel h200() {
  KernelModel model;
  model.device = *find_device("h200");
  return model;
}

// One block of queries for each head.
KernelFeatures attention_features(const char* variant, std::int64_t heads, std::int64_t blocks,
                                  bool is_causal) {
  const std::int64_t tokens = kQueries * blocks;
  const KernelCall call{KernelFamily::attention,
                        "sdpa",
                        "bf16",
                        variant,
                        {1, heads, heads, tokens, tokens, 64, is_causal ? 1 : 0}};
  KernelLaunch launch;
  launch.kernel = "Flash_fwd_kernel_traits<64, 128, 128, 4, false>";
  launch.blocks = heads * blocks;
  launch.threads = 128;
  launch.occupancy = 1;
  const LaunchSketch sketch = sketch_of(call, launch, h200().device.sms);
  return kernel_features(call, sketch, launch_size(sketch, kernel_work(call), launch), h200());
}

TEST(KernelFeatures, AWaveTakesItsTimeHoweverFullItIs) {
  const double one = attention_features("fwd/flash", 1, 8, false).columns[kWaveDepth];
  EXPECT_DOUBLE_EQ(attention_features("fwd/flash", 16, 8, false).columns[kWaveDepth], one);
  EXPECT_DOUBLE_EQ(attention_features("fwd/flash", 17, 8, false).columns[kWaveDepth], 2 * one);
}

// As long as SMs are left, the longest tile sets the pace, and it is as long as without a mask.
TEST(KernelFeatures, ACausalMaskSavesNothingWhereTheGpuIsNotFull) {
  for (const char* variant : {"fwd/flash", "bwd/flash"}) {
    EXPECT_NEAR(attention_features(variant, 4, 8, true).columns[kWaveDepth],
                attention_features(variant, 4, 8, false).columns[kWaveDepth], 1e-6);
    const double ratio = attention_features(variant, 4096, 8, true).columns[kWaveDepth] /
                         attention_features(variant, 4096, 8, false).columns[kWaveDepth];
    EXPECT_NEAR(ratio, 0.5, 0.01);
  }
}

RC_GTEST_PROP(KernelFeaturesProperty, TheLongestWayIsNeverBelowTheShareOfAnSm, ()) {
  const auto heads = *rc::gen::inRange<std::int64_t>(1, 400);
  const auto blocks = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto causal = *rc::gen::arbitrary<bool>();
  const KernelFeatures features = attention_features("fwd/flash", heads, blocks, causal);
  RC_ASSERT(features.columns[kWaveDepth] >= features.columns[kTileDepth] * (1 - 1e-9));
  const KernelFeatures more = attention_features("fwd/flash", heads + 1, blocks, causal);
  RC_ASSERT(more.columns[kWaveDepth] >= features.columns[kWaveDepth] * (1 - 1e-9));
}

}  // namespace
}  // namespace weir::predict
