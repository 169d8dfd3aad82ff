// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/kernel_class.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace weir::predict {
namespace {

TEST(KernelClassRules, FewBlocksOrFewWarpsLeaveTheGpuIdle) {
  EXPECT_EQ(kernel_class(131, 132, 64, 1000, 100), KernelClass::under_utilised);
  EXPECT_EQ(kernel_class(132, 132, 7, 1000, 100), KernelClass::under_utilised);
  EXPECT_EQ(kernel_class(132, 132, 8, 100, 100), KernelClass::compute_bound);
  EXPECT_EQ(kernel_class(132, 132, 8, 99, 100), KernelClass::dram_bound);
}

RC_GTEST_PROP(SoftMaximum, LiesBetweenTheLargerAndATwelfthMore,
              (std::uint16_t a, std::uint16_t b)) {
  const double x = a + 0.5;
  const double y = b + 0.5;
  const double soft = soft_maximum(x, y);
  RC_ASSERT(soft >= std::max(x, y));
  RC_ASSERT(soft <= std::max(x, y) * std::pow(2, 1.0 / 6) * (1 + 1e-12));
  RC_ASSERT(soft == soft_maximum(y, x));
}

TEST(SoftMaximumEdges, OfNothingIsNothing) {
  EXPECT_EQ(soft_maximum(0, 0), 0);
  EXPECT_EQ(soft_maximum(0, 3), 3);
}

}  // namespace
}  // namespace weir::predict
