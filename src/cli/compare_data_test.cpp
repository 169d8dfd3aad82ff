// SPDX-License-Identifier: Apache-2.0
//
// The comparison on the published traces that is shipped, through the whole program.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "domain/source_folder_testing.h"
#include "formats/data_dir_testing.h"

namespace weir::cli {
namespace {

TEST(CompareData, TheShippedFileNamesThirteenTracesOnTheirClusters) {
  WEIR_NEEDS_DATA(data);
  const auto examples = source_folder() / "examples";
  const Ran ran = weir({"simulate", "--compare", (examples / "compare/elasticflow.yaml").string(),
                        "--policy", "fifo", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto runs = nlohmann::json::parse(ran.out).at("runs");
  ASSERT_EQ(runs.size(), 13U);
  const std::map<std::string, int> unusual = {
      {"cluster04", 1024}, {"cluster07", 1024},    {"cluster08", 1024},      {"cluster09", 1024},
      {"cluster10", 256},  {"philly_103959", 256}, {"elasticVpollux_e", 64}, {"195job", 128}};
  for (const auto& run : runs) {
    const std::string name = run.at("workload");
    const auto found = unusual.find(name);
    EXPECT_EQ(run.at("gpus"), found == unusual.end() ? 512 : found->second) << name;
    EXPECT_EQ(run.at("finished"), run.at("jobs")) << name << ": fifo refuses nobody";
  }
}

}  // namespace
}  // namespace weir::cli
