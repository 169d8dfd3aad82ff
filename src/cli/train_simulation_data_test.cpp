// SPDX-License-Identifier: Apache-2.0
//
// Published traces through the whole program.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/data_dir_testing.h"

namespace weir::cli {
namespace {

TEST(TrainSimulationData, MeetsTheDeadlinesOfTheElasticAndPolluxTrace) {
  WEIR_NEEDS_DATA(data);
  const auto elasticflow = data / "elasticflow";
  const Ran ran = weir({"simulate", "--cluster", "16x4xT4", "--jobs",
                        (elasticflow / "traces" / "elasticVpollux_e.csv.gz").string(), "--curves",
                        (elasticflow / "throughput_t4").string(), "--slot", "0s", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto run = nlohmann::json::parse(ran.out).at("runs").at(0);
  EXPECT_EQ(run.at("jobs"), 195);
  EXPECT_GE(run.at("met").get<int>(), 174);
  EXPECT_EQ(run.at("missed_after_admission"), 0);
}

}  // namespace
}  // namespace weir::cli
