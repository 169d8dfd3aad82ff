// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/carbon_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "schedule/admit/size_table.h"
#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

const std::vector<PlannedSize> kTwoSizes{{10, 100}, {15, 200}};  // the second GPU does half as much

double work_in(const std::vector<int>& plan, const std::vector<PlannedSize>& sizes,
               const std::vector<PlannedSlot>& slots) {
  double work = 0;
  for (std::size_t t = 0; t < slots.size(); ++t) {
    if (plan[t] != kPaused)
      work += sizes[static_cast<std::size_t>(plan[t])].rate * slots[t].seconds;
  }
  return work;
}

double units_for(const std::vector<int>& plan, const std::vector<PlannedSize>& sizes,
                 const std::vector<PlannedSlot>& slots) {
  double units = 0;
  for (std::size_t t = 0; t < slots.size(); ++t) {
    if (plan[t] != kPaused)
      units += sizes[static_cast<std::size_t>(plan[t])].watts * slots[t].seconds * slots[t].per_kwh;
  }
  return units;
}

TEST(CarbonPlan, TakesTheCleanestHour) {
  const std::vector<PlannedSlot> slots{{3600, 300}, {3600, 200}, {3600, 400}};
  EXPECT_EQ(carbon_plan(kTwoSizes, slots, 36'000), (std::vector<int>{kPaused, 0, kPaused}));
}

TEST(CarbonPlan, TakesMoreGpusInAHourThatIsCleanEnough) {
  // The second GPU does 5 for 100 x 100 there, the first elsewhere 10 for 100 x 300.
  const std::vector<PlannedSlot> slots{{3600, 300}, {3600, 100}};
  EXPECT_EQ(carbon_plan(kTwoSizes, slots, 54'000), (std::vector<int>{kPaused, 1}));
}

TEST(CarbonPlan, TakesAnotherHourWhereMoreGpusWasteMore) {
  const std::vector<PlannedSlot> slots{{3600, 150}, {3600, 100}};
  EXPECT_EQ(carbon_plan(kTwoSizes, slots, 54'000), (std::vector<int>{0, 0}));
}

TEST(CarbonPlan, RunsAtOnceWhereAllHoursAreAlike) {
  const std::vector<PlannedSlot> slots(4, {3600, 300});
  EXPECT_EQ(carbon_plan(kTwoSizes, slots, 60'000), (std::vector<int>{0, 0, kPaused, kPaused}));
}

TEST(CarbonPlan, AJobThatDrawsNothingRunsAtOnceAsFastAsItCan) {
  const std::vector<PlannedSize> sizes{{10, 0}, {15, 0}};
  const std::vector<PlannedSlot> slots{{3600, 300}, {3600, 100}};
  EXPECT_EQ(carbon_plan(sizes, slots, 54'000), (std::vector<int>{1, kPaused}));
}

TEST(CarbonPlan, UsesEverythingWhereEvenThatIsNotEnough) {
  const std::vector<PlannedSlot> slots{{3600, 300}, {600, 100}};
  EXPECT_EQ(carbon_plan(kTwoSizes, slots, 1e9), (std::vector<int>{1, 1}));
}

TEST(CarbonPlan, NothingToDoNeedsNoHour) {
  const std::vector<PlannedSlot> slots{{3600, 300}};
  EXPECT_EQ(carbon_plan(kTwoSizes, slots, 0), (std::vector<int>{kPaused}));
  EXPECT_TRUE(carbon_plan(kTwoSizes, {}, 100).empty());
}

// Each size gains less per watt than the one before it.
std::vector<PlannedSize> any_concave_sizes() {
  std::vector<PlannedSize> sizes;
  const int count = between(1, 5);
  double per_watt = 1000;
  PlannedSize size;
  for (int i = 0; i < count; ++i) {
    const double watts = between(50, 400);
    size.watts += watts;
    size.rate += per_watt * watts;
    sizes.push_back(size);
    per_watt *= between(20, 100) / 100.0;
  }
  return sizes;
}

// What the best of all plans needs to do that much.
double least_units(const std::vector<PlannedSize>& sizes, const std::vector<PlannedSlot>& slots,
                   double work) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<int> plan(slots.size(), kPaused);
  while (true) {
    if (work_in(plan, sizes, slots) >= work) least = std::min(least, units_for(plan, sizes, slots));
    std::size_t t = 0;
    while (t < plan.size() && ++plan[t] == static_cast<int>(sizes.size())) plan[t++] = kPaused;
    if (t == plan.size()) return least;
  }
}

// Its last step may be too large, but whatever does as much needs as many units.
RC_GTEST_PROP(CarbonPlan, NoPlanOfConcaveSizesDoesAsMuchForLess, ()) {
  const std::vector<PlannedSize> sizes = any_concave_sizes();
  std::vector<PlannedSlot> slots;
  const int count = between(1, 7);
  for (int t = 0; t < count; ++t)
    slots.push_back({t == 0 ? double(between(1, 3601)) : 3600.0, double(between(100, 500))});
  const double all = sizes.back().rate * 3600 * count;
  const double asked = all * between(0, 1001) / 1000;
  const std::vector<int> plan = carbon_plan(sizes, slots, asked);
  const double done = work_in(plan, sizes, slots);
  const std::vector<int> most(slots.size(), static_cast<int>(sizes.size()) - 1);
  RC_ASSERT(done >= asked || plan == most);
  const double units = units_for(plan, sizes, slots);
  const double least = least_units(sizes, slots, done * (1 - 1e-12));
  RC_ASSERT(units >= least);
  RC_ASSERT(units <= least * (1 + 1e-9));
}

TEST(HourlySlots, BeginInTheMiddleOfAnHourAndEndInOne) {
  const SupplySeries supply{at_second(0), std::chrono::hours{1}, {100, 200, 300}};
  const auto slots = hourly_slots(supply, at_second(1800), at_second(9000));
  ASSERT_EQ(slots.size(), 3U);
  EXPECT_EQ(slots[0].seconds, 1800);
  EXPECT_EQ(slots[0].per_kwh, 100);
  EXPECT_EQ(slots[1].seconds, 3600);
  EXPECT_EQ(slots[1].per_kwh, 200);
  EXPECT_EQ(slots[2].seconds, 1800);
  EXPECT_EQ(slots[2].per_kwh, 300);
  EXPECT_TRUE(hourly_slots(supply, at_second(5), at_second(5)).empty());
}

TEST(HourlySlots, AreThoseOfASeriesThatBeginsLater) {
  const SupplySeries supply{at_second(7200 + 600), std::chrono::hours{1}, {100}};
  const auto slots = hourly_slots(supply, at_second(0), at_second(3600));
  ASSERT_EQ(slots.size(), 2U);
  EXPECT_EQ(slots[0].seconds, 600);
  EXPECT_EQ(slots[1].seconds, 3000);
}

}  // namespace
}  // namespace weir::schedule
