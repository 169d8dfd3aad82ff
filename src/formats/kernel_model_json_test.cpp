// SPDX-License-Identifier: Apache-2.0
#include "formats/kernel_model_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "domain/seeded_rng.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

KernelModel random_model(std::uint64_t seed) {
  SeededRng rng{seed};
  KernelModel model;
  model.device = {
      "GPU \"x\"", 1 + static_cast<double>(rng.below(200)), 1500.5, rng.lognormal(20, 3),
      1e6,         {{"bf16", rng.lognormal(9, 9)}},         64};
  model.versions = {{"torch", "2.11"}};
  model.roofline_flops = {{"bf16", rng.lognormal(20, 5)}};
  model.roofline_bytes_per_second = rng.lognormal(10, 5);
  model.drift["conv/conv"] = {4711, {0, rng.uniform(), 1 + rng.uniform()}};
  model.host = {rng.uniform(), rng.uniform(), rng.uniform()};
  model.errors["gemm"] = {3, rng.uniform(), rng.uniform(), rng.uniform(), -rng.uniform(), 1};
  KernelGroup group;
  group.key = "gemm/bf16/a|b";
  group.samples = 7;
  group.error = 0.125;
  for (double& value : group.seconds) value = rng.lognormal(-20, 5);
  group.has_traffic = rng.below(2) == 1;
  if (group.has_traffic) group.traffic_seconds = group.seconds;
  group.flops = {1, rng.lognormal(10, 3)};
  model.groups.push_back(group);
  BoostedTrees trees;
  trees.depth = 2;
  trees.offset = rng.normal();
  for (int i = 0; i < 3 * 2; ++i) {
    trees.features.push_back(static_cast<std::int32_t>(rng.below(kTreeFeatures)));
    trees.thresholds.push_back(static_cast<float>(rng.normal()));
  }
  for (int i = 0; i < 4 * 2; ++i) trees.leaves.push_back(static_cast<float>(rng.normal()));
  trees.thresholds[0] = std::numeric_limits<float>::max();
  model.known_launch["gemm/bf16/"] = model.predicted_launch["gemm/bf16/"] = model.by_shape["x"] =
      trees;
  model.sketches = {{"1|2", "nvjet_64x64", 64, 64, 32, 2, 1, 384, 3}};
  model.dispatch["gemm/mm/bf16/nn"] = {{{1, 2, 3, 4}, 0, 17, 5, rng.normal()}};
  return model;
}

Result<KernelModel> read_text(const std::string& text) {
  auto input = InputFile::from_memory("model.json", text);
  return read_kernel_model(std::move(*input));
}

RC_GTEST_PROP(KernelModelJson, ReadsBackToTheSameBits, (std::uint64_t seed)) {
  const KernelModel model = random_model(seed);
  const auto text = kernel_model_json(model);
  RC_ASSERT(text.has_value());
  const auto back = read_text(*text);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == model);
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = *kernel_model_json(random_model(1));
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The first number that the first tree looks at is that one.
std::string with_a_feature(int number) {
  std::string text = *kernel_model_json(random_model(1));
  const std::string key = "\"features\":[";
  const std::size_t begin = text.find(key) + key.size();
  return text.replace(begin, text.find(',', begin) - begin, std::to_string(number));
}

TEST(KernelModelJsonMistakes, AreRefusedWithTheFile) {
  for (const std::string& text :
       {std::string{"{}"},
        std::string{"["},
        changed(fmt::format("\"version\":{}", kKernelModelVersion), "\"version\":1"),
        changed("weir-kernel-model", "other"),
        changed("\"depth\":2", "\"depth\":3"),
        changed("\"depth\":2", "\"depth\":70"),
        changed("\"features\":[", "\"features\":[32,"),
        with_a_feature(32),
        with_a_feature(-1),
        changed("\"leaves\":[", "\"leaves\":[1e300,"),
        changed("[[1,2,3,4,0,0,0],0,", "[[1,2,3,4,0,0,0],1,"),
        changed("[[1,2,3,4,0,0,0],", "[[1,2,3,4],"),
        changed("\"sms\":", "\"sms\":-"),
        changed("\"offset\":", "\"offset\":1e9,\"was\":"),
        changed("\"seconds\":[", "\"seconds\":[-"),
        changed("\"op_probes\":", "\"op_probes\":-"),
        changed("\"error\":0.125", "\"error\":-0.125"),
        changed("\"ms_over_rows\":[0.0,", "\"ms_over_rows\":[-1.0,"),
        changed("\"ms_over_rows\":[0.0,", "\"ms_over_rows\":[1e-9,"),
        changed("\"ms_over_rows\":[0.0,", "\"ms_over_rows\":[0.0,9.0,"),
        changed("\"ms_over_rows\":[0.0,", "\"ms_over_rows\":[0.0],\"was\":["),
        changed("\"last_row\":4711", "\"last_row\":0"),
        changed("\"last_row\":", "\"last_row\":-")}) {
    const auto model = read_text(text);
    ASSERT_FALSE(model) << text.substr(0, 60);
    EXPECT_THAT(
        to_string(model.error().details),
        testing::AllOf(HasSubstr("model.json: "), testing::Not(HasSubstr("json.exception"))));
  }
}

