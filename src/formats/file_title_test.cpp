// SPDX-License-Identifier: Apache-2.0
#include "formats/file_title.h"

#include <gtest/gtest.h>

namespace weir::formats {
namespace {

TEST(FileTitle, DropsFolderPrefixAndSuffixes) {
  EXPECT_EQ(file_title("/data/openb_pod_list_default.csv.gz"), "default");
  EXPECT_EQ(file_title("openb_node_list_gpu_node.csv"), "gpu_node");
  EXPECT_EQ(file_title("lab/night.v2.yaml"), "night.v2");
  EXPECT_EQ(file_title("jobs"), "jobs");
  EXPECT_EQ(file_title(".csv"), ".csv");
}

TEST(FileTitle, KnowsFormatsByName) {
  EXPECT_TRUE(is_yaml_name("lab.yaml"));
  EXPECT_TRUE(is_yaml_name("lab.yml.gz"));
  EXPECT_TRUE(is_csv_name("n.csv.gz"));
  EXPECT_FALSE(is_csv_name("n.yaml"));
  EXPECT_FALSE(is_yaml_name("/dev/fd/63"));
}

TEST(FileTitle, TheGpuStandsAfterTheLastUnderscore) {
  EXPECT_EQ(gpu_after_underscore("zeus_power_v100"), "V100");
  EXPECT_EQ(gpu_after_underscore("sweeps"), "");
  EXPECT_EQ(gpu_after_underscore("sweeps_"), "");
  EXPECT_EQ(gpu_after_underscore("sweeps_a|b"), "");
}

}  // namespace
}  // namespace weir::formats
