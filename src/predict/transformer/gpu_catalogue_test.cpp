// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/gpu_catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::predict {
namespace {

std::string matched(std::string_view name) {
  const GpuType* type = GpuCatalogue{}.match(name);
  return type == nullptr ? "" : std::string{type->name};
}

TEST(GpuCatalogue, FindsTheTypeThatAClusterOrADriverMeans) {
  EXPECT_EQ(matched("H200-141G"), "H200-141G");
  EXPECT_EQ(matched("h200"), "H200-141G");
  EXPECT_EQ(matched("NVIDIA H200"), "H200-141G");
  EXPECT_EQ(matched("NVIDIA H100 80GB HBM3"), "H100-80G");
  EXPECT_EQ(matched("NVIDIA A100-SXM4-80GB"), "A100-80G");
  EXPECT_EQ(matched("A100-PCIE-40GB"), "A100-40G");
  EXPECT_EQ(matched("Tesla V100-SXM2-32GB"), "V100-32G");
  EXPECT_EQ(matched("V100M32"), "V100-32G");
  EXPECT_EQ(matched("V100M16"), "V100-16G");
  EXPECT_EQ(matched("a10g"), "A10G");
}

TEST(GpuCatalogue, TakesTheLeastMemoryWhereTheNameLeavesItOpen) {
  EXPECT_EQ(matched("A100"), "A100-40G");
  EXPECT_EQ(matched("V100"), "V100-16G");
  EXPECT_EQ(matched("H100 NVL 94GB"), "H100-80G");  // no more than it has
}

TEST(GpuCatalogue, MatchesNothingThatOnlyLooksAlike) {
  for (const char* name :
       {"", "CPU", "GPU", "T4", "A10", "A1000", "RTX A100X", "V100Mx", "G2", "H200M", "A100-8GB"}) {
    EXPECT_EQ(matched(name), "") << name;
  }
}

TEST(GpuCatalogue, ATypeOfOnesOwnGoesFirstAndIsNamedFirst) {
  GpuCatalogue catalogue;
  GpuType own = *find_gpu_type("A10G");
  own.memory_gib = 7;
  catalogue.add("CPU", own);
  catalogue.add("H100-80G", own);
  const GpuCatalogue copy = catalogue;
  ASSERT_NE(copy.match("cpu"), nullptr);
  EXPECT_EQ(copy.match("cpu")->name, "CPU");
  EXPECT_EQ(copy.find("h100-80g")->memory_gib, 7);
  EXPECT_EQ(copy.find("nothing"), nullptr);
  EXPECT_THAT(copy.names(), testing::StartsWith("CPU, H100-80G, V100-16G"));
}

}  // namespace
}  // namespace weir::predict
