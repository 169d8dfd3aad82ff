// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/fill.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "schedule/admit/promises.h"
#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

constexpr std::array kNoReserve{0};
Time now_of(std::int64_t second) {
  return at_second(second);
}

// What a job does that follows the plan from its real state: it pays at every change of size, and
// works at its curve's rate. Until `until`, and not past the plan's end.
Work replay(const SizePlan& plan, const JobToFill& job, Time until) {
  Work done;
  int level = job.level;
  Time ready = job.ready_at;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Time from = plan.steps[i].from;
    const Time to =
        std::min({i + 1 < plan.steps.size() ? plan.steps[i + 1].from : plan.end, plan.end, until});
    if (plan.steps[i].level != level) {
      level = plan.steps[i].level;
      if (level != kPaused) ready = from + (*job.sizes)[static_cast<std::size_t>(level)].price;
    }
    if (level == kPaused || std::max(from, ready) >= to) continue;
    done += (*job.sizes)[static_cast<std::size_t>(level)].rate * (to - std::max(from, ready));
  }
  return done;
}

// --- A twin of the walk at one level, second by second. ---

struct SecondsTwin {
  const CapacityProfile& profile;
  const JobToFill& job;
  std::int64_t now;

  std::int32_t free(std::int64_t second) const { return profile.free_at(at_second(second)); }
  std::int64_t rate(int level) const {
    return level == kPaused ? 0
                            : (*job.sizes)[static_cast<std::size_t>(level)].rate.value / 1'000'000;
  }
  std::int64_t price(int level) const {
    return (*job.sizes)[static_cast<std::size_t>(level)].price / std::chrono::seconds{1};
  }

  // The largest size that is free and at most q; one that would not earn its price before it must
  // be given up is not gone to.
  int choose(std::int64_t second, int q, int level) const {
    int next = q;
    while (next >= 0 && gpus_of(*job.sizes, next) > free(second)) --next;
    for (; next > level; --next) {
      std::int64_t room = 0;
      const std::int64_t deadline = seconds_of(job.deadline);
      while (second + room < deadline && free(second + room) >= gpus_of(*job.sizes, next)) ++room;
      if (room > price(next) && rate(next) * (room - price(next)) > rate(level) * room) break;
    }
    return next;
  }

  // Iterations done at the deadline.
  std::int64_t done_at_level(int q) const {
    std::int64_t done = 0;
    int level = job.level;
    std::int64_t ready = seconds_of(job.ready_at);
    for (std::int64_t second = now; second < seconds_of(job.deadline); ++second) {
      if (second == now || free(second) != free(second - 1)) {
        const int next = choose(second, q, level);
        if (next != level && next != kPaused) ready = second + price(next);
        level = next;
      }
      if (second >= ready) done += rate(level);
    }
    return done;
  }
};

struct Case {
  SizeTable sizes;
  CapacityProfile profile;
  JobToFill job;
  std::int64_t now;

  FillRules rules(std::span<const int> reserves, Duration slot = Duration{0}) const {
    return {now_of(now), slot, reserves, true};
  }
};

constexpr std::int32_t kGpus = 16;

// Something to plan, in whole seconds. Half of them are not too much.
void make_case(Case& any, std::int64_t slot = 1) {
  const auto window = between<std::int64_t>(1, 200);
  any.now = between<std::int64_t>(0, 30);
  any.profile = any_profile(kGpus, any.now + window, slot);
  any.sizes = sizes_of(any_curve(kGpus), any_cost());
  any.job.sizes = &any.sizes;
  any.job.deadline = at_second(any.now + window);
  any.job.level = between(-1, static_cast<int>(any.sizes.size()));
  any.job.ready_at = at_second(any.now + between<std::int64_t>(-5, 8));
  const std::int64_t most = any.sizes.back().rate.value / 1'000'000 * window;
  any.job.left = work_of_iterations(between<std::int64_t>(1, most + 2));
}

// --- By hand. ---

