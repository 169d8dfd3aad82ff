// SPDX-License-Identifier: Apache-2.0
#include "cli/network_simulate_command.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;

Ran network(std::vector<std::string> more) {
  more.insert(more.begin(), {"network", "simulate"});
  return weir(std::move(more));
}

nlohmann::json network_json(std::vector<std::string> more) {
  more.emplace_back("--json");
  const Ran ran = network(std::move(more));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return nlohmann::json::parse(ran.out);
}

TEST(NetworkSimulate, ACollectiveAloneRunsAtLineRate) {
  const auto json = network_json(
      {"--fabric", "leaf-spine:4x8x8", "--bytes", "256MB", "--routing", "source-index"});
  const auto& job = json.at("jobs").at(0);
  // 2 * 31/32 * 256 MB at 12.5 GB/s
  EXPECT_NEAR(job.at("iteration_seconds").get<double>(), 2 * 31.0 / 32 * 256e6 / 12.5e9, 1e-9);
  EXPECT_NEAR(job.at("slowdown").get<double>(), 1, 1e-6);
  EXPECT_NEAR(job.at("bus_bytes_per_second").get<double>(), 12.5e9, 10);
}

TEST(NetworkSimulate, HashedRoutesAreSlowerAndTheTextSaysBy) {
  const Ran ran = network({"--fabric", "leaf-spine:4x8x8", "--collective", "all-to-all"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("On leaf-spine:4x8x8, 32 GPUs, routing ecmp"));
  EXPECT_THAT(ran.out, HasSubstr("Fullest links"));
  EXPECT_THAT(ran.out,
              HasSubstr("weir network simulate --fabric leaf-spine:4x8x8 --collective all-to-all"));
  EXPECT_EQ(ran.out, network({"--fabric", "leaf-spine:4x8x8", "--collective", "all-to-all"}).out);
  const auto hashed = network_json({"--fabric", "leaf-spine:4x8x8", "--collective", "all-to-all"});
  EXPECT_GT(hashed.at("jobs").at(0).at("slowdown").get<double>(), 1.3);
}

TEST(NetworkSimulate, PlaysAJobMixAndDrawsIt) {
  const formats::TemporaryFolder folder;
  const std::string page = (folder.path() / "network.html").string();
  const auto json = network_json({"--fabric", kExamples + "/network/fabric.yaml", "--jobs",
                                  kExamples + "/network/jobs.yaml", "--report", page});
  ASSERT_EQ(json.at("jobs").size(), 3U);
  EXPECT_EQ(json.at("jobs").at(2).at("iterations"), 10);
  std::ifstream file{page};
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("Links upwards"));
  EXPECT_THAT(text.str(), HasSubstr("Rates over time"));
  EXPECT_THAT(text.str(), HasSubstr("leaf 0 &gt; spine"));
}

TEST(NetworkSimulate, TellsAllMistakesAtOnce) {
  const Ran ran =
      network({"--fabric", "torus:4", "--jobs", kExamples + "/network/jobs.yaml", "--bytes", "many",
               "--routing", "spray", "--connections", "4", "--threshold", "0.5"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--fabric is \"torus:4\", expected the path"));
  EXPECT_THAT(ran.err, HasSubstr("--bytes"));
  EXPECT_THAT(ran.err, HasSubstr("--connections is \"4\", expected --routing ecmp beside it"));
  EXPECT_THAT(ran.err, HasSubstr("--threshold is \"0.5\", expected --routing two-hop beside it"));
  EXPECT_EQ(ran.out, "");
}

