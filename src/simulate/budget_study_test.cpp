// SPDX-License-Identifier: Apache-2.0
#include "simulate/budget_study.h"

#include <gtest/gtest.h>

#include "simulate/energy_run_testing.h"

namespace weir::simulate {
namespace {

StudySetup a_setup() {
  StudySetup setup;
  setup.cluster = energy_cluster();
  setup.workload = energy_jobs(25);
  setup.curves = {energy_curves()};
  setup.books = {energy_book()};
  setup.places = {{"here", "1 May", dirty_nights()},
                  {"there", "1 May", SupplySeries{Time{}, std::chrono::hours{1}, {200}}}};
  setup.budget_percents = {60, 100};
  return setup;
}

TEST(BudgetStudy, TunedWaysStayWithinTheirBudget) {
  const BudgetStudy study = study_budgets(a_setup());
  ASSERT_EQ(study.places.size(), 2U);
  EXPECT_EQ(study.jobs, 25);
  for (const StudiedPlace& place : study.places) {
    EXPECT_GT(place.base_units, 0);
    for (const StudyResult& result : place.results) {
      const bool is_tuned = result.way == Way::price_tuned || result.way == Way::elastic_tuned ||
                            result.way == Way::srtf_tuned;
      if (is_tuned && result.is_reached) {
        EXPECT_LE(result.used, 1 + 1e-9) << name_of(result.way);
      }
    }
  }
}

TEST(BudgetStudy, TheBaseItselfMeetsTheWholeBudget) {
  const BudgetStudy study = study_budgets(a_setup());
  for (const StudiedPlace& place : study.places) {
    for (const StudyResult& result : place.results) {
      if (result.budget_percent != 100 || result.way != Way::elastic_tuned) continue;
      EXPECT_TRUE(result.is_reached);
      EXPECT_LE(result.completion_seconds, place.base_completion_seconds + 1e-6);
    }
  }
}

TEST(BudgetStudy, AGainIsTheMeanOverPlaces) {
  BudgetStudy study;
  for (const double seconds : {10.0, 20.0}) {
    StudiedPlace place;
    place.region = "r";
    place.results = {{Way::price_tuned, 50, true, 10, 1, ""},
                     {Way::elastic_tuned, 50, true, seconds, 1, ""}};
    study.places.push_back(place);
  }
  EXPECT_DOUBLE_EQ(*gain(study, "r", 50, Way::elastic_tuned, Way::price_tuned), 1.5);
  EXPECT_FALSE(gain(study, "elsewhere", 50, Way::elastic_tuned, Way::price_tuned));
  study.places.front().results.front().is_reached = false;
  EXPECT_FALSE(gain(study, "", 50, Way::elastic_tuned, Way::price_tuned));
}

TEST(BudgetStudy, TheLargestJobCanBeLeftOut) {
  StudySetup setup = a_setup();
  setup.without_largest_job = true;
  setup.places.resize(1);
  EXPECT_EQ(study_budgets(setup).jobs, 24);
}

TEST(BudgetStudy, ThreadsDoNotChangeTheResult) {
  StudySetup setup = a_setup();
  setup.threads = 1;
  const BudgetStudy one = study_budgets(setup);
  setup.threads = 2;
  const BudgetStudy two = study_budgets(setup);
  for (std::size_t i = 0; i < one.places.size(); ++i) {
    ASSERT_EQ(one.places[i].results.size(), two.places[i].results.size());
    for (std::size_t k = 0; k < one.places[i].results.size(); ++k) {
      EXPECT_EQ(one.places[i].results[k].completion_seconds,
                two.places[i].results[k].completion_seconds);
    }
  }
}

}  // namespace
}  // namespace weir::simulate
