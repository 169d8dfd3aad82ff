// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/fair_shares.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

FairJob a_job(std::int64_t age, std::int64_t left, std::int64_t ideal, std::int32_t gpus) {
  return {from_seconds(age), from_seconds(left), from_seconds(ideal), gpus};
}

// When a job finishes that runs that part of the time, over its ideal.
double ratio_of(const FairJob& job, double share) {
  return (to_seconds(job.age) + to_seconds(job.left) / share) / to_seconds(job.ideal);
}

double worst_ratio(const std::vector<FairJob>& jobs, const std::vector<std::int64_t>& shares) {
  double worst = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    worst = std::max(worst, ratio_of(jobs[i], static_cast<double>(shares[i]) / kWholeTime));
  return worst;
}

std::int64_t gpus_used(const std::vector<FairJob>& jobs, const std::vector<std::int64_t>& shares) {
  std::int64_t used = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) used += jobs[i].gpus * shares[i];
  return used;
}

// GPUs that the jobs need so that no ratio is larger than that; a job for which it is too late
// needs its GPUs all the time.
double gpus_needed(const std::vector<FairJob>& jobs, double ratio) {
  double gpus = 0;
  for (const FairJob& job : jobs) {
    const double from_now = ratio * to_seconds(job.ideal) - to_seconds(job.age);
    const double left = to_seconds(job.left);
    gpus += job.gpus * (from_now <= left ? 1.0 : left / from_now);
  }
  return gpus;
}

// Up to what rounding takes.
MATCHER_P(IsAbout, expected, "") {
  return std::abs(arg - expected) <= 3;
}

std::vector<FairJob> any_fair_jobs(int most) {
  std::vector<FairJob> jobs;
  for (int i = between(1, most + 1); i > 0; --i) {
    const auto left = between<std::int64_t>(50, 1000);
    jobs.push_back(a_job(between<std::int64_t>(0, 2000), left,
                         left + between<std::int64_t>(0, 2000),
                         static_cast<std::int32_t>(any_power_of_two(8))));
  }
  return jobs;
}

TEST(FairShares, IsAllTheTimeWhereEverybodyFits) {
  const std::vector jobs{a_job(0, 100, 100, 2), a_job(900, 100, 100, 2)};
  EXPECT_THAT(fair_shares(jobs, 4), ::testing::ElementsAre(kWholeTime, kWholeTime));
}

TEST(FairShares, IsNothingForNobody) {
  EXPECT_TRUE(fair_shares({}, 4).empty());
}