TEST(KernelModelJsonMistakes, TellWhatStandsThereAndWhatShould) {
  const std::string version = fmt::format("\"version\":{}", kKernelModelVersion);
  const std::vector<std::pair<std::string, std::string>> mistakes{
      {changed(version, "\"version\":99"),
       fmt::format("version is \"99\", expected {}: fit the model again with `weir kernels fit`\n",
                   kKernelModelVersion)},
      {changed("weir-kernel-model", "other"), "format is \"other\", expected weir-kernel-model\n"},
      {"{}", "format is missing, expected weir-kernel-model\n"},
      {changed("\"seconds\":[", "\"seconds\":[-1,"),
       "gemm/bf16/a|b: seconds is \"9 numbers\", expected 8 numbers\n"},
      {changed("\"error\":0.125", "\"error\":-1"),
       "gemm/bf16/a|b: error is \"-1\", expected a number from 0 to 1000000000\n"},
      {changed("\"op_probes\":", "\"op_probes\":\"many\",\"was\":"),
       "host: op_probes is \"many\", expected a number from 0 to 1000000\n"},
      {changed("\"depth\":2", "\"depth\":2.5"),
       "gemm/bf16/: depth is \"2.5\", expected an integer from 1 to 8\n"},
      {changed("\"depth\":2", "\"depth\":3"),
       "gemm/bf16/: trees is \"6 features, 6 thresholds, 8 leaves\", expected 7 features, 7 "
       "thresholds and 8 leaves for each tree of depth 3\n"},
      {with_a_feature(32), "gemm/bf16/: features is \"32\", expected an integer from 0 to 31\n"},
      {changed("[[1,2,3,4,0,0,0],0,", "[[1,2,3,4,0,0,0],1,"),
       "dispatch: sketch is \"1\", expected one of the 1 sketches, from 0\n"},
      {changed("[[1,2,3,4,0,0,0],", "[[1,-2,3,4,0,0,0],"),
       "dispatch: sizes is \"-2\", expected an integer from 0 to 1099511627776\n"},
      {changed("\"ms_over_rows\":[0.0,", "\"ms_over_rows\":[0.0],\"was\":["),
       "conv/conv: ms_over_rows is \"[0.0]\", expected at least two numbers that ascend from 0\n"}};
  for (const auto& [text, message] : mistakes) {
    const auto model = read_text(text);
    ASSERT_FALSE(model) << message;
    EXPECT_EQ(to_string(model.error().details), "model.json: " + message);
  }
}

TEST(KernelModelJsonMistakes, OfAllPartsAreToldAtOnceByTheirNames) {
  std::string text = changed("\"sms\":", "\"sms\":-");
  const auto replace = [&](const std::string& key, const std::string& by) {
    text.replace(text.find(key), key.size(), by);
  };
  replace("\"drift\":", "\"drift\":null,\"was\":");
  replace("\"errors\":", "\"errors\":{\"gemm\":7},\"were\":");
  replace("\"by_shape\":", "\"by_form\":");
  const auto model = read_text(text);
  ASSERT_FALSE(model);
  EXPECT_THAT(
      to_string(model.error().details),
      testing::AllOf(HasSubstr("model.json: device: sms is \"-"),
                     HasSubstr("model.json: drift is \"null\", expected as `weir kernels fit`"),
                     HasSubstr("model.json: errors is \""),
                     HasSubstr("model.json: by_shape is missing, expected as `weir kernels fit`")));
}

TEST(KernelModelJsonMistakes, KeysOfTheFileDoNotReachTheTerminalAsTheyAre) {
  std::string text = changed("gemm/bf16/a|b", "gemm\\u001b[1m");
  const std::string key = "\"error\":";
  text.replace(text.find(key), key.size(), "\"error\":-");
  const auto model = read_text(text);
  ASSERT_FALSE(model);
  EXPECT_THAT(to_string(model.error().details), HasSubstr("model.json: gemm?[1m: error is \"-"));
}

}  // namespace
}  // namespace weir::formats
