// SPDX-License-Identifier: Apache-2.0
#include "plan/training/range_maximum.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::plan {
namespace {

RC_GTEST_PROP(RangeMaximum, IsTheLargestOfEveryRange, (std::vector<double> values)) {
  const RangeMaximum maximum{values};
  for (std::size_t first = 0; first < values.size(); ++first) {
    for (std::size_t end = first + 1; end <= values.size(); ++end) {
      RC_ASSERT(maximum.of(first, end) ==
                *std::max_element(values.data() + first, values.data() + end));
    }
  }
}

TEST(RangeMaximumOfNothing, IsNothing) {
  EXPECT_EQ((RangeMaximum{{1, 2, 3}}.of(2, 2)), 0);
}

}  // namespace
}  // namespace weir::plan
