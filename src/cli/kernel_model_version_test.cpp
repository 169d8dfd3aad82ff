// SPDX-License-Identifier: Apache-2.0
//
// A model file holds coefficients of columns, keys of groups and trees over features. When those come to mean something
// else, files that were written before must be refused, not read wrongly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "domain/source_folder_testing.h"
#include "formats/kernel_model_json.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/kernel_features.h"
#include "predict/kernels/kernel_predictor.h"

namespace weir::cli {
namespace {

std::uint64_t digest_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211U;
  return hash;
}

// One call of each family and pass, with a launch of each way to name a tile.
std::vector<std::pair<KernelCall, KernelLaunch>> some_calls() {
  const auto launch = [](const char* kernel, std::int64_t blocks) {
    KernelLaunch one;
    one.kernel = kernel;
    one.algorithm = "1234";
    one.blocks = blocks;
    one.threads = 256;
    one.occupancy = 2;
    return one;
  };
  return {{{KernelFamily::gemm, "linear", "bf16", "nt", {1, 1000, 3000, 777}},
           launch("nvjet_sm90_tst_128x256_64x4_1x2_h", 132)},
          {{KernelFamily::gemm, "bmm", "fp32", "nn", {12, 197, 64, 197}},
           launch("ampere_sgemm_32x128_nn", 300)},
          {{KernelFamily::conv, "conv", "bf16", "wgrad/nhwc", {32, 64, 128, 3, 56, 2, 1}},
           launch("sm90_xmma_wgrad_tilesize128x64x64_warpgroupsize1x1x1", 99)},
          {{KernelFamily::attention, "sdpa", "bf16", "fwd/flash", {2, 8, 2, 1, 4096, 64, 0}},
           launch("flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4>", 112)},
          {{KernelFamily::attention, "sdpa", "bf16", "bwd/efficient", {2, 8, 8, 500, 500, 128, 1}},
           launch("fmha_cutlassB_bf16_aligned_128x128_k128", 64)},
          {{KernelFamily::rows, "softmax", "bf16", "", {4096, 1000}}, launch("softmax_warp", 512)},
          {{KernelFamily::image, "bn", "fp32", "bwd/nhwc", {32, 64, 56, 0, 0, 0}},
           launch("bn_bw_nhwc", 264)}};
}

TEST(KernelModelVersion, GrowsWhenItsNumbersMeanSomethingElse) {
  KernelModel model;
  model.device = *predict::find_device("h200");
  model.roofline_flops = {{"bf16", 7e14}, {"fp32", 5e13}};
  model.roofline_bytes_per_second = 4e12;
  std::string text;
  for (const auto& [call, launch] : some_calls()) {
    const LaunchSketch sketch = predict::sketch_of(call, launch, model.device.sms);
    const predict::KernelFeatures features = predict::kernel_features(
        call, sketch, predict::launch_size(sketch, predict::kernel_work(call), launch), model);
    for (const double column : features.columns) text += fmt::format("{:.6g} ", column);
    for (const float value : predict::tree_features(call, sketch, features, 1e-4, model))
      text += fmt::format("{:.4g} ", value);
    for (const std::string& key : predict::group_keys(call, sketch)) text += key + ' ';
    text += predict::correction_key(call) + ' ' + predict::shape_key(call) + '\n';
  }
  EXPECT_EQ(std::pair(formats::kKernelModelVersion, digest_of(text)),
            std::pair(3, std::uint64_t{14809638514708981632U}))
      << "features or keys changed: kKernelModelVersion must grow, then this line\n"
      << text;
}

// Fuzzing begins with files that are read to their end.
TEST(KernelModelVersion, IsThatOfTheFuzzCorpus) {
  auto input = formats::InputFile::open(source_folder() / "tests/fuzz/corpus/kernel_model" /
                                        "products.json");
  ASSERT_TRUE(input);
  const auto model = formats::read_kernel_model(std::move(*input));
  EXPECT_TRUE(model) << to_string(model.error().details);
}

}  // namespace
}  // namespace weir::cli