TEST(Fill, TakesTheLeastSizeThatMeetsTheDeadlineAndOnlyAtTheEnd) {
  const SizeTable sizes = sizes_of({{1, 10}, {2, 20}, {4, 30}});
  const CapacityProfile profile{at_second(0), 8};
  // 100 s at 10/s do 1000; 1200 need 20/s during the last 20 s.
  const auto plan = fill(profile, {&sizes, work_of_iterations(1200), at_second(100)},
                         {at_second(0), Duration{0}, kNoReserve});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->top_level, 1);
  EXPECT_EQ(plan->steps, (std::vector<SizeStep>{{at_second(0), 0}, {at_second(80), 1}}));
  EXPECT_EQ(plan->end, at_second(100));
}

TEST(Fill, CanHaveTheLargerSizeFromTheStart) {
  const SizeTable sizes = sizes_of({{1, 10}, {2, 20}});
  const CapacityProfile profile{at_second(0), 2};
  const JobToFill job{&sizes, work_of_iterations(1500), at_second(100), kPaused, at_second(0)};
  FillRules rules{at_second(0), Duration{0}, kNoReserve};
  rules.raises_late = false;
  const auto plan = fill(profile, job, rules);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps, (std::vector<SizeStep>{{at_second(0), 1}}));
  EXPECT_EQ(plan->end, at_second(75));
}

TEST(Fill, CountsThePriceOfAStart) {
  const SizeTable sizes = sizes_of({{1, 10}}, {from_seconds(3), from_seconds(2)});  // 5 s
  const CapacityProfile profile{at_second(0), 8};
  const FillRules rules{at_second(0), Duration{0}, kNoReserve};
  EXPECT_TRUE(fill(profile, {&sizes, work_of_iterations(950), at_second(100)}, rules));
  EXPECT_FALSE(fill(profile, {&sizes, work_of_iterations(951), at_second(100)}, rules));
}

TEST(Fill, AJobThatHasItsSizeAlreadyPaysNothing) {
  const SizeTable sizes = sizes_of({{1, 10}}, {from_seconds(3), from_seconds(2)});
  const CapacityProfile profile{at_second(0), 8};
  const JobToFill job{&sizes, work_of_iterations(1000), at_second(100), 0, at_second(0)};
  EXPECT_TRUE(fill(profile, job, {at_second(0), Duration{0}, kNoReserve}));
}

TEST(Fill, AJobThatIsBeingRescaledWaitsUntilItIsReady) {
  const SizeTable sizes = sizes_of({{1, 10}}, {from_seconds(3), from_seconds(2)});
  const CapacityProfile profile{at_second(0), 8};
  JobToFill job{&sizes, work_of_iterations(960), at_second(100), 0, at_second(4)};
  EXPECT_TRUE(fill(profile, job, {at_second(0), Duration{0}, kNoReserve}));
  job.left = work_of_iterations(961);
  EXPECT_FALSE(fill(profile, job, {at_second(0), Duration{0}, kNoReserve}));
}

TEST(Fill, DoesNotGoUpWhereThatWouldNotEarnItsPrice) {
  // For 10 s there is room for 2 GPUs: 10 s at 10/s do more than 4 s at 20/s.
  const SizeTable sizes = sizes_of({{1, 10}, {2, 20}}, {from_seconds(6), from_seconds(0)});
  CapacityProfile profile{at_second(0), 1};
  profile.add(at_second(50), at_second(60), 1);
  const JobToFill job{&sizes, work_of_iterations(1000), at_second(100), 0, at_second(0)};
  const auto plan = fill(profile, job, {at_second(0), Duration{0}, kNoReserve});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps, (std::vector<SizeStep>{{at_second(0), 0}}));
}

TEST(Fill, PausesWhereNothingIsFree) {
  const SizeTable sizes = sizes_of({{2, 10}});
  CapacityProfile profile{at_second(0), 2};
  profile.add(at_second(10), at_second(20), -1);
  const auto plan = fill(profile, {&sizes, work_of_iterations(300), at_second(40)},
                         {at_second(0), Duration{0}, kNoReserve});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps, (std::vector<SizeStep>{
                             {at_second(0), 0}, {at_second(10), kPaused}, {at_second(20), 0}}));
}

