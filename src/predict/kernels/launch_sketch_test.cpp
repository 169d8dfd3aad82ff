// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/launch_sketch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace weir::predict {
namespace {

KernelCall product(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {KernelFamily::gemm, "mm", "bf16", "nn", {b, m, n, k}};
}

KernelLaunch launched(std::string kernel, std::int64_t blocks) {
  KernelLaunch launch;
  launch.kernel = std::move(kernel);
  launch.blocks = blocks;
  launch.threads = 256;
  return launch;
}

TEST(KernelTile, IsReadFromTheNamesOfEveryLibrary) {
  EXPECT_EQ(tile_in_name("nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNT"),
            (KernelTile{128, 256, 64}));
  EXPECT_EQ(tile_in_name("sm80_xmma_gemm_f32f32_nn_n_tilesize64x32x8_stage3_warpsize2x2x1"),
            (KernelTile{64, 32, 8}));
  EXPECT_EQ(tile_in_name("ampere_sgemm_32x128_nn"), (KernelTile{32, 128, 0}));
  EXPECT_EQ(tile_in_name("ampere_sgemm_64x64_sliced1x4_nn"), (KernelTile{64, 64, 0}));
  EXPECT_EQ(tile_in_name("cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x128_32x6_nn_align4>"),
            (KernelTile{64, 128, 32}));
}

TEST(KernelTile, IsAbsentWhereSizesAreNoTile) {
  EXPECT_FALSE(tile_in_name("cudnn::winograd_nonfused::winogradForwardData4x4<float, float>"));
  EXPECT_FALSE(tile_in_name("at::native::vectorized_elementwise_kernel<4>"));
  EXPECT_FALSE(tile_in_name(""));
  EXPECT_FALSE(tile_in_name("x"));
}

TEST(KernelKind, KeepsTheTileAndHowTheReductionIsCut) {
  EXPECT_EQ(kernel_kind("nvjet_sm90_tst_64x32_64x16_1x4_h_bz_splitK_bias_TNT"),
            "nvjet_sm90_tst_64x32 splitK");
  EXPECT_EQ(kernel_maker("nvjet_sm90_tst_64x32 splitK"), "nvjet_sm90_tst_");
  EXPECT_EQ(kernel_maker("gemv"), "gemv");
}

TEST(LaunchSketch, CountsColumnsFirstWhenTheGridFits) {
  // 2 x 8 tiles of 256 columns by 128 rows.
  const LaunchSketch sketch =
      sketch_of(product(1, 1024, 512, 512), launched("gemm_256x128_nn", 16), 8);
  EXPECT_EQ(sketch.tile_rows, 128);
  EXPECT_EQ(sketch.tile_columns, 256);
  EXPECT_EQ(sketch.split, 1);
}

TEST(LaunchSketch, FindsSlicesOfTheReductionInTheGrid) {
  const LaunchSketch sketch =
      sketch_of(product(1, 256, 8192, 256), launched("gemm_128x128_nn", 24), 8);
  EXPECT_EQ(sketch.split, 6);
}

TEST(LaunchSketch, AKernelThatStaysHasTilesByItsShape) {
  const KernelCall call = product(1, 4096, 512, 4096);
  const KernelLaunch launch = launched("nvjet_sm90_tst_128x256_64x4_1x2_h", 132);
  const LaunchSketch sketch = sketch_of(call, launch, 132);
  EXPECT_EQ(sketch.split, 1);
  EXPECT_EQ(launch_size(sketch, kernel_work(call), launch).tiles, 16 * 32);
}

TEST(LaunchSketch, WithoutATileBlocksGrowWithOutputs) {
  LaunchSketch sketch;
  KernelWork work;
  work.rows = 300;
  work.columns = 10;
  EXPECT_EQ(tiles_of(sketch, work, 50, 1000), 150);
  EXPECT_EQ(tiles_of(sketch, work, 50, 0), 50);
}

KernelCall attention(const char* variant, std::int64_t queries, std::int64_t keys) {
  return {KernelFamily::attention, "sdpa", "bf16", variant, {2, 3, 3, queries, keys, 64, 0}};
}

TEST(LaunchSketch, AttentionForwardHasBlocksOfQueries) {
  const LaunchSketch sketch = sketch_of(
      attention("fwd/flash", 500, 900),
      launched("flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 32, 4, false>", 24), 132);
  EXPECT_EQ(sketch.tile_rows, 128);
  EXPECT_EQ(sketch.tile_depth, 32);
  EXPECT_EQ(sketch.split, 1);
  EXPECT_EQ(sketch_of(attention("fwd/efficient", 500, 900),
                      launched("fmha_cutlassF_bf16_aligned_64x128_rf_sm80", 48), 132)
                .tile_rows,
            64);
}

TEST(LaunchSketch, AttentionBackwardHasBlocksOfKeys) {
  const KernelCall call = attention("bwd/flash", 500, 900);
  const KernelLaunch launch =
      launched("flash_bwd_dq_dk_dv_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8>", 48);
  const LaunchSketch sketch = sketch_of(call, launch, 132);
  EXPECT_EQ(sketch.tile_rows, 128);
  EXPECT_EQ(sketch.tile_depth, 64);
  EXPECT_EQ(launch_size(sketch, kernel_work(call), launch).tiles, 2 * 3 * 8);
}

TEST(LaunchSketch, AttentionOfOneQueryIsCutAlongTheKeys) {
  const KernelCall call = attention("fwd/flash", 1, 16384);
  const KernelLaunch launch =
      launched("flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4, false>", 42);
  const LaunchSketch sketch = sketch_of(call, launch, 132);
  EXPECT_EQ(sketch.split, 7);
  EXPECT_EQ(launch_size(sketch, kernel_work(call), launch).tiles, 42);
}

TEST(LaunchSketch, AttentionOfAnUnknownKernelHasUsualBlocks) {
  for (const char* name :
       {"mystery", "kernel_traits<", "kernel_traits<64, 3, 100000", "fmha_cutlass"})
    EXPECT_EQ(sketch_of(attention("fwd/flash", 500, 900), launched(name, 24), 132).tile_rows, 128);
}

RC_GTEST_PROP(LaunchSketchProperties, TilesCoverTheOutputAndNoWholeRowMore, ()) {
  const auto m = *rc::gen::inRange<std::int64_t>(1, 5000);
  const auto k = *rc::gen::inRange<std::int64_t>(1, 5000);
  LaunchSketch sketch;
  sketch.tile_rows = 1 << *rc::gen::inRange(3, 9);
  sketch.tile_columns = 1 << *rc::gen::inRange(3, 9);
  const double tiles = tiles_of(sketch, kernel_work(product(1, m, 64, k)), 0, 0);
  const double area = double{1} * sketch.tile_rows * sketch.tile_columns;
  RC_ASSERT(tiles * area >= static_cast<double>(m * k));
  RC_ASSERT(tiles * area < static_cast<double>((m + sketch.tile_rows) * (k + sketch.tile_columns)));
}

RC_GTEST_PROP(LaunchSketchProperties, AnyTextIsReadWithoutHarm, (const std::string& name)) {
  const auto tile = tile_in_name(name);
  if (tile) RC_ASSERT(tile->first >= 8 && tile->second >= 8);
  RC_ASSERT(kernel_kind(name).size() <= name.size() + 16);
  RC_ASSERT(kernel_maker(name).size() <= name.size());
  const auto traits = "kernel_traits<" + name;
  RC_ASSERT(sketch_of(attention("bwd/flash", 500, 900), launched(traits, 24), 132).tile_rows >= 8);
}

}  // namespace
}  // namespace weir::predict
