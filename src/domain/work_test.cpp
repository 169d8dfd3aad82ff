// SPDX-License-Identifier: Apache-2.0
#include "domain/work.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(Work, RateTimesTimeIsExact) {
  // 3 micro-iterations per second for 7 ns: 21e-15 iterations.
  EXPECT_EQ(IterationRate{3} * Duration{7ns}, Work{21});
  EXPECT_EQ(IterationRate{1'000'000} * Duration{60s}, work_of_iterations(60));
}

TEST(Work, OfABillionFastIterationsOverAYearDoesNotOverflow) {
  const IterationRate fast{1'000'000'000'000'000};  // 1e9 iterations/s
  const Duration year = std::chrono::hours{24 * 365};
  EXPECT_EQ(fast * year, work_of_iterations(1'000'000'000LL * 24 * 365 * 3600));
}

TEST(Work, AFinishTimeIsRoundedUp) {
  EXPECT_EQ(time_for(Work{20}, IterationRate{10}), Duration{2});
  EXPECT_EQ(time_for(Work{21}, IterationRate{10}), Duration{3});
  EXPECT_EQ(time_for(Work{}, IterationRate{10}), Duration{0});
}

TEST(Work, ATimeBeyondTheLongestSaturates) {
  EXPECT_EQ(time_for(work_of_iterations(1'000'000'000'000), IterationRate{1}), Duration::max());
}

TEST(Work, AddsAndSubtracts) {
  Work work = work_of_iterations(5);
  work += work_of_iterations(2);
  work -= work_of_iterations(3);
  EXPECT_EQ(work, work_of_iterations(4));
  EXPECT_LT(work_of_iterations(1) - work_of_iterations(2), Work{});
  EXPECT_DOUBLE_EQ(to_iterations(work), 4.0);
}

RC_GTEST_PROP(Work, TheTimeForItIsTheLeastThatDoesIt, ()) {
  const IterationRate rate{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000)};
  const Work work{static_cast<WideInteger>(*rc::gen::inRange<std::int64_t>(1, 1LL << 60)) *
                  *rc::gen::inRange<std::int64_t>(1, 1000)};
  const Duration time = time_for(work, rate);
  RC_PRE(time != Duration::max());
  RC_ASSERT(rate * time >= work);
  RC_ASSERT(rate * (time - Duration{1}) < work);
}

}  // namespace
}  // namespace weir
