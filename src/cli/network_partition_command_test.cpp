// SPDX-License-Identifier: Apache-2.0
#include "cli/network_partition_command.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;

TEST(NetworkPartition, ShowsWhatEachJobGets) {
  const Ran ran = weir({"network", "partition", "--leaves", "4", "--jobs", "8,32,12"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("1      8  0: 8           none needed\n"));
  EXPECT_THAT(ran.out, HasSubstr("2     32  1: 16, 2: 16   spines 0-15\n"));
  EXPECT_THAT(ran.out, HasSubstr("3 of 3 jobs have a partition; 12 hosts are free."));
  const auto json = nlohmann::json::parse(
      weir({"network", "partition", "--leaves", "4", "--jobs", "8,32,12", "--json"}).out);
  EXPECT_EQ(json.at("jobs").at(1).at("spines").size(), 16U);
  EXPECT_EQ(json.at("jobs").at(1).at("leaves").at(0).at("uplinks").size(), 16U);
  EXPECT_EQ(json.at("free_hosts"), 12);
}

TEST(NetworkPartition, SaysWhoIsRefusedAndWhy) {
  const formats::TemporaryFolder folder;
  const auto taken = folder.write("taken.csv", "leaf,spine\n0,0\n1,1\n").string();
  const Ran ran = weir({"network", "partition", "--leaves", "2", "--hosts", "2", "--spines", "2",
                        "--in-use", taken, "--jobs", "4,2"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              HasSubstr("refused: no set of leaves has enough free links to the same spines"));
  EXPECT_THAT(ran.out, HasSubstr("1 of 2 jobs have a partition"));
}

TEST(NetworkPartition, MakesCircuitsForEachJob) {
  const Ran ran = weir({"network", "partition", "--leaves", "8", "--hosts", "8", "--spines", "4",
                        "--optical", "--jobs", "12,24", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json.at("jobs").at(0).at("kind"), "two leaves");
  EXPECT_EQ(json.at("jobs").at(0).at("circuits_made"), 4);
  EXPECT_EQ(json.at("jobs").at(1).at("circuits_moved"), 0);
}

TEST(NetworkPartition, RefusesWhatCannotBe) {
  const Ran large = weir({"network", "partition", "--jobs", "8,300,400"});
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_EQ(large.err,
            "--jobs is \"300\", expected at most the 256 hosts of the fabric\n"
            "--jobs is \"400\", expected at most the 256 hosts of the fabric\n");
  const Ran negative = weir({"network", "partition", "--leaves=-4", "--jobs", "8"});
  EXPECT_EQ(negative.exit_code, 2);
  EXPECT_THAT(negative.err, HasSubstr("--leaves is \"-4\", expected a whole number 1..256"));
  const Ran uneven = weir({"network", "partition", "--node-hosts", "3", "--jobs", "8"});
  EXPECT_EQ(uneven.exit_code, 2);
  EXPECT_THAT(uneven.err, HasSubstr("expected a divisor of the 16 hosts of a leaf"));
  const Ran ports = weir({"network", "partition", "--spine-ports", "2", "--jobs", "8"});
  EXPECT_THAT(ports.err, HasSubstr("--spine-ports is missing, expected --optical beside it"));
  EXPECT_THAT(weir({"network", "partition"}).err, HasSubstr("--requests"));
}

TEST(NetworkPartition, RefusesACircuitThatIsUsedTwice) {
  const formats::TemporaryFolder folder;
  const auto file =
      folder.write("circuits.csv", "switch,leaf,spine\n0,1,0\n1,1,0\n0,1,3\n").string();
  const Ran ran = weir({"network", "partition", "--optical", "--jobs", "8", "--in-use", file});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, file +
                         ":4: switch is \"0\", expected a switch where both have a free port: this "
                         "circuit would use one twice\n");
  const auto links = folder.write("links.csv", "leaf,spine\n0,3\n0,3\n-1,2\n").string();
  const Ran twice = weir({"network", "partition", "--jobs", "8", "--in-use", links});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr(":3: spine is \"3\""));
  EXPECT_THAT(twice.err, HasSubstr(":4: leaf is \"-1\""));
  const auto bare = weir({"network", "partition", "--optical", "--jobs", "8", "--in-use", links});
  EXPECT_THAT(bare.err, HasSubstr("switch"));
}

TEST(NetworkPartition, ReadsRequestsFromAFile) {
  const formats::TemporaryFolder folder;
  const auto file = folder.write("jobs.csv", "arrival,gpus\n0,8\n0,0\n0,16\n").string();
  const Ran wrong = weir({"network", "partition", "--requests", file});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr(":3: gpus is \"0\""));
  const auto right = folder.write("right.csv", "gpus\n8\n16\n").string();
  EXPECT_THAT(weir({"network", "partition", "--requests", right}).out, HasSubstr("2 of 2 jobs"));
  EXPECT_EQ(weir({"network", "partition", "--requests", right, "--jobs", "8"}).exit_code, 2);
}

}  // namespace
}  // namespace weir::cli