TEST(NetworkSimulate, RefusesAJobLargerThanTheFabric) {
  const Ran alone = network({"--fabric", "leaf-spine:2x2x2", "--ranks", "5"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_EQ(alone.err, "--ranks is \"5\", expected 2 to 4: leaf-spine:2x2x2 has 4 GPUs\n");
  const formats::TemporaryFolder folder;
  const auto jobs = folder
                        .write("mix.yaml",
                               "jobs:\n  - {gpus: 3, collective: ring, bytes: 1MB}\n"
                               "  - {gpus: 3, collective: ring, bytes: 1MB}\n")
                        .string();
  const Ran mix = network({"--fabric", "leaf-spine:2x2x2", "--jobs", jobs});
  EXPECT_EQ(mix.exit_code, 2);
  EXPECT_THAT(mix.err, HasSubstr("mix.yaml:3: gpus is \"3\", expected"));
  EXPECT_THAT(mix.err, HasSubstr("other jobs have 3"));
}

TEST(NetworkSimulate, RefusesFabricsThatDoNotHangTogether) {
  const formats::TemporaryFolder folder;
  const auto file =
      folder
          .write("hall.yaml",
                 "fabric: {kind: optical, leaves: 3, gpus_per_leaf: 2, optical_switches: 2, "
                 "circuits: [{switch: 0, leaf: 0, to_leaf: 1}]}\n")
          .string();
  const Ran ran = network({"--fabric", file});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("2 of 6 GPUs that gpu 0 cannot reach"));
}

TEST(NetworkSimulate, LostLinksCostWhatTheyCarried) {
  const auto seconds = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--fabric",   "leaf-spine:4x4x4", "--collective",
                                   "all-to-all", "--routing",        "spray"};
    words.insert(words.end(), more.begin(), more.end());
    return network_json(words).at("jobs").at(0).at("end_seconds").get<double>();
  };
  const double whole = seconds({});
  // Half of leaf 0's uplinks; what crosses them takes the others.
  const double half = seconds({"--fail", "leaf 0 > spine 2,spine 3 > leaf 0"});
  EXPECT_GT(half, whole * 1.3);
  // Lost half way, it costs less; lost after the end, nothing.
  const double later = seconds(
      {"--fail", "leaf 0 > spine 2,leaf 0 > spine 3", "--fail-at", std::to_string(whole / 2)});
  EXPECT_GT(later, whole);
  EXPECT_LT(later, half);
  EXPECT_EQ(seconds({"--fail", "leaf 0 > spine 2", "--fail-at", "1000"}), whole);
}

TEST(NetworkSimulate, RefusesFailuresThatCutAJobApart) {
  const Ran apart =
      network({"--fabric", "leaf-spine:2x2x2", "--fail", "leaf 0 > spine 0,leaf 0 > spine 1"});
  EXPECT_EQ(apart.exit_code, 2);
  EXPECT_THAT(apart.err, HasSubstr("has no way to"));
  EXPECT_EQ(apart.out, "");
  // Each leaf still has a spine, but not the same.
  EXPECT_EQ(network({"--fabric", "leaf-spine:2x2x2", "--fail", "leaf 0 > spine 0,leaf 1 > spine 1"})
                .exit_code,
            2);
  // A job on the other leaf does not mind.
  EXPECT_EQ(network({"--fabric", "leaf-spine:2x2x2", "--ranks", "2", "--fail",
                     "leaf 1 > spine 0,leaf 1 > spine 1"})
                .exit_code,
            0);
  const Ran port = network({"--fabric", "leaf-spine:2x2x2", "--fail", "gpu 3 > leaf 1"});
  EXPECT_THAT(port.err, HasSubstr("gpu 3"));
  const Ran wrong = network({"--fabric", "leaf-spine:2x2x2", "--fail", "leaf 7 > spine 0"});
  EXPECT_THAT(
      wrong.err,
      HasSubstr("--fail is \"leaf 7 > spine 0\", expected a link of leaf-spine:2x2x2, such as"));
  EXPECT_EQ(network({"--fabric", "leaf-spine:2x2x2", "--fail-at", "1"}).exit_code, 2);
  EXPECT_EQ(
      network({"--fabric", "leaf-spine:2x2x2", "--routing", "ideal", "--fail", "leaf 0 > spine 0"})
          .exit_code,
      2);
}

}  // namespace
}  // namespace weir::cli