TEST(Fill, FallsBackToASmallerReserve) {
  const SizeTable sizes = sizes_of({{1, 10}}, {from_seconds(5), from_seconds(0)});
  const CapacityProfile profile{at_second(0), 8};
  const FillRules rules{at_second(0), Duration{0}, kReserves};
  const auto reserve_of = [&](std::int64_t iterations) {
    const auto plan =
        fill(profile, {&sizes, work_of_iterations(iterations), at_second(100)}, rules);
    return plan ? plan->reserve : -1;
  };
  // 95 s of work; a reserve of 4 prices is 20 s.
  EXPECT_EQ(reserve_of(750), 4);
  EXPECT_EQ(reserve_of(751), 1);
  EXPECT_EQ(reserve_of(901), 0);
  EXPECT_EQ(reserve_of(951), -1);
}

TEST(Fill, RefusesADeadlineThatHasPassed) {
  const SizeTable sizes = sizes_of({{1, 10}});
  EXPECT_FALSE(fill(CapacityProfile{at_second(0), 8}, {&sizes, work_of_iterations(0), at_second(5)},
                    {at_second(5), Duration{0}, kNoReserve}));
}

TEST(FillGreedily, TakesAllThatIsUsefulAtOnceAndMayBeLate) {
  const SizeTable sizes = sizes_of({{1, 10}, {2, 20}, {4, 30}});
  CapacityProfile profile{at_second(0), 8};
  profile.add(at_second(10), at_second(20), -6);
  // 300 until 10, 200 until 20, then 30/s.
  const SizePlan plan = fill_greedily(profile, {&sizes, work_of_iterations(800), at_second(15)},
                                      {at_second(0), Duration{0}, {}});
  EXPECT_EQ(plan.steps,
            (std::vector<SizeStep>{{at_second(0), 2}, {at_second(10), 1}, {at_second(20), 2}}));
  EXPECT_EQ(plan.end, at_second(30));
}

// --- Properties. ---

RC_GTEST_PROP(Fill, APlanFitsWhatIsFreeAndDoesTheWorkInTime, ()) {
  Case any;
  const std::int64_t slot = *rc::gen::elementOf(std::vector<std::int64_t>{0, 0, 1, 7, 20});
  make_case(any, std::max<std::int64_t>(slot, 1));
  FillRules rules = any.rules(kReserves, from_seconds(slot));
  rules.raises_late = between(0, 4) > 0;
  const auto plan = fill(any.profile, any.job, rules);
  RC_CLASSIFY(!plan);
  RC_CLASSIFY(!rules.raises_late);
  RC_PRE(plan.has_value());
  RC_ASSERT(std::count(kReserves.begin(), kReserves.end(), plan->reserve) == 1);
  const SizeOption& top = any.sizes[static_cast<std::size_t>(plan->top_level)];
  const Work need = any.job.left + top.rate * (top.price * plan->reserve);
  RC_ASSERT(replay(*plan, any.job, any.job.deadline) >= need);
  if (slot == 0) RC_ASSERT(plan->end <= any.job.deadline);
  RC_ASSERT(plan->end < any.job.deadline + std::max(Duration{1}, from_seconds(slot)));
  RC_ASSERT(plan->steps.front().from == now_of(any.now));
  for (std::size_t i = 0; i < plan->steps.size(); ++i) {
    RC_ASSERT(plan->steps[i].level <= plan->top_level);
    if (i == 0) continue;
    RC_ASSERT(plan->steps[i - 1].from < plan->steps[i].from);
    RC_ASSERT(plan->steps[i - 1].level != plan->steps[i].level);
    if (slot > 0)
      RC_ASSERT(plan->steps[i].from.time_since_epoch() % from_seconds(slot) == Duration{0});
  }
  if (slot > 0) RC_ASSERT(plan->end.time_since_epoch() % from_seconds(slot) == Duration{0});
  CapacityProfile rest = any.profile;
  subtract(rest, *plan, any.sizes);
  for (std::size_t i = 0; i < rest.size(); ++i) RC_ASSERT(rest.free_in(i) >= 0);
}

