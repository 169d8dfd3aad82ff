// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::report {
namespace {

// Three jobs: one that six limits slow down, one they do not touch, one with two limits only.
PowerSweeps three_jobs() {
  PowerSweep slowed{{"images", "net", 64, "adam"}, {}};
  for (int i = 0; i < 6; ++i) {
    const double clock = 0.5 + 0.1 * i;
    slowed.points.push_back(
        {100 + 25.0 * i, 10 * (0.6 + 0.4 / clock), 200 * (0.4 + 0.6 * clock * clock * clock)});
  }
  PowerSweep light{{"ratings", "ncf", 256, "adam"}, {}};
  for (int i = 0; i < 6; ++i) light.points.push_back({100 + 25.0 * i, 5, 45});
  const PowerSweep two{{"text", "bert", 8, "adam"}, {{100, 30, 90}, {250, 20, 240}}};
  return {"V100", {slowed, light, two}};
}

TEST(SweepSummary, HasOneRowForEachGpu) {
  const std::vector<SweepSummary> summaries{summarise_sweeps("a/zeus_v100.csv", three_jobs())};
  // Clock 0.5: 14 s of 95 W = 1330 J; 0.6: 12.67 s of 105.9 W = 1342; the full clock: 2000 J.
  const Table saving = saving_table(summaries);
  ASSERT_EQ(saving.rows.size(), 1U);
  EXPECT_THAT(saving.rows[0], testing::ElementsAre("V100", "3", "2", "16.8", "33.5", "20.0"));
  const Table fits = sweep_fit_table(summaries);
  ASSERT_EQ(fits.rows.size(), 1U);
  EXPECT_THAT(fits.rows[0], testing::ElementsAre("V100", "1", "1", "0.40 (0.40..0.40)",
                                                 "0.40 (0.40..0.40)", "0.0", "0.0", "0.0", "0.0"));
}

TEST(SweepSummary, JsonHasEveryJobAndNullForWhatIsNotKnown) {
  const std::vector<SweepSummary> summaries{
      summarise_sweeps("sweep.csv", {"", three_jobs().sweeps})};
  const auto text = sweeps_json(summaries);
  ASSERT_TRUE(text);
  const auto gpu = nlohmann::json::parse(*text).at("gpus").at(0);
  EXPECT_EQ(gpu.at("gpu"), "sweep");
  EXPECT_EQ(gpu.at("fitted"), 1);
  EXPECT_EQ(gpu.at("energy_saved_percent_most"), 33.5);
  const auto& jobs = gpu.at("sweeps");
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0].at("best_limit_watts"), 100);
  EXPECT_NEAR(jobs[0].at("fit").at("clock_bound_share").get<double>(), 0.4, 0.001);
  EXPECT_EQ(jobs[1].at("is_untouched"), true);
  EXPECT_TRUE(jobs[1].at("fit").is_null());
  EXPECT_TRUE(jobs[2].at("energy_saved_percent").is_null());
}

TEST(SweepSummary, WithoutFitsThereAreDashes) {
  const std::vector<SweepSummary> summaries{
      summarise_sweeps("x.csv", {"P100", {three_jobs().sweeps[2]}})};
  EXPECT_THAT(saving_table(summaries).rows[0],
              testing::ElementsAre("P100", "1", "0", "-", "-", "-"));
  EXPECT_EQ(sweep_fit_table(summaries).rows[0][3], "-");
}

TEST(Quantile, LiesOnTheLineBetweenNeighbours) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({1, 2}, 1), 2);
  EXPECT_EQ(quantile({1, 2}, 0), 1);
  EXPECT_FALSE(quantile({}, 0.5));
}

}  // namespace
}  // namespace weir::report
