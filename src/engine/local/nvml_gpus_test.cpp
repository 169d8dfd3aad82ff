// SPDX-License-Identifier: Apache-2.0
//
// There is no driver where tests run: a double of its library stands in (tests/fake_nvml.cpp).
#include "engine/local/nvml_gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "formats/temporary_file_testing.h"

namespace weir::engine {
namespace {

class NvmlGpusTest : public ::testing::Test {
 protected:
  NvmlGpusTest() { setenv("FAKE_NVML_CALLS", calls_file_.c_str(), 1); }
  ~NvmlGpusTest() override {
    for (const char* name :
         {"FAKE_NVML_CALLS", "FAKE_NVML_ERROR", "FAKE_NVML_CLOCK_ERROR", "FAKE_NVML_NO_COUNTER"})
      unsetenv(name);
  }
  static std::unique_ptr<GpuControl> fake() {
    return nvml_gpus(std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                     "libfake_nvml.so");
  }
  std::string calls() const {
    std::ostringstream text;
    text << std::ifstream{calls_file_}.rdbuf();
    return text.str();
  }

  formats::TemporaryFolder folder_;
  std::filesystem::path calls_file_ = folder_.path() / "calls";
};

// The double's highest clock is 2000 MHz.
TEST_F(NvmlGpusTest, AClockIsAnUpperLimitAndAFullOneIsNone) {
  const auto gpus = fake();
  EXPECT_EQ(gpus->set_clock({NodeId{1}, 1}, 700), "");
  EXPECT_EQ(gpus->set_clock({NodeId{1}, 1}, 1000), "");
  EXPECT_EQ(calls(), "lock 1 0 1400\nreset 1\n");
}

TEST_F(NvmlGpusTest, WithoutPermissionItSaysSo) {
  setenv("FAKE_NVML_CLOCK_ERROR", "4", 1);
  EXPECT_EQ(fake()->set_clock({NodeId{1}, 0}, 700), "Insufficient Permissions");
}

TEST_F(NvmlGpusTest, ReadsTheCounterInJoules) {
  const auto gpus = fake();
  const auto first = gpus->joules({NodeId{1}, 0});
  const auto second = gpus->joules({NodeId{1}, 0});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*second - *first, 100) << "the double uses 100 J from one question to the next";
  setenv("FAKE_NVML_NO_COUNTER", "1", 1);
  EXPECT_FALSE(gpus->joules({NodeId{1}, 0}));
}

TEST_F(NvmlGpusTest, WithoutADriverEverythingIsRefused) {
  const auto gpus = nvml_gpus("libno-such-driver.so.1");
  EXPECT_EQ(gpus->set_clock({NodeId{1}, 0}, 700), "there is no NVIDIA driver");
  EXPECT_FALSE(gpus->joules({NodeId{1}, 0}));
  setenv("FAKE_NVML_ERROR", "999", 1);
  EXPECT_EQ(fake()->set_clock({NodeId{1}, 0}, 700), "Unknown Error");
}

TEST_F(NvmlGpusTest, AGpuThatIsNotThereIsRefused) {
  EXPECT_NE(fake()->set_clock({NodeId{1}, 99}, 700), "");
  EXPECT_FALSE(fake()->joules({NodeId{1}, 99}));
}

}  // namespace
}  // namespace weir::engine
