// SPDX-License-Identifier: Apache-2.0
//
// There is no driver where tests run: a double of its library stands in (tests/fake_nvml.cpp).
#include "engine/local/gpu_inventory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace weir::engine {
namespace {

std::string fake_library() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_nvml.so";
}

class GpuInventory : public ::testing::Test {
 protected:
  ~GpuInventory() override {
    unsetenv("FAKE_NVML_GPUS");
    unsetenv("FAKE_NVML_ERROR");
  }
};

TEST_F(GpuInventory, AMachineWithoutADriverHasNoGpus) {
  const auto gpus = find_gpus("libno-such-driver.so.1");
  ASSERT_TRUE(gpus.has_value());
  EXPECT_TRUE(gpus->empty());
}

TEST_F(GpuInventory, EachGpuIsListedWithModelUuidAndMemory) {
  const auto gpus = find_gpus(fake_library());
  ASSERT_TRUE(gpus.has_value());
  ASSERT_EQ(gpus->size(), 2U);
  EXPECT_EQ((*gpus)[1], (GpuDevice{"NVIDIA Fake 80GB", "GPU-0000-1", std::int64_t{80} << 30}));
}

TEST_F(GpuInventory, ALibraryWhoseDriverIsNotLoadedMeansNoGpus) {
  setenv("FAKE_NVML_ERROR", "9", 1);
  const auto gpus = find_gpus(fake_library());
  ASSERT_TRUE(gpus.has_value());
  EXPECT_TRUE(gpus->empty());
}

TEST_F(GpuInventory, ADriverThatDoesNotAnswerIsAnError) {
  setenv("FAKE_NVML_ERROR", "999", 1);
  EXPECT_FALSE(find_gpus(fake_library()).has_value());
}

TEST_F(GpuInventory, AGpuThatDoesNotAnswerIsAnError) {
  setenv("FAKE_NVML_GPUS", "65", 1);
  EXPECT_FALSE(find_gpus(fake_library()).has_value());
}

}  // namespace
}  // namespace weir::engine
