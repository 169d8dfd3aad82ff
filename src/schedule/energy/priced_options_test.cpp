// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/priced_options.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

// Few values, so that many are alike.
PowerTable any_power_points() {
  PowerTable table;
  for (int i = between(0, 20); i > 0; --i)
    table.push_back({between(1, 5), between(1, 4) * 250, per_second(between(1, 6)),
                     between<std::int64_t>(1, 6) * 1000});
  return table;
}

bool is_better_point(const PowerPoint& a, const PowerPoint& b) {
  return a.gpus <= b.gpus && a.milliwatts <= b.milliwatts && a.rate >= b.rate &&
         (a.gpus < b.gpus || a.milliwatts < b.milliwatts || a.rate > b.rate);
}

TEST(PricedOptions, UndominatedPointsAreThoseThatNoneIsBetterThan) {
  EXPECT_TRUE(rc::check("undominated", [] {
    const PowerTable table = any_power_points();
    const PowerTable kept = undominated(table);
    for (const PowerPoint& point : table) {
      const bool is_dominated =
          std::any_of(table.begin(), table.end(),
                      [&](const PowerPoint& other) { return is_better_point(other, point); });
      const auto same = [&](const PowerPoint& other) {
        return other.gpus == point.gpus && other.milliwatts == point.milliwatts &&
               other.rate == point.rate;
      };
      RC_ASSERT(std::count_if(kept.begin(), kept.end(), same) == (is_dominated ? 0 : 1));
    }
    // In the order of the table.
    auto from = table.begin();
    for (const PowerPoint& point : kept) {
      from = std::find(from, table.end(), point);
      RC_ASSERT(from != table.end());
    }
  }));
}

struct JobWithTable {
  PoolUnderTest pool{1, 4, kFreeRescales};
  JobId id = pool.add_unpromised(a_training_job().curve({{1, 10}, {2, 18}}));
  TrainingState state = pool.copy_of_state();
  PoolPower power{.pool = PoolIndex{0}, .overhead_permille = 1500};

  void tell(PowerTable table) {
    state.pools.front().power[state.job(id).spec->curve] =
        std::make_shared<const PowerTable>(std::move(table));
  }
  PricedOptions options(const PoolPower* terms) const {
    return priced_options(state.pools.front(), state.job(id), terms);
  }
};

TEST(PricedOptions, HaveTheRatesOfTheTableAndTheWattsOfTheSite) {
  JobWithTable job;
  job.tell({{1, 500, per_second(8), 100'000}, {1, 1000, per_second(10), 200'000}});
  const PricedOptions options = job.options(&job.power);
  ASSERT_EQ(options.size(), 2U);
  EXPECT_EQ(options[0].clocked_millionths, 800'000);
  EXPECT_DOUBLE_EQ(options[0].rate, 8);
  EXPECT_DOUBLE_EQ(options[0].watts, 150);
  EXPECT_EQ(options[1].clocked_millionths, kAllMillionths);
  EXPECT_DOUBLE_EQ(options[1].rate, 10);
  EXPECT_DOUBLE_EQ(options[1].watts, 300);
}

TEST(PricedOptions, AJobWithoutATableHasItsSizesAtTheFullClock) {
  JobWithTable job;
  const PricedOptions options = job.options(&job.power);
  ASSERT_EQ(options.size(), 2U);
  EXPECT_EQ(options[1].gpus, 2);
  EXPECT_EQ(options[1].clock_permille, kFullClock);
  EXPECT_DOUBLE_EQ(options[1].rate, 18);
  EXPECT_EQ(options[1].watts, 0);
}

TEST(PricedOptions, LeaveOutSizesTheJobMayNotHave) {
  JobWithTable job;
  job.tell({{1, 1000, per_second(10), 200'000}, {8, 1000, per_second(40), 900'000}});
  EXPECT_EQ(job.options(&job.power).size(), 1U);
}

// What the core makes of an option is what was priced.
TEST(PricedOptions, TheRateOfAnOptionIsThatOfAJobThatHasIt) {
  EXPECT_TRUE(rc::check("rate", [] {
    JobWithTable job;
    const auto slower = IterationRate{between<std::int64_t>(1, 10'000'000)};
    job.tell({{1, 700, slower, 100'000}, {1, 1000, per_second(10), 200'000}});
    const PricedOption option = job.options(&job.power).front();
    evolve(job.state, {}, {}, JobResized{job.id, 1, {0, 1}});
    evolve(job.state, {}, {}, ClockSet{job.id, option.clock_permille, option.clocked_millionths});
    const IterationRate has = job.state.job(job.id).rate();
    RC_ASSERT(option.rate == static_cast<double>(has.value) / 1e6);
    RC_ASSERT(has <= slower);
    RC_ASSERT(slower.value - has.value <= 10);  // a millionth of the full rate
  }));
}

}  // namespace
}  // namespace weir::schedule
