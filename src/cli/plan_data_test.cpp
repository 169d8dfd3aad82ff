// SPDX-License-Identifier: Apache-2.0
//
// `weir plan` and `weir predict` on the public measurements, as a user calls them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/data_dir_testing.h"

namespace weir::cli {
namespace {

using SortedJson = nlohmann::json;

TEST(PlanData, ThePublishedSettingGetsThePlanThatIsKnownToBeBest) {
  WEIR_NEEDS_DATA(data);
  const Ran ran = weir({"plan",
                        "--profiles",
                        (data / "aceso").string(),
                        "--db",
                        "miniset",
                        "--model",
                        "gpt",
                        "--size",
                        "1_3B",
                        "--nodes",
                        "1",
                        "--gpus-per-node",
                        "4",
                        "--memory",
                        "12000MiB",
                        "--batch",
                        "512",
                        "--cost-model",
                        "published",
                        "--recompute",
                        "derived",
                        "--evaluations",
                        "5000000",
                        "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson answer = SortedJson::parse(ran.out);
  EXPECT_LE(answer["predicted_ms"], 58492.6);
  EXPECT_GE(answer["lower_bound_ms"], 57361.0);
  EXPECT_LE(answer["max_memory_mib"], 12000);
  EXPECT_EQ(answer["microbatch"], 1);
  EXPECT_EQ(answer["stages"].size(), 4);
  EXPECT_EQ(answer["complete"], true);
}

TEST(PlanData, PlansOfTheArtifactArePricedAsItDid) {
  WEIR_NEEDS_DATA(data);
  int plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator{data / "aceso" / "baselines"}) {
    const Ran ran = weir({"predict", "--plan", entry.path().string(), "--profiles",
                          (data / "aceso").string(), "--cost-model", "published", "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const SortedJson predicted = SortedJson::parse(ran.out);
    const SortedJson recorded = SortedJson::parse(std::ifstream{entry.path()});
    for (std::size_t i = 0; i < recorded["stage_T_ms"].size(); ++i) {
      EXPECT_NEAR(predicted["stages"][i]["time_ms"], recorded["stage_T_ms"][i], 0.01) << entry;
      EXPECT_NEAR(predicted["stages"][i]["memory_mib"], recorded["stage_mem_mb"][i], 0.01) << entry;
    }
    ++plans;
  }
  EXPECT_EQ(plans, 4);
}

TEST(PlanData, ASizeMadeOfAnothersRowsHasItsOwnLayers) {
  WEIR_NEEDS_DATA(data);
  const Ran ran = weir({"plan", "--profiles", (data / "aceso").string(), "--model", "t5", "--size",
                        "22B", "--nodes", "4", "--stages", "4", "--microbatches", "4", "--memory",
                        "280000MiB", "--evaluations", "300000", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson answer = SortedJson::parse(ran.out);
  EXPECT_EQ(answer["layers"], 48);
  EXPECT_EQ(answer["stages"].back()["ops"][1], 48 * (13 + 21) + 5);
}

}  // namespace
}  // namespace weir::cli