RC_GTEST_PROP(Fill, TakesTheFirstReserveAndTheLowestLevelAtWhichTheWalkSucceeds, ()) {
  Case any;
  make_case(any);
  const SecondsTwin twin{any.profile, any.job, any.now};
  std::optional<std::pair<int, int>> expected;  // reserve and level
  for (const int reserve : kReserves) {
    for (int q = 0; q < static_cast<int>(any.sizes.size()) && !expected; ++q) {
      const SizeOption& size = any.sizes[static_cast<std::size_t>(q)];
      const Work need = any.job.left + size.rate * (size.price * reserve);
      if (work_of_iterations(twin.done_at_level(q)) >= need) expected = {reserve, q};
    }
  }
  const auto plan = fill(any.profile, any.job, any.rules(kReserves));
  RC_CLASSIFY(plan.has_value());
  RC_ASSERT(plan.has_value() == expected.has_value());
  if (plan) RC_ASSERT(std::pair(plan->reserve, plan->top_level) == *expected);
}

// Only the form of the plan depends on it: the first level that suffices is the same.
RC_GTEST_PROP(Fill, RaisingLateChangesNoAnswer, ()) {
  Case any;
  make_case(any);
  FillRules rules = any.rules(kReserves);
  const auto late = fill(any.profile, any.job, rules);
  rules.raises_late = false;
  const auto throughout = fill(any.profile, any.job, rules);
  RC_CLASSIFY(late && throughout && late->steps != throughout->steps);
  RC_ASSERT(late.has_value() == throughout.has_value());
  if (!late) return;
  RC_ASSERT(late->top_level == throughout->top_level);
  RC_ASSERT(late->reserve == throughout->reserve);
}

RC_GTEST_PROP(Fill, WithoutPricesOnAConstantProfileItIsPossibleIffTheLargestFittingSizeDoesIt, ()) {
  Case any;
  make_case(any);
  for (SizeOption& size : any.sizes) size.price = Duration{0};
  any.job.ready_at = now_of(any.now);
  const std::int32_t free = between(0, kGpus + 1);
  any.profile = CapacityProfile{at_second(0), free};
  IterationRate best{0};
  for (const SizeOption& size : any.sizes) {
    if (size.gpus <= free) best = size.rate;
  }
  const bool is_possible = best * (any.job.deadline - now_of(any.now)) >= any.job.left;
  RC_CLASSIFY(is_possible);
  RC_ASSERT(fill(any.profile, any.job, any.rules(kNoReserve)).has_value() == is_possible);
}

RC_GTEST_PROP(Fill, DoesNotRefuseWhatOneSizeThroughoutWouldDo, ()) {
  Case any;
  make_case(any);
  any.job.ready_at = now_of(any.now);
  std::int32_t least = kGpus;
  for (std::int64_t s = any.now; s < seconds_of(any.job.deadline); ++s)
    least = std::min(least, any.profile.free_at(at_second(s)));
  bool is_possible = false;
  for (std::size_t q = 0; q < any.sizes.size(); ++q) {
    const SizeOption& size = any.sizes[q];
    if (size.gpus > least) continue;
    const Duration price = static_cast<int>(q) == any.job.level ? Duration{0} : size.price;
    const Duration window = any.job.deadline - now_of(any.now);
    is_possible = is_possible || (window > price && size.rate * (window - price) >= any.job.left);
  }
  RC_PRE(is_possible);
  RC_ASSERT(fill(any.profile, any.job, any.rules(kNoReserve)).has_value());
}

