// SPDX-License-Identifier: Apache-2.0
#include "simulate/job_mix_study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weir::simulate {
namespace {

// 16 x 16 hosts, sizes up to 64, much communication.
JobMixStudySetup small_study(double gap) {
  JobMixStudySetup setup;
  setup.mix.mix = JobMix::heavy;
  setup.mix.jobs = 400;
  setup.mix.arrival_gap = gap;
  setup.mix.largest = 64;
  setup.mix.durations = {500, 2'000, 3'000, 9'000, 20'000};
  setup.fabric = {.leaves = 16, .hosts_per_leaf = 16, .spines = 16, .hosts_per_node = 4};
  setup.optical = {.leaves = 16, .hosts_per_leaf = 16, .spines = 8, .hosts_per_node = 4};
  return setup;
}

const SchemeOutcome& outcome_of(const std::vector<SchemeOutcome>& outcomes, NetworkScheme scheme) {
  return *std::find_if(outcomes.begin(), outcomes.end(),
                       [&](const SchemeOutcome& outcome) { return outcome.scheme == scheme; });
}

TEST(JobMixStudy, DrawsTheSameJobsFromTheSameSeed) {
  const JobMixSetup mix = small_study(500).mix;
  const auto first = draw_job_mix(mix);
  const auto second = draw_job_mix(mix);
  ASSERT_EQ(first.size(), 400u);
  EXPECT_EQ(first.back().at, second.back().at);
  for (const MixedJob& job : first) {
    EXPECT_GE(job.seconds, 1'000);
    EXPECT_LE(job.hosts, 64);
  }
}

TEST(JobMixStudy, SlowsNoJobThatHasLinksOfItsOwn) {
  const auto outcomes = study_job_mix(small_study(2'000));
  const auto& ideal = outcome_of(outcomes, NetworkScheme::ideal);
  const auto& isolated = outcome_of(outcomes, NetworkScheme::isolated);
  const auto& optical = outcome_of(outcomes, NetworkScheme::isolated_optical);
  const auto& ecmp = outcome_of(outcomes, NetworkScheme::ecmp);
  EXPECT_DOUBLE_EQ(ideal.all.slowdown, 1);
  EXPECT_NEAR(isolated.all.slowdown, 1, 1e-9) << "sizes here are powers of two";
  EXPECT_LT(optical.all.slowdown, 1.003) << "a pause of 2 s for 1,000 s and more";
  EXPECT_GT(ecmp.all.slowdown, 1.05);
  for (const SchemeOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.all.jobs, 400);
    EXPECT_NEAR(outcome.all.wait + outcome.all.run, outcome.all.completion, 1e-6);
    EXPECT_GE(outcome.all.completion, ideal.all.completion - 1e-6);
  }
}

TEST(JobMixStudy, ChoosesNeverMuchWorseThanTheBetterOfIsolatingAndSharing) {
  for (const double gap : {1'000.0, 1'500.0, 3'000.0}) {
    for (const JobMix mix : {JobMix::published, JobMix::heavy}) {
      JobMixStudySetup setup = small_study(gap);
      setup.mix.mix = mix;
      const auto outcomes = study_job_mix(setup);
      const double better = std::min(outcome_of(outcomes, NetworkScheme::ecmp).all.completion,
                                     outcome_of(outcomes, NetworkScheme::isolated).all.completion);
      EXPECT_LT(outcome_of(outcomes, NetworkScheme::chosen).all.completion, 1.02 * better)
          << "gap " << gap;
    }
  }
}

TEST(JobMixStudy, DoesNotDependOnThreads) {
  JobMixStudySetup setup = small_study(800);
  setup.mix.jobs = 100;
  setup.is_scattered = true;
  setup.threads = 1;
  const auto one = study_job_mix(setup);
  setup.threads = 3;
  const auto three = study_job_mix(setup);
  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_EQ(one[i].all.completion, three[i].all.completion);
  EXPECT_GT(outcome_of(one, NetworkScheme::ecmp).windows, 0) << "jobs met on links";
}

}  // namespace
}  // namespace weir::simulate
