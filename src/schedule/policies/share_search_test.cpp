// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/share_search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <iostream>
#include <limits>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

// GPUs and cost of each option.
SharingJob a_sharing_job(std::vector<ShareOption> options, std::uint8_t present = 0) {
  return {std::move(options), present};
}

Sharing search(const std::vector<SharingJob>& jobs, std::int32_t gpus, std::uint64_t seed = 42) {
  return search_sharing(jobs, gpus, SearchRules{}, SeededRng{seed});
}

// Exact: the least cost on so many GPUs, job after job.
std::int64_t least_cost(const std::vector<SharingJob>& jobs, std::int32_t gpus) {
  std::vector<std::int64_t> best(static_cast<std::size_t>(gpus) + 1, 0);
  for (const SharingJob& job : jobs) {
    std::vector<std::int64_t> next(best.size(), std::numeric_limits<std::int64_t>::max());
    for (std::size_t used = 0; used < best.size(); ++used) {
      for (const ShareOption& option : job.options) {
        const std::size_t with = used + static_cast<std::size_t>(option.gpus);
        if (with < next.size()) next[with] = std::min(next[with], best[used] + option.cost);
      }
    }
    best = std::move(next);
  }
  return *std::min_element(best.begin(), best.end());
}

// Every combination; to check the one above.
std::int64_t least_cost_by_trying(const std::vector<SharingJob>& jobs, std::int32_t gpus,
                                  std::size_t next = 0) {
  if (next == jobs.size()) return 0;
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (const ShareOption& option : jobs[next].options) {
    if (option.gpus > gpus) continue;
    best = std::min(best, option.cost + least_cost_by_trying(jobs, gpus - option.gpus, next + 1));
  }
  return best;
}

