// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/isolation_choice.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace weir::schedule {
namespace {

TEST(IsolationChoice, SharesWhereThatCostsHardlyAnything) {
  EXPECT_TRUE(is_sharing_harmless(0));
  EXPECT_TRUE(is_sharing_harmless(0.01));
  EXPECT_FALSE(is_sharing_harmless(0.0101));
}

TEST(IsolationChoice, WaitsWhereTheWaitIsShorterThanWhatSharingCosts) {
  // A tenth of 1,000 s is 100 s.
  EXPECT_TRUE(is_worth_waiting({0.1, 1000, 0.5, 0, 99}));
  EXPECT_FALSE(is_worth_waiting({0.1, 1000, 0.5, 0, 100}));
}

TEST(IsolationChoice, CountsTheWaitOfEverybodyBehind) {
  // Two behind: the wait counts three times, what sharing costs 1 + 2 / 2 times.
  EXPECT_TRUE(is_worth_waiting({0.1, 1000, 0.5, 2, 66}));
  EXPECT_FALSE(is_worth_waiting({0.1, 1000, 0.5, 2, 67}));
}

TEST(IsolationChoice, NeverWaitsForWhatWillNotCome) {
  EXPECT_FALSE(is_worth_waiting({5, 1e6, 1, 100, std::numeric_limits<double>::infinity()}));
}

RC_GTEST_PROP(IsolationChoiceProperty, WaitsNoLongerForLess, ()) {
  const auto number = [] { return static_cast<double>(*rc::gen::inRange(0, 1000)); };
  SharingQuestion question{number() / 100, number(), number() / 1000, *rc::gen::inRange(0, 20),
                           number()};
  const bool waits = is_worth_waiting(question);
  SharingQuestion longer = question;
  longer.wait_seconds += number();
  RC_ASSERT(waits || !is_worth_waiting(longer));
  SharingQuestion worse = question;
  worse.slowdown += number() / 100;
  RC_ASSERT(!waits || is_worth_waiting(worse));
}

}  // namespace
}  // namespace weir::schedule
