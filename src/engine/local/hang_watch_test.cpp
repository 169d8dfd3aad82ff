// SPDX-License-Identifier: Apache-2.0
#include "engine/local/hang_watch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
const HangWatch::Clock::time_point kStart{1h};

TEST(HangWatch, HasMuchPatienceBeforeTheFirstStep) {
  const HangWatch watch{5s, 0s, kStart};
  EXPECT_EQ(watch.hangs_at(), kStart + HangWatch::kLongestStart);
  EXPECT_EQ(watch.explain(), "no first step for 1.8e+03 s: it hangs");
  const HangWatch patient{2h, 0s, kStart};
  EXPECT_EQ(patient.hangs_at(), kStart + 2h);
}

TEST(HangWatch, WaitsAsLongAsAskedAfterAStep) {
  HangWatch watch{5s, 0s, kStart};
  watch.on_step(3, kStart + 1s);
  EXPECT_EQ(watch.hangs_at(), kStart + 6s);
  watch.on_step(5, kStart + 2s);
  EXPECT_EQ(watch.hangs_at(), kStart + 7s);
  EXPECT_EQ(watch.explain(), "no step for 5 s after step 5, one takes 0.5 s: it hangs");
}

TEST(HangWatch, UnaskedItWaitsTenStepsAndFiveMinutesAtLeast) {
  HangWatch watch{std::nullopt, 0s, kStart};
  watch.on_step(1, kStart);
  EXPECT_EQ(watch.hangs_at(), kStart + 5min);
  watch.on_step(2, kStart + 1min);
  EXPECT_EQ(watch.hangs_at(), kStart + 1min + 10min);
}

TEST(HangWatch, OneSlowStepDoesNotMakeItPatient) {
  HangWatch watch{std::nullopt, 0s, kStart};
  for (int step = 0; step <= 20; ++step) watch.on_step(step, kStart + step * 1s);
  watch.on_step(21, kStart + 1h);
  EXPECT_EQ(watch.hangs_at(), kStart + 1h + 5min);
}

TEST(HangWatch, ASaveMayTakeTwiceAsLongAsTheLongestBefore) {
  HangWatch watch{5s, 0s, kStart};
  watch.on_step(1, kStart);
  watch.on_save(20s, kStart + 1s);
  EXPECT_EQ(watch.hangs_at(), kStart + 41s);
  const HangWatch remembers{5s, 30s, kStart};
  HangWatch copy = remembers;
  copy.on_step(1, kStart);
  EXPECT_EQ(copy.hangs_at(), kStart + 1min);
}

RC_GTEST_PROP(HangWatch, ARunThatStepsInTimeNeverHangs, ()) {
  const Duration asked{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000)};
  HangWatch watch{asked, 0s, kStart};
  auto now = kStart;
  watch.on_step(0, now);
  for (int step = 1; step < 50; ++step) {
    now += Duration{*rc::gen::inRange<std::int64_t>(0, asked.count())};
    RC_ASSERT(now < watch.hangs_at());
    watch.on_step(step, now);
  }
}

}  // namespace
}  // namespace weir::engine
