// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap/overlap_advice.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "plan/overlap/two_choices_testing.h"

namespace weir::plan {
namespace {

using predict::GradientGroup;
using predict::OverlapStep;
using predict::OverlapTimeline;
using predict::SentGroups;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(OverlapAdvice, SaysThatThereIsNoGainWhereThereIsNone) {
  // All is sent after computing: many CTAs are best, and they are the default.
  const OverlapStep step = two_choices({{20, 5}}, 2, 0.5);
  const OverlapAdvice advice = advise_overlap(step, 1);
  EXPECT_EQ(advice.best_uniform, 1U);
  EXPECT_EQ(advice.gain(), 0);
  EXPECT_EQ(advice.before_ms(), 25);
  EXPECT_EQ(advice.advised(step), (std::vector<SentGroups>{{1, 1}}));
}

TEST(OverlapAdvice, OneNumberForAllWhenThatIsAsGood) {
  // Sending is hidden either way: fewer CTAs slow nothing down.
  const OverlapStep step = two_choices({{2, 3}, {10, 3}}, 2, 0.5);
  const OverlapAdvice advice = advise_overlap(step, 1);
  EXPECT_EQ(advice.before_ms(), 23);
  EXPECT_EQ(advice.after_ms(), 20);
  EXPECT_NEAR(advice.gain(), 3.0 / 23, 1e-12);
  EXPECT_FALSE(advice.is_tuner_worth_it());
  EXPECT_EQ(advice.advised(step), (std::vector<SentGroups>{{1, 0}, {2, 0}}));
}

TEST(OverlapAdvice, ARuleBySizeWhenGroupsWantDifferentNumbers) {
  // The small group is hidden, the large one comes last and should be fast.
  const OverlapStep step = two_choices({{2, 3}, {20, 30}}, 3, 0.2);
  const OverlapAdvice advice = advise_overlap(step, 1);
  EXPECT_TRUE(advice.is_tuner_worth_it());
  EXPECT_EQ(advice.tuner, (std::vector<TunerRule>{{3, 3, 2}, {4, kMost, 8}}));
  EXPECT_EQ(advice.after_ms(), 50);
  EXPECT_EQ(advice.advised(step), (std::vector<SentGroups>{{1, 0}, {2, 1}}));
}

TEST(OverlapAdvice, EqualSizesGetTheLargerNumber) {
  const OverlapStep step = two_choices({{2, 6}, {20, 6}}, 3, 0.2);
  const OverlapAdvice advice = advise_overlap(step, 1);
  EXPECT_EQ(advice.each.sent, (std::vector<SentGroups>{{1, 0}, {2, 1}}));
  EXPECT_EQ(advice.tuner, (std::vector<TunerRule>{{6, kMost, 8}}));
  EXPECT_EQ(advice.tuner_ms, advice.uniform_ms[1]);
}

TEST(OverlapAdvice, ATableThatWouldBeSlowerThanOneNumberIsOfThatNumber) {
  // Only the last group should be fast; both are of one size, which is all that a table sees.
  const OverlapStep step = two_choices({{2, 3}, {4, 3}, {20, 3}}, 1.5, 0.1);
  const OverlapAdvice advice = advise_overlap(step, 0);
  EXPECT_EQ(advice.each.sent.back().choice, 1U);
  EXPECT_EQ(advice.best_uniform, 0U);
  EXPECT_EQ(advice.tuner, (std::vector<TunerRule>{{3, kMost, 2}}));
  EXPECT_EQ(advice.tuner_ms, advice.uniform_ms[0]);
}

RC_GTEST_PROP(OverlapAdviceLaws, NeverWorseThanTheDefaultWithTheSameGroups, ()) {
  std::vector<GradientGroup> groups;
  double ready = 0;
  const int count = *rc::gen::inRange(1, 8);
  for (int g = 0; g < count; ++g) {
    ready = std::min(20.0, ready + *rc::gen::inRange(0, 8));
    groups.push_back({ready, *rc::gen::inRange(1, 8)});
  }
  const OverlapStep step = two_choices(std::move(groups), *rc::gen::inRange(10, 40) / 10.0,
                                       *rc::gen::inRange(1, 11) / 10.0);
  const auto usual = *rc::gen::inRange<std::size_t>(0, 2);
  const auto window = *rc::gen::inRange<std::size_t>(1, 4);
  const OverlapAdvice advice = advise_overlap(step, usual, {.window = window});
  const auto advised = advice.advised(step);
  RC_ASSERT(advised.size() == advice.groups.size());
  std::vector<SentGroups> before = advised;
  for (std::size_t g = 0; g < advised.size(); ++g) {
    RC_ASSERT(advised[g].end == advice.groups[g].end);
    before[g].choice = usual;
  }
  // The gain is against the very same groups.
  RC_ASSERT(std::abs(step.step_ms(before) - advice.before_ms()) < 1e-9);
  RC_ASSERT(step.step_ms(advised) <= advice.before_ms() + 1e-9);
  if (advice.gain() > 0) RC_ASSERT(std::abs(step.step_ms(advised) - advice.after_ms()) < 1e-9);
  // Whoever takes the table gets no less than the one number that is advised.
  RC_ASSERT(advice.tuner_ms <= std::max(advice.uniform_best_ms(), advice.after_ms()) * 1.005);
}

}  // namespace
}  // namespace weir::plan