TEST(FairShares, HalvesOneGpuBetweenEquals) {
  const std::vector jobs{a_job(0, 100, 100, 1), a_job(0, 100, 100, 1)};
  for (const std::int64_t share : fair_shares(jobs, 1)) EXPECT_THAT(share, IsAbout(500'000));
}

// Ratio r: 100 / (100 r) + 300 / (300 r) = 1, so r = 2 and both run half of the time: the longer job
// takes longer in an ideal world as well.
TEST(FairShares, PutsShortAndLongJobsOffInProportion) {
  const std::vector jobs{a_job(0, 100, 100, 1), a_job(0, 300, 300, 1)};
  for (const std::int64_t share : fair_shares(jobs, 1)) EXPECT_THAT(share, IsAbout(500'000));
}

// r = 3: 100 / (300 - 150) = 2/3 and 100 / (300 - 0) = 1/3.
TEST(FairShares, GivesMoreToWhoHasWaitedLonger) {
  const std::vector jobs{a_job(150, 100, 100, 1), a_job(0, 100, 100, 1)};
  const auto shares = fair_shares(jobs, 1);
  EXPECT_THAT(shares[0], IsAbout(666'667));
  EXPECT_THAT(shares[1], IsAbout(333'333));
}

// The first cannot do better than 11. The others share what it leaves evenly, not what would make
// them as late.
TEST(FairShares, DoesNotPutOthersOffForAJobThatCannotBeHelped) {
  const std::vector jobs{a_job(1000, 100, 100, 1), a_job(0, 100, 100, 1), a_job(0, 100, 100, 1)};
  const auto shares = fair_shares(jobs, 2);
  EXPECT_EQ(shares[0], kWholeTime);
  EXPECT_THAT(shares[1], IsAbout(500'000));
  EXPECT_THAT(shares[2], IsAbout(500'000));
}

TEST(FairShares, CountsGpus) {
  // 4 x + 1 x = 4 with the same x for both.
  const std::vector jobs{a_job(0, 100, 100, 4), a_job(0, 100, 100, 1)};
  for (const std::int64_t share : fair_shares(jobs, 4)) EXPECT_THAT(share, IsAbout(800'000));
}

TEST(FairShares, SurvivesAbsurdTimes) {
  const std::vector<FairJob> jobs{{Duration::max(), Duration::max(), Duration{0}, 64},
                                  {Duration{0}, Duration{0}, Duration{0}, 64},
                                  {Duration{0}, Duration::max(), Duration{1}, 1}};
  for (const std::int64_t gpus : {0, 1, 64, 128}) {
    const auto shares = fair_shares(jobs, gpus);
    EXPECT_LE(gpus_used(jobs, shares), gpus * kWholeTime) << gpus;
  }
}

RC_GTEST_PROP(FairShares, NeverUseMoreThanThereIs, ()) {
  const auto jobs = any_fair_jobs(20);
  const auto gpus = between<std::int64_t>(0, 40);
  const auto shares = fair_shares(jobs, gpus);
  RC_ASSERT(gpus_used(jobs, shares) <= gpus * kWholeTime);
  for (const std::int64_t share : shares) RC_ASSERT(0 <= share && share <= kWholeTime);
}

// Who has less than all the time has the common ratio, who has all of it a larger one; and with a
// ratio a thousandth smaller they would not fit.
RC_GTEST_PROP(FairShares, CannotBeImprovedOn, ()) {
  const auto jobs = any_fair_jobs(20);
  const auto gpus = between<std::int64_t>(1, 40);
  const auto shares = fair_shares(jobs, gpus);
  constexpr double kRounding = 1e-3;
  double common = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (shares[i] < kWholeTime)
      common = std::max(common, ratio_of(jobs[i], static_cast<double>(shares[i]) / kWholeTime));
  }
  if (common == 0) return;  // everybody has everything
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double ratio = ratio_of(jobs[i], static_cast<double>(shares[i]) / kWholeTime);
    RC_ASSERT(ratio >= common * (1 - kRounding));
    if (shares[i] < kWholeTime) RC_ASSERT(ratio <= common * (1 + kRounding));
  }
  RC_ASSERT(gpus_needed(jobs, common * (1 - kRounding)) > static_cast<double>(gpus));
}

// All parts that are multiples of 1/32, tried one by one.
double best_on_a_grid(const std::vector<FairJob>& jobs, std::int64_t gpus) {
  constexpr int kSteps = 32;
  double best = std::numeric_limits<double>::infinity();
  std::vector<int> parts(jobs.size(), 1);
  while (true) {
    std::int64_t used = 0;
    double worst = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      used += jobs[i].gpus * parts[i];
      worst = std::max(worst, ratio_of(jobs[i], static_cast<double>(parts[i]) / kSteps));
    }
    if (used <= gpus * kSteps) best = std::min(best, worst);
    std::size_t at = 0;
    while (at < parts.size() && parts[at] == kSteps) parts[at++] = 1;
    if (at == parts.size()) return best;
    ++parts[at];
  }
}

RC_GTEST_PROP(FairShares, AreNoWorseThanAnythingOnAGrid, ()) {
  const auto jobs = any_fair_jobs(3);
  const auto gpus = between<std::int64_t>(1, 16);
  const double ours = worst_ratio(jobs, fair_shares(jobs, gpus));
  RC_ASSERT(ours <= best_on_a_grid(jobs, gpus) * 1.0001);
}

RC_GTEST_PROP(FairShares, MoreGpusNeverMakeTheWorstWorse, ()) {
  const auto jobs = any_fair_jobs(12);
  const auto gpus = between<std::int64_t>(1, 40);
  const double fewer = worst_ratio(jobs, fair_shares(jobs, gpus));
  const double more = worst_ratio(jobs, fair_shares(jobs, gpus + between<std::int64_t>(1, 10)));
  RC_ASSERT(more <= fewer * 1.0001);
}

}  // namespace
}  // namespace weir::schedule