// Costs as Pollux has them: a thousand without GPUs, then one over a speed-up that grows with the
// size, mostly less than in proportion, and more for a change than for what the job has.
SharingJob draw_job(SeededRng& rng, std::int32_t largest) {
  SharingJob job;
  job.options.push_back({0, 1'000'000'000});
  double speedup = 0.2 + rng.uniform();
  const double kept = 0.5 + rng.uniform() / 2;
  for (std::int32_t gpus = 1; gpus <= largest; gpus *= 2) {
    job.options.push_back({gpus, static_cast<std::int64_t>(1e6 / (speedup + 0.001))});
    speedup *= 1 + rng.uniform();
    if (rng.below(5) == 0) break;
  }
  job.present = static_cast<std::uint8_t>(rng.below(job.options.size()));
  for (std::size_t i = 1; i < job.options.size(); ++i) {
    if (job.present == 0 || i == job.present) continue;
    job.options[i].cost =
        static_cast<std::int64_t>(static_cast<double>(job.options[i].cost) / kept);
  }
  return job;
}

std::vector<SharingJob> draw_jobs(SeededRng& rng, std::size_t count, std::int32_t largest) {
  std::vector<SharingJob> jobs;
  while (jobs.size() < count) jobs.push_back(draw_job(rng, largest));
  return jobs;
}

// Sizes that do not go together: what fits best cannot be seen job by job.
std::vector<SharingJob> draw_awkward_jobs(SeededRng& rng, std::size_t count) {
  std::vector<SharingJob> jobs;
  while (jobs.size() < count) {
    const auto gpus = static_cast<std::int32_t>(20 + rng.below(30));
    const auto cost = 1000 - gpus * 10 - static_cast<std::int64_t>(rng.below(20));
    jobs.push_back(a_sharing_job({{0, 1000}, {gpus, cost}}));
  }
  return jobs;
}

void check(const Sharing& sharing, const std::vector<SharingJob>& jobs, std::int32_t gpus) {
  RC_ASSERT(sharing.options.size() == jobs.size());
  std::int64_t cost = 0;
  std::int32_t used = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    RC_ASSERT(sharing.options[i] < jobs[i].options.size());
    cost += jobs[i].options[sharing.options[i]].cost;
    used += jobs[i].options[sharing.options[i]].gpus;
  }
  RC_ASSERT(used <= gpus);
  RC_ASSERT(sharing.gpus == used);
  RC_ASSERT(sharing.cost == cost);
}

TEST(ShareSearch, GivesGpusWhereTheySaveMost) {
  const std::vector jobs{a_sharing_job({{0, 100}, {1, 50}, {2, 45}}),
                         a_sharing_job({{0, 100}, {1, 50}, {2, 10}})};
  EXPECT_EQ(search(jobs, 3).options, (std::vector<std::uint8_t>{1, 2}));
}

TEST(ShareSearch, NobodyGetsMoreThanHelps) {
  const std::vector jobs{a_sharing_job({{0, 100}, {1, 50}, {2, 60}})};
  EXPECT_EQ(search(jobs, 8).options, (std::vector<std::uint8_t>{1}));
}

// Greedily the first would take one GPU, after which the second no longer fits.
TEST(ShareSearch, FindsWhatAGreedyChoiceMisses) {
  const std::vector jobs{a_sharing_job({{0, 100}, {1, 80}}), a_sharing_job({{0, 100}, {4, 40}})};
  EXPECT_EQ(share_greedily(jobs, 4).cost, 180);
  EXPECT_EQ(search(jobs, 4).cost, 140);
}

TEST(ShareSearch, ChangesNothingWithoutAGain) {
  const std::vector jobs{a_sharing_job({{0, 100}, {1, 50}}, 0),
                         a_sharing_job({{0, 100}, {1, 50}}, 1)};
  EXPECT_EQ(search(jobs, 1).options, (std::vector<std::uint8_t>{0, 1}));
}

TEST(ShareSearch, CutsTheLastWhenGpusAreGone) {
  const std::vector jobs{a_sharing_job({{0, 100}, {2, 50}}, 1),
                         a_sharing_job({{0, 100}, {2, 50}}, 1)};
  EXPECT_EQ(search(jobs, 2).options, (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(search(jobs, 0).options, (std::vector<std::uint8_t>{0, 0}));
}

TEST(ShareSearch, NoJobsNeedNothing) {
  EXPECT_EQ(search({}, 8), Sharing{});
}

RC_GTEST_PROP(ShareSearch, KeepsToTheGpusAndAddsUp, ()) {
  SeededRng rng{*rc::gen::arbitrary<std::uint64_t>()};
  const auto jobs = draw_jobs(rng, between<std::size_t>(1, 30), 16);
  const auto gpus = between<std::int32_t>(0, 64);
  check(search(jobs, gpus), jobs, gpus);
  check(share_greedily(jobs, gpus), jobs, gpus);
}

RC_GTEST_PROP(ShareSearch, AddsUpWhereverItIsCutShort, ()) {
  SeededRng rng{*rc::gen::arbitrary<std::uint64_t>()};
  const auto jobs = draw_awkward_jobs(rng, between<std::size_t>(1, 40));
  const auto gpus = between<std::int32_t>(0, 500);
  const SearchRules rules{between<std::size_t>(2, 20), between(0, 10), between(1, 5)};
  check(search_sharing(jobs, gpus, rules, SeededRng{rng.next()}), jobs, gpus);
}

// Worth having: where greedy is not enough, the search is better.
TEST(ShareSearch, IsBetterThanGreedyWhereSizesDoNotGoTogether) {
  SeededRng rng{42};
  int better = 0;
  int best = 0;
  for (int i = 0; i < 50; ++i) {
    const auto jobs = draw_awkward_jobs(rng, 40);
    const std::int64_t found = search(jobs, 500).cost;
    better += found < share_greedily(jobs, 500).cost ? 1 : 0;
    best += found == least_cost(jobs, 500) ? 1 : 0;
  }
  std::cout << "better than greedy in " << better << ", the best there is in " << best
            << " of 50\n";
  EXPECT_GT(better, 25);
}

RC_GTEST_PROP(ShareSearch, IsNoWorseThanGreedyOrThePresent, ()) {
  SeededRng rng{*rc::gen::arbitrary<std::uint64_t>()};
  const auto jobs = draw_jobs(rng, between<std::size_t>(1, 30), 16);
  std::int64_t cost = 0;
  std::int32_t gpus = 0;
  for (const SharingJob& job : jobs) {
    cost += job.options[job.present].cost;
    gpus += job.options[job.present].gpus;
  }
  const Sharing found = search(jobs, gpus);
  RC_ASSERT(found.cost <= cost);
  RC_ASSERT(found.cost <= share_greedily(jobs, gpus).cost);
  RC_ASSERT(found.cost >= least_cost(jobs, gpus));
}

// A search cut short: the answer depends on the draws.
RC_GTEST_PROP(ShareSearch, TheSameSeedGivesTheSameAnswer, ()) {
  SeededRng rng{*rc::gen::arbitrary<std::uint64_t>()};
  const auto jobs = draw_awkward_jobs(rng, 40);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto answer = [&] { return search_sharing(jobs, 500, {10, 3, 3}, SeededRng{seed}); };
  RC_ASSERT(answer() == answer());
}

RC_GTEST_PROP(ShareSearch, TheReferenceIsExact, ()) {
  SeededRng rng{*rc::gen::arbitrary<std::uint64_t>()};
  const auto jobs = draw_jobs(rng, between<std::size_t>(1, 5), 16);
  const auto gpus = between<std::int32_t>(0, 17);
  RC_ASSERT(least_cost(jobs, gpus) == least_cost_by_trying(jobs, gpus));
}

// How far the search stays from the best there is: printed, and kept from growing.
struct Distance {
  int cases = 0;
  int not_best = 0;
  double worst_percent = 0;
  double total_percent = 0;
};

Distance distance(int cases, std::size_t most_jobs, std::int32_t gpus, bool greedily) {
  SeededRng rng{42};
  Distance seen;
  for (; seen.cases < cases; ++seen.cases) {
    const auto jobs = draw_jobs(rng, 1 + rng.below(most_jobs), gpus);
    const std::int64_t best = least_cost(jobs, gpus);
    const std::int64_t found = greedily ? share_greedily(jobs, gpus).cost : search(jobs, gpus).cost;
    const double percent = 100.0 * static_cast<double>(found - best) / static_cast<double>(best);
    seen.not_best += found > best ? 1 : 0;
    seen.worst_percent = std::max(seen.worst_percent, percent);
    seen.total_percent += percent;
  }
  std::cout << (greedily ? "greedy" : "search") << ", up to " << most_jobs << " jobs, " << gpus
            << " GPUs: not the best in " << seen.not_best << " of " << cases << " cases, mean "
            << seen.total_percent / cases << " %, worst " << seen.worst_percent << " % above it\n";
  return seen;
}

TEST(ShareSearch, IsNearlyAlwaysTheBestInSmallCases) {
  distance(2000, 4, 16, true);
  const Distance seen = distance(2000, 4, 16, false);
  EXPECT_LE(seen.not_best, 20);
  EXPECT_LT(seen.worst_percent, 10.0);
}

TEST(ShareSearch, IsCloseToTheBestInLargeCases) {
  distance(20, 400, 1024, true);
  const Distance seen = distance(20, 400, 1024, false);
  EXPECT_LT(seen.worst_percent, 0.5);
}

}  // namespace
}  // namespace weir::schedule
