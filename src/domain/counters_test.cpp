// SPDX-License-Identifier: Apache-2.0
#include "domain/counters.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(CounterTotals, AddUpByNameAndAreZeroUntilCounted) {
  CounterTotals totals;
  EXPECT_EQ(totals.total("nodes scored"), 0U);
  totals.add("nodes scored", 3);
  totals.add("nodes scored", 4);
  totals.add("decisions", 1);
  EXPECT_EQ(totals.total("nodes scored"), 7U);
  EXPECT_EQ(totals.all().size(), 2U);
}

}  // namespace
}  // namespace weir
