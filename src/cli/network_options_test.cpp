// SPDX-License-Identifier: Apache-2.0
//
// `weir simulate --fabric`: training jobs on a network.
#include "cli/network_options.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SimulateNetwork : public ::testing::Test {
 protected:
  formats::TemporaryFolder folder_;
  std::string fabric_ = kExamples + "/network/cluster-fabric.yaml";
  std::string circuits_ = kExamples + "/network/cluster-circuits.yaml";

  std::string file(const char* name) { return (folder_.path() / name).string(); }
  Ran simulate(std::vector<std::string> more) {
    std::vector<std::string> words = {"simulate",
                                      "--cluster",
                                      "16x8xA100",
                                      "--jobs",
                                      kExamples + "/network/large-jobs.yaml",
                                      "--curves",
                                      kExamples + "/curves"};
    words.insert(words.end(), more.begin(), more.end());
    return weir(words);
  }
  void refuses(std::vector<std::string> more, std::vector<std::string> texts) {
    const Ran ran = simulate(std::move(more));
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    EXPECT_EQ(ran.out, "");
    for (const std::string& text : texts) EXPECT_THAT(ran.err, HasSubstr(text));
  }
};

TEST_F(SimulateNetwork, ComparesPlacementsUnderAPolicy) {
  const Ran ran =
      simulate({"--policy", "fifo", "--fabric", fabric_ + "," + circuits_, "--traffic",
                kExamples + "/network/traffic.yaml", "--placement",
                "shared,isolated,isolated-optical,isolate-where-worth,ideal", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto runs = nlohmann::json::parse(ran.out).at("runs");
  ASSERT_EQ(runs.size(), 5U);
  const auto slowdown = [&](std::size_t run) {
    return runs[run].at("network").at("slowdown").get<double>();
  };
  EXPECT_EQ(runs[0].at("placement"), "shared");
  EXPECT_GT(slowdown(0), 1.02) << "all-to-all over hashed links";
  EXPECT_NEAR(slowdown(1), 1, 1e-9);
  EXPECT_LT(slowdown(2), 1.01) << "circuits have to be made";
  EXPECT_LT(slowdown(3), 1.01);
  EXPECT_EQ(slowdown(4), 1);
  EXPECT_GT(runs[1].at("network").at("own_grants"), 0);
  EXPECT_EQ(runs[1].at("network").at("shared_grants"), 0);
  EXPECT_EQ(runs[0].at("network").at("own_grants"), 0);
  EXPECT_LT(runs[1].at("mean_jct_s"), runs[0].at("mean_jct_s"));
  EXPECT_EQ(runs[1].at("network").at("by_size").back().at("gpus"), 32);
}

TEST_F(SimulateNetwork, WithoutAFabricNothingIsSaidOfIt) {
  const Ran ran = simulate({"--policy", "fifo", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, Not(HasSubstr("placement")));
  EXPECT_THAT(simulate({"--policy", "fifo"}).out, Not(HasSubstr("slowdown")));
}

TEST_F(SimulateNetwork, TellsTimesBySizeAndPlotsThem) {
  const Ran ran = simulate({"--policy", "fifo,weir", "--fabric", "leaf-spine:8x16x16",
                            "--placement", "isolated,shared", "--report", file("report.html"),
                            "--csv", file("runs.csv"), "--log", file("run.jsonl")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("large-jobs: the network"));
  EXPECT_THAT(ran.out, HasSubstr("slowdown"));
  std::ostringstream page;
  page << std::ifstream{file("report.html")}.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr("Completion time by size"));
  std::ostringstream rows;
  rows << std::ifstream{file("runs.csv")}.rdbuf();
  EXPECT_THAT(rows.str(), HasSubstr(",placement"));
  EXPECT_THAT(rows.str(), HasSubstr(",isolated"));
  std::ostringstream log;
  log << std::ifstream{file("run.fifo.isolated.jsonl")}.rdbuf();
  EXPECT_THAT(log.str(), HasSubstr("\"links_given\""));
  EXPECT_THAT(log.str(), HasSubstr("\"network_terms_adopted\""));
}

TEST_F(SimulateNetwork, RefusesAFabricThatDoesNotFit) {
  refuses({"--fabric", "leaf-spine:7x16x16"}, {"7 x 2 nodes", "room for the 16 nodes"});
  refuses({"--fabric", "leaf-spine:8x12x16"}, {"gpus_per_leaf", "a multiple of 8"});
  refuses({"--fabric", "fat-tree:8"}, {"leaf-spine or optical"});
  const auto other = folder_
                         .write("other.yaml",
                                "fabric: {kind: leaf-spine, leaves: 8, gpus_per_leaf: 16, spines: "
                                "16, gpus_per_node: 4, uplink: 400Gbps}\n")
                         .string();
  refuses({"--fabric", other}, {"uplink", "4 times the rate of nic"});
  const auto nodes = folder_
                         .write("nodes.yaml",
                                "fabric: {kind: leaf-spine, leaves: 8, gpus_per_leaf: 16, spines: "
                                "16, gpus_per_node: 4}\n")
                         .string();
  refuses({"--fabric", nodes}, {"gpus_per_node", "8, as the nodes"});
}

TEST_F(SimulateNetwork, RefusesCircuitsThatAreUsedTwiceOrGiven) {
  const std::string head =
      "fabric:\n  kind: optical\n  leaves: 8\n  gpus_per_leaf: 16\n  spines: 4\n"
      "  optical_switches: 16\n  spine_ports: 2\n  circuits:\n    - {switch: 0, leaf: 0, spine: "
      "1}\n";
  const auto twice =
      folder_.write("twice.yaml", head + "    - {switch: 0, leaf: 0, spine: 2}\n").string();
  refuses({"--fabric", twice}, {"leaf 0 used 2 times on switch 0"});
  const auto given = folder_.write("given.yaml", head).string();
  refuses({"--fabric", given}, {"circuits", "to be left out"});
}

TEST_F(SimulateNetwork, RefusesAJobLargerThanTheFabric) {
  const auto jobs =
      folder_
          .write("giant.yaml",
                 "jobs:\n  - {name: giant, model: bert, batch: 256, iterations: 10, submit: 0s, "
                 "gpus: 256, rigid: true}\n")
          .string();
  const Ran ran = weir({"simulate", "--cluster", "16x8xA100", "--jobs", jobs, "--curves",
                        kExamples + "/curves", "--fabric", "leaf-spine:8x16x16"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("giant"));
  EXPECT_THAT(ran.err, HasSubstr("256"));
}

TEST_F(SimulateNetwork, RefusesOptionsThatDoNotGoTogether) {
  refuses({"--placement", "isolated"}, {"--placement", "--fabric beside it"});
  refuses({"--traffic", kExamples + "/network/traffic.yaml"}, {"--traffic", "--fabric beside it"});
  refuses({"--fabric", fabric_, "--placement", "isolated-optical"}, {"one of kind optical"});
  refuses({"--fabric", circuits_, "--placement", "shared"}, {"one of kind leaf-spine"});
  refuses({"--fabric", fabric_ + "," + circuits_, "--placement", "isolated"},
          {"--fabric is", "one that a --placement uses; leave it out"});
  refuses({"--fabric", fabric_, "--placement", "isolated,isolated"}, {"each value once"});
  refuses({"--fabric", fabric_, "--placement", "alone"}, {"alone"});
  const auto wrong = folder_.write("traffic.yaml", "traffic: [{model: a, all_reduce: 2}]\n");
  refuses({"--fabric", fabric_, "--traffic", wrong.string()}, {"all_reduce", "0 to 1"});
}

}  // namespace
}  // namespace weir::cli
