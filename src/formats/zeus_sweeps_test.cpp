// SPDX-License-Identifier: Apache-2.0
#include "formats/zeus_sweeps.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::ElementsAre;

constexpr std::string_view kHeader =
    "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n";

Result<PowerSweeps> sweeps_from(std::string_view rows,
                                const std::string& name = "dir/zeus_power_a40.csv") {
  const std::string text = fmt::format("{}{}", kHeader, rows);
  return read_zeus_sweeps(*InputFile::from_memory(name, text));
}

TEST(ZeusSweeps, GathersTheLimitsOfEachJobInAscendingOrder) {
  const auto sweeps = sweeps_from(
      "imagenet,resnet50,256,adadelta,250,10,200.5\n"
      "cifar100,vgg,32,adam,100,3,50\n"
      "imagenet,resnet50,256,adadelta,100,19.3,98\n");
  ASSERT_TRUE(sweeps) << mistakes_of(sweeps);
  EXPECT_EQ(sweeps->gpu, "A40");
  ASSERT_EQ(sweeps->sweeps.size(), 2U);
  EXPECT_EQ(sweeps->sweeps[0].job, (SweptJob{"cifar100", "vgg", 32, "adam"}));
  EXPECT_EQ(sweeps->sweeps[1].job, (SweptJob{"imagenet", "resnet50", 256, "adadelta"}));
  EXPECT_THAT(sweeps->sweeps[1].points,
              ElementsAre(SweepPoint{100, 19.3, 98}, SweepPoint{250, 10, 200.5}));
  EXPECT_DOUBLE_EQ(sweeps->sweeps[1].points[1].joules(), 2005);
}

TEST(ZeusSweeps, TheGpuIsUnknownWhenTheFileDoesNotNameIt) {
  const auto sweeps = sweeps_from("d,n,1,o,100,1,1\n", "sweeps.csv");
  ASSERT_TRUE(sweeps) << mistakes_of(sweeps);
  EXPECT_EQ(sweeps->gpu, "");
}

TEST(ZeusSweeps, ReportsEveryMistakeAtOnce) {
  EXPECT_EQ(mistakes_of(sweeps_from(",resnet50,0,adam,-5,nan,inf\n"
                                    "d,n,1,o,100,1,1\n"
                                    "d,n,1,o,100.0,1,1\n"
                                    "d,n,1,o,125,0,1e6\n"
                                    "d,n,1,o,150,1\n")),
            "dir/zeus_power_a40.csv:2: dataset is missing, expected a name of 1 to 253 bytes, "
            "UTF-8 without control characters\n"
            "dir/zeus_power_a40.csv:2: batch_size is \"0\", expected an integer from 1 to "
            "1000000000\n"
            "dir/zeus_power_a40.csv:2: power_limit is \"-5\", expected a number above 0, up to "
            "100000\n"
            "dir/zeus_power_a40.csv:2: time_per_epoch is \"nan\", expected a number above 0, up "
            "to 1000000000\n"
            "dir/zeus_power_a40.csv:2: average_power is \"inf\", expected a number above 0, up to "
            "100000\n"
            "dir/zeus_power_a40.csv:4: power_limit is \"100.0\", expected another limit: line 3 "
            "has this one for the job\n"
            "dir/zeus_power_a40.csv:5: time_per_epoch is \"0\", expected a number above 0, up to "
            "1000000000\n"
            "dir/zeus_power_a40.csv:5: average_power is \"1e6\", expected a number above 0, up to "
            "100000\n"
            "dir/zeus_power_a40.csv:6: row is \"6 cells\", expected 7 cells, as many as the first "
            "line has\n");
}

TEST(ZeusSweeps, AFileWithoutRowsOrColumnsIsRefused) {
  EXPECT_EQ(mistakes_of(sweeps_from("")),
            "dir/zeus_power_a40.csv: file is \"without rows\", expected a row for each job and "
            "power limit\n");
  EXPECT_THAT(mistakes_of(read_zeus_sweeps(*InputFile::from_memory("a.csv", "dataset,network\n"))),
              testing::HasSubstr("a.csv:1: column batch_size is missing"));
}

TEST(ZeusSweeps, AMissingFileIsBadInput) {
  const TemporaryFolder folder;
  const auto sweeps = read_zeus_sweeps(folder.path() / "none.csv");
  ASSERT_FALSE(sweeps);
  EXPECT_EQ(sweeps.error().code, ErrorCode::bad_input);
}

}  // namespace
}  // namespace weir::formats
