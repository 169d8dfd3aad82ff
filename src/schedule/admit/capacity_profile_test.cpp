// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/capacity_profile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

TEST(CapacityProfile, ANewOneIsFreeForEver) {
  const CapacityProfile profile{at_second(5), 8};
  EXPECT_EQ(profile.size(), 1U);
  EXPECT_EQ(profile.free_at(at_second(5)), 8);
  EXPECT_EQ(profile.free_at(Time::max()), 8);
  EXPECT_EQ(profile.end_of(0), Time::max());
}

TEST(CapacityProfile, TakesGpusForAWhile) {
  CapacityProfile profile{at_second(0), 8};
  profile.add(at_second(10), at_second(20), -3);
  EXPECT_EQ(profile.free_at(at_second(9)), 8);
  EXPECT_EQ(profile.free_at(at_second(10)), 5);
  EXPECT_EQ(profile.free_at(at_second(20)), 8);
}

TEST(CapacityProfile, GivingBackWhatWasTakenLeavesNoTrace) {
  CapacityProfile profile{at_second(0), 8};
  profile.add(at_second(10), at_second(20), -3);
  profile.add(at_second(10), at_second(20), 3);
  EXPECT_EQ(profile, (CapacityProfile{at_second(0), 8}));
}

TEST(CapacityProfile, TakenForEverHasNoEnd) {
  CapacityProfile profile{at_second(0), 8};
  profile.add(at_second(10), Time::max(), -3);
  EXPECT_EQ(profile.size(), 2U);
  EXPECT_EQ(profile.free_at(Time::max()), 5);
}

RC_GTEST_PROP(CapacityProfile, BehavesLikeAListOfSeconds, ()) {
  constexpr std::int64_t kSeconds = 60;
  CapacityProfile profile{at_second(0), 10};
  std::vector<std::int32_t> plain(kSeconds, 10);
  std::int64_t start = 0;
  const int steps = between(1, 25);
  for (int step = 0; step < steps; ++step) {
    const auto from = between<std::int64_t>(start, kSeconds - 1);
    const auto to = between<std::int64_t>(start, kSeconds - 1);
    if (between(0, 8) == 0) {
      start = from;
      profile.start_at(at_second(start));
      RC_ASSERT(profile.begin_of(0) == at_second(start));
    } else {
      const std::int32_t change = between(-3, 4);
      profile.add(at_second(from), at_second(to), change);
      for (std::int64_t s = from; s < to; ++s) plain[static_cast<std::size_t>(s)] += change;
    }
    for (std::int64_t s = start; s < kSeconds; ++s)
      RC_ASSERT(profile.free_at(at_second(s)) == plain[static_cast<std::size_t>(s)]);
    for (std::size_t i = 1; i < profile.size(); ++i) {
      RC_ASSERT(profile.begin_of(i - 1) < profile.begin_of(i));
      RC_ASSERT(profile.end_of(i - 1) == profile.begin_of(i));
      RC_ASSERT(profile.free_in(i - 1) != profile.free_in(i));
    }
    RC_ASSERT(profile.free_in(profile.size() - 1) == plain.back());
    const auto a = between<std::int64_t>(start, kSeconds - 1);
    const auto b = between<std::int64_t>(a, kSeconds);
    std::int64_t sum = 0;
    for (std::int64_t s = a; s < b; ++s) sum += plain[static_cast<std::size_t>(s)];
    RC_ASSERT(profile.free_time(at_second(a), at_second(b)) ==
              static_cast<CapacityProfile::GpuTime>(sum) * from_seconds(1).count());
  }
}

RC_GTEST_PROP(CapacityProfile, ManyChangesAtOnceAreTheSameAsOneByOne, ()) {
  CapacityProfile one_by_one = any_profile(10, 60);
  CapacityProfile at_once = one_by_one;
  std::vector<CapacityProfile::Change> changes;
  const int count = between(0, 12);
  for (int i = 0; i < count; ++i) {
    // Some begin before the profile does.
    const auto from = between<std::int64_t>(-5, 70);
    const auto to = from + between<std::int64_t>(1, 20);
    const std::int32_t by = between(-3, 4);
    one_by_one.add(at_second(std::max<std::int64_t>(from, 0)),
                   at_second(std::max<std::int64_t>(to, 0)), by);
    changes.push_back({at_second(to), -by});
    changes.push_back({at_second(from), by});
  }
  at_once.apply(changes);
  RC_ASSERT(at_once == one_by_one);
}

RC_GTEST_PROP(CapacityProfile, ACoarserOneHasNeverMoreFreeAndIsTheSameInTheEnd, ()) {
  const CapacityProfile fine = any_profile(16, 200);
  const auto parts = between<std::int64_t>(1, 20);
  const CapacityProfile coarse = fine.coarsened(parts);
  RC_ASSERT(coarse.size() <= fine.size());
  RC_ASSERT(coarse.begin_of(0) == fine.begin_of(0));
  RC_ASSERT(coarse.free_in(coarse.size() - 1) <= fine.free_in(fine.size() - 1));
  RC_ASSERT(coarse.free_at(Time::max()) == fine.free_at(Time::max()));
  for (std::int64_t s = 0; s < 450; ++s)
    RC_ASSERT(coarse.free_at(at_second(s)) <= fine.free_at(at_second(s)));
}

}  // namespace
}  // namespace weir::schedule