// True for concave curves without prices. With a curve that is not concave, or with prices, the
// lower level can cost more GPU-time than the higher one would.
RC_GTEST_PROP(Fill, TheLateFormCostsNoMoreGpuTimeThanTheSameLevelThroughout, ()) {
  Case any;
  make_case(any);
  any.sizes = sizes_of(any_concave_curve(kGpus));
  any.job.level = kPaused;
  const std::int64_t most =
      any.sizes.back().rate.value / 1'000'000 * (seconds_of(any.job.deadline) - any.now);
  any.job.left = work_of_iterations(between<std::int64_t>(1, most + 2));
  const auto plan = fill(any.profile, any.job, any.rules(kNoReserve));
  RC_PRE(plan.has_value());
  SizePlan throughout;
  Work done;
  for (std::size_t i = any.profile.piece_at(now_of(any.now)); i < any.profile.size(); ++i) {
    const Time from = std::max(any.profile.begin_of(i), now_of(any.now));
    int level = plan->top_level;
    while (level >= 0 && gpus_of(any.sizes, level) > any.profile.free_in(i)) --level;
    throughout.steps.push_back({from, level});
    if (level == kPaused) continue;
    const IterationRate rate = any.sizes[static_cast<std::size_t>(level)].rate;
    const Time to = std::min(any.profile.end_of(i), any.job.deadline);
    throughout.end = from + std::min(to - from, time_for(any.job.left - done, rate));
    done += rate * (throughout.end - from);
    if (done >= any.job.left) break;
  }
  RC_ASSERT(done >= any.job.left);
  // Ends are rounded up to a nanosecond, once in each.
  RC_ASSERT(gpu_time_of(*plan, any.sizes) <= gpu_time_of(throughout, any.sizes) + kGpus);
}

// Rates in proportion to GPUs, no prices, and every whole number of GPUs allowed (not only powers of
// two): then filling in order of deadlines is exact, but for a nanosecond at each plan's end.
RC_GTEST_PROP(Fill, InDeadlineOrderIsExactForLinearCurvesOnAnyNumberOfGpus, ()) {
  SizeTable sizes;
  for (std::int32_t gpus = 1; gpus <= kGpus; ++gpus)
    sizes.push_back({gpus, per_second(gpus), Duration{0}});
  CapacityProfile profile{at_second(0), kGpus};
  std::int64_t deadline = 0;
  std::int64_t work = 0;  // in iterations, which are GPU-seconds
  bool all_fit = true;
  bool prefixes_hold = true;
  bool prefixes_hold_with_room = true;
  const int jobs = between(1, 9);
  for (int i = 0; i < jobs && all_fit; ++i) {
    deadline += between<std::int64_t>(1, 30);
    const std::int64_t room = kGpus * deadline - work;
    const std::int64_t left =
        between<std::int64_t>(1, std::max<std::int64_t>(2, room + room / 8 + 2));
    work += left;
    prefixes_hold = prefixes_hold && work <= kGpus * deadline;
    prefixes_hold_with_room = prefixes_hold_with_room && work < kGpus * deadline;
    const JobToFill job{&sizes, work_of_iterations(left), at_second(deadline)};
    const auto plan = fill(profile, job, {at_second(0), Duration{0}, kNoReserve});
    all_fit = plan.has_value();
    if (plan) subtract(profile, *plan, sizes);
  }
  RC_CLASSIFY(all_fit);
  if (all_fit) RC_ASSERT(prefixes_hold);
  if (prefixes_hold_with_room) RC_ASSERT(all_fit);
}

RC_GTEST_PROP(FillGreedily, FinishesNoLaterThanAnyPlanWithoutPrices, ()) {
  Case any;
  make_case(any);
  for (SizeOption& size : any.sizes) size.price = Duration{0};
  any.job.ready_at = now_of(any.now);
  const SizePlan greedy = fill_greedily(any.profile, any.job, any.rules(kNoReserve));
  JobToFill patient = any.job;
  patient.deadline = greedy.end;
  RC_ASSERT(replay(greedy, any.job, greedy.end) >= any.job.left);
  const auto plan = fill(any.profile, any.job, any.rules(kNoReserve));
  RC_ASSERT(plan.has_value() == (greedy.end <= any.job.deadline));
  if (plan) RC_ASSERT(greedy.end <= plan->end);
}

}  // namespace
}  // namespace weir::schedule
