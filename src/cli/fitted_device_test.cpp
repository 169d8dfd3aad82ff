// SPDX-License-Identifier: Apache-2.0
#include "cli/fitted_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "domain/diagnostics.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FittedDeviceOfTable : public testing::Test {
 protected:
  TableFolder tables() const { return {folder_.path().string(), "x_"}; }
  std::string about() const { return (folder_.path() / "x_about.json").string(); }
  void write(const std::string& text) const { folder_.write("x_about.json", text); }

  // What is wrong; empty without a mistake.
  std::string mistakes(const std::string& device = "NVIDIA X900") const {
    KernelSample sample;
    sample.call = {KernelFamily::rows, "copy", "fp32", "", {1 << 20, 1024}};
    sample.milliseconds = 1;
    const auto found = device_of_table(tables(), {device, {sample}});
    return found ? "" : to_string(found.error().details);
  }

  formats::TemporaryFolder folder_;
};

TEST_F(FittedDeviceOfTable, IsAsAboutDescribesIt) {
  write(R"({"device": "NVIDIA X900", "sm_count": 200, "l2_bytes": 1000, "capability": [8, 9],
            "at_start": {"highest_sm_clock_mhz": 2000}})");
  EXPECT_EQ(mistakes(), "");
  EXPECT_EQ(*described_device(tables()), "NVIDIA X900");
}

TEST_F(FittedDeviceOfTable, EveryMistakeOfAboutIsToldWithItsLine) {
  write(R"({"device": "NVIDIA X901",
"sm_count": -1,
"l2_bytes": "many",
"capability": [8],
"at_start": {"highest_sm_clock_mhz": null}})");
  const std::string file = about();
  EXPECT_EQ(
      mistakes(),
      file + ":1: device is \"NVIDIA X901\", expected NVIDIA X900, as in the tables\n" + file +
          ":2: sm_count is \"-1\", expected an integer from 1 to 100000\n" + file +
          ":5: at_start.highest_sm_clock_mhz is \"null\", expected an integer from 1 to "
          "100000\n" +
          file + ":4: capability is \"a list\", expected a list of two integers, such as [9, 0]\n" +
          file + ":3: l2_bytes is \"many\", expected an integer from 0 to 1125899906842624\n");
  write(R"({"device": "NVIDIA X900", "sm_count": 0, "at_start": 7})");
  EXPECT_THAT(mistakes(), AllOf(HasSubstr("sm_count is \"0\", expected an integer from 1"),
                                HasSubstr("at_start is \"7\", expected an object")));
  write("{}");
  EXPECT_THAT(mistakes(),
              AllOf(HasSubstr("x_about.json:1: device is missing, expected the name of the GPU"),
                    HasSubstr("x_about.json:1: sm_count is missing, expected an integer from 1"),
                    HasSubstr("x_about.json:1: at_start.highest_sm_clock_mhz is missing")));
}

TEST_F(FittedDeviceOfTable, TextThatIsNotJsonIsToldWhateverTheGpu) {
  write("{\n\"device\": \"NVIDIA X900\"\n\"sm_count\": 3}");
  EXPECT_THAT(mistakes(), HasSubstr("x_about.json:3: text is \"not JSON at byte "));
  EXPECT_THAT(mistakes("NVIDIA H200"), HasSubstr("x_about.json:3: text is \"not JSON at byte "));
  EXPECT_FALSE(described_device(tables()));
  write("[]");
  EXPECT_THAT(mistakes(), HasSubstr("x_about.json:1: document is \"a list\", expected an object"));
}

TEST_F(FittedDeviceOfTable, AMissingFileMattersOnlyWhereTheGpuIsNotKnown) {
  EXPECT_EQ(mistakes("NVIDIA H200"), "");
  EXPECT_THAT(
      mistakes(),
      AllOf(HasSubstr("device is \"NVIDIA X900\", expected a GPU that weir knows, or a file "),
            HasSubstr(about() + " (it is missing) with device, sm_count and "
                                "at_start.highest_sm_clock_mhz")));
  const auto described = described_device(tables());
  ASSERT_FALSE(described);
  EXPECT_THAT(to_string(described.error().details),
              HasSubstr("x_about.json: file is missing, expected a file with device, sm_count"));
  // What is told of another GPU does not matter where weir knows this one.
  write(R"({"device": "NVIDIA X901", "sm_count": -1})");
  EXPECT_EQ(mistakes("NVIDIA H200"), "");
}

TEST_F(FittedDeviceOfTable, TheSpeedOfItsMemoryMustShow) {
  write(R"({"device": "NVIDIA X900", "sm_count": 200, "l2_bytes": 1000000000000,
            "at_start": {"highest_sm_clock_mhz": 2000}})");
  EXPECT_THAT(mistakes(),
              HasSubstr("device is \"NVIDIA X900\", expected calls that move more than"));
}

}  // namespace
}  // namespace weir::cli
