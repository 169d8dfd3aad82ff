// SPDX-License-Identifier: Apache-2.0
#include "schedule/share/decayed_usage.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using testing::at_second;
using testing::between;

constexpr Duration kDay = std::chrono::hours{24};

TEST(DecayedUsage, CountsGpuTime) {
  const DecayedUsage usage{at_second(0), 0, 3};
  EXPECT_EQ(usage.at(at_second(100), kDay), 300'000);
}

TEST(DecayedUsage, CountsHalfAfterAHalfLife) {
  const DecayedUsage usage{at_second(0), 1'000'000'000, 0};
  EXPECT_NEAR(static_cast<double>(usage.at(Time{kDay}, kDay)), 500e6, 1e4);
  EXPECT_NEAR(static_cast<double>(usage.at(Time{2 * kDay}, kDay)), 250e6, 1e4);
  EXPECT_EQ(usage.at(Time{100 * kDay}, kDay), 0);
}

TEST(DecayedUsage, OfConstantUseIsBounded) {
  const DecayedUsage usage{at_second(0), 0, 8};
  const double most = 8 * 86'400e3 / std::log(2);
  EXPECT_NEAR(static_cast<double>(usage.at(Time{60 * kDay}, kDay)) / most, 1, 0.003);
}

TEST(DecayedUsage, ChangesWithTheGpusInUse) {
  DecayedUsage usage{at_second(0), 0, 0};
  usage.change(at_second(10), kDay, 4);
  usage.change(at_second(20), kDay, -3);
  EXPECT_EQ(usage.at(at_second(30), kDay), 4 * 10'000 + 1 * 10'000);
}

// As the exact formula says, within the width of a step.
RC_GTEST_PROP(DecayedUsage, IsCloseToTheFormula, ()) {
  const auto half_life = from_seconds(between(600, 200'000));
  const auto begin = between<std::int64_t>(0, 100'000);
  const auto length = between<std::int64_t>(0, 400'000);
  const auto before = between<std::int64_t>(0, 1'000'000'000'000);
  const auto gpus = between(0, 5000);
  const DecayedUsage usage{at_second(begin), before, gpus};
  const double decay = std::log(2) / (to_seconds(half_life) * 1000);
  const double factor = std::exp(-decay * static_cast<double>(length) * 1000);
  const double exact = static_cast<double>(before) * factor + gpus / decay * (1 - factor);
  const auto counted = static_cast<double>(usage.at(at_second(begin + length), half_life));
  RC_ASSERT(std::abs(counted - exact) <= exact * 0.004 + 1000);
}

// Asking in between changes nothing but the rounding.
RC_GTEST_PROP(DecayedUsage, DoesNotDependOnHowOftenItIsCounted, ()) {
  const auto half_life = from_seconds(between(600, 200'000));
  const DecayedUsage once{at_second(0), between<std::int64_t>(0, 1'000'000'000), between(0, 100)};
  DecayedUsage often = once;
  std::int64_t now = 0;
  for (int i = 0; i < 20; ++i) {
    now += between<std::int64_t>(0, 5000);
    often.change(at_second(now), half_life, 0);
  }
  // 20 roundings of up to a GPU-millisecond for each GPU.
  RC_ASSERT(std::abs(often.at(at_second(now), half_life) - once.at(at_second(now), half_life)) <=
            2000);
}

}  // namespace
}  // namespace weir::schedule
