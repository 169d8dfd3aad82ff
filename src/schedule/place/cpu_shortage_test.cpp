// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/cpu_shortage.h"

#include <gtest/gtest.h>

#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

constexpr std::int64_t kUnit = CpuShortage::kUnitsPerMilli;

// 10 cores are expected per GPU.
CpuShortage ten_cores_per_gpu() {
  return CpuShortage{target_of({{a_task().cpu(10).gpus(1), 1}})};
}

TEST(CpuShortage, ATaskThatTakesMoreThanItsShareOfCpuStrandsGpu) {
  // 20 cores for 2 GPUs is just enough. A task with 15 cores and one GPU leaves 5 cores for one
  // GPU: half of it, 500 milli, has no CPU.
  const NodeState node = a_node().cpu(20).free({1000, 1000});
  EXPECT_NEAR(static_cast<double>(ten_cores_per_gpu().increase(node, a_task().cpu(15).gpus(1))),
              500.0 * kUnit, kUnit);
}

TEST(CpuShortage, ATaskWithLittleCpuRelievesANodeThatIsShort) {
  // 10 cores for 2 GPUs: 1000 milli are short. After one GPU with 2 cores: 8 cores for one GPU, 200
  // short.
  const NodeState node = a_node().cpu(10).free({1000, 1000});
  EXPECT_NEAR(static_cast<double>(ten_cores_per_gpu().increase(node, a_task().cpu(2).gpus(1))),
              -800.0 * kUnit, kUnit);
}

TEST(CpuShortage, WhereCpuIsPlentifulNothingChanges) {
  EXPECT_EQ(
      ten_cores_per_gpu().increase(a_node().cpu(60).free({1000}), a_task().cpu(15).share(100)), 0);
}

TEST(CpuShortage, WithoutExpectedCpuNoneIsShort) {
  const CpuShortage shortage{target_of({{a_task().gpus(1), 1}})};
  EXPECT_EQ(shortage.increase(a_node().cpu(1).free({1000, 1000}), a_task().cpu(1).gpus(1)), 0);
}

}  // namespace
}  // namespace weir::schedule
