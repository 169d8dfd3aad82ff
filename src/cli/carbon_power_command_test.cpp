// SPDX-License-Identifier: Apache-2.0
#include "cli/carbon_power_command.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSweep =
    "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
    "images,net,64,adam,100,20,95\n"
    "images,net,64,adam,150,12,140\n"
    "images,net,64,adam,250,10,200\n";

TEST(CarbonPower, ShowsWhatTheBestLimitSaves) {
  const formats::TemporaryFolder folder;
  const auto file = folder.write("zeus_t4.csv", kSweep).string();
  const Ran ran = weir({"carbon", "power", "--sweeps", file});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("What the best power limit saves"));
  EXPECT_THAT(ran.out, HasSubstr("T4      1         1             16.0  16.0              20.0\n"));
  EXPECT_THAT(ran.out, HasSubstr("weir carbon power --sweeps " + file));
  const auto json =
      nlohmann::json::parse(weir({"carbon", "power", "--sweeps", file, "--json"}).out);
  EXPECT_EQ(json.at("gpus").at(0).at("energy_saved_percent_median"), 16);
}

TEST(CarbonPower, ShowsTheOptionsOfAModel) {
  const Ran ran =
      weir({"carbon", "power", "--curves", kExamples + "/curves", "--model", "resnet50"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("resnet50, batch"));
  EXPECT_THAT(ran.out, HasSubstr("x*"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("bert")));
  const auto json = nlohmann::json::parse(
      weir({"carbon", "power", "--curves", kExamples + "/curves", "--json"}).out);
  EXPECT_GT(json.at("tables").size(), 3U);
}

TEST(CarbonPower, RefusesWhatDoesNotGoTogether) {
  const formats::TemporaryFolder folder;
  const auto file = folder.write("zeus_t4.csv", kSweep).string();
  const Ran both = weir({"carbon", "power", "--sweeps", file, "--curves", kExamples + "/curves"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_EQ(both.err,
            "--sweeps is missing, expected to be left out beside --curves: one or the other\n");
  const Ran alone = weir({"carbon", "power", "--model", "bert", "--gpu", "T4"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--gpu is \"T4\", expected --curves beside it"));
  EXPECT_THAT(alone.err, HasSubstr("--model is \"bert\", expected --curves beside it"));
}

TEST(CarbonPower, AnUnknownModelIsAnsweredWithThoseThereAre) {
  const Ran ran =
      weir({"carbon", "power", "--curves", kExamples + "/curves", "--model", "resnet5"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err,
            "--model is \"resnet5\", expected one of bert, gpt2, resnet50, speech, vgg16; did you "
            "mean resnet50?\n");
}

TEST(CarbonPower, TellsTheMistakesOfAllFiles) {
  const formats::TemporaryFolder folder;
  const auto one = folder.write("one.csv", "dataset,network\n").string();
  const auto two = folder.write("two.csv", std::string{kSweep} + "a,b,1,c,-1,1,1\n").string();
  const Ran ran = weir({"carbon", "power", "--sweeps", one + "," + two});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("one.csv:1: column batch_size is missing"));
  EXPECT_THAT(ran.err, HasSubstr("two.csv:5: power_limit is \"-1\""));
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace weir::cli
