// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap/overlap_search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "domain/seeded_rng.h"

namespace weir::plan {
namespace {

using predict::all_alike;
using predict::CollectiveSystem;
using predict::GradientGroup;
using predict::OverlapRun;
using predict::OverlapStep;
using predict::OverlapTimeline;
using predict::SentGroups;
using predict::SharedRates;

constexpr OverlapSearchLimits kExact{.front = 0};

// Six groups, one kind of kernel that loses c/k beside c CTAs.
OverlapStep golden_step(double channel_gbps, const std::vector<int>& ctas, double k) {
  std::vector<SharedRates> rates;
  for (const int count : ctas) rates.push_back({{1 - count / k}, {1}});
  const CollectiveSystem system{
      .ranks = 8, .network_gbps = 25, .channel_gbps = channel_gbps, .latency_us = 20.0};
  constexpr std::int64_t kMegabyte = 1'000'000;
  return {OverlapTimeline{{27}, std::move(rates)},
          {{2, 40 * kMegabyte},
           {5, 30 * kMegabyte},
           {9, 60 * kMegabyte},
           {14, 20 * kMegabyte},
           {20, 80 * kMegabyte},
           {27, 16 * kMegabyte}},
          ctas,
          [system, ctas](std::int64_t bytes, std::size_t choice) {
            return collective_ms(system, bytes, ctas[choice]);
          }};
}

struct GoldenCase {
  double channel_gbps;
  std::vector<int> ctas;
  double k;
  double best_ms;
  std::vector<int> best;
  std::vector<double> uniform_ms;
  double within;  // the last digit given of the uniform times
};

const std::vector<GoldenCase>& golden_cases() {
  static const std::vector<GoldenCase> cases{
      {3.125,
       {1, 2, 4, 8},
       132,
       29.1197,
       {4, 4, 8, 2, 8, 8},
       {139.88, 71.00, 36.56, 29.1218},
       0.005},
      {3.125, {1, 2, 4, 8}, 40, 31.3720, {4, 4, 4, 4, 8, 8}, {139.88, 71.00, 36.56, 31.38}, 0.005},
      {3.125, {1, 2, 4, 8}, 20, 34.6020, {4, 4, 4, 2, 8, 8}, {139.88, 71.00, 37.696, 34.62}, 0.005},
      {6.25,
       {1, 2, 4, 8, 16},
       132,
       28.6298,
       {2, 2, 4, 1, 4, 4},
       {71.00, 36.56, 28.6309, 29.1218, 30.1036},
       0.005},
      {6.25,
       {1, 2, 4, 8, 16},
       40,
       29.7565,
       {2, 2, 4, 1, 4, 4},
       {71.00, 36.56, 29.76, 31.38, 34.62},
       0.005},
      {6.25,
       {1, 2, 4, 8, 16},
       20,
       31.3720,
       {2, 2, 2, 2, 4, 4},
       {71.00, 36.56, 31.38, 34.62, 41.10},
       0.005}};
  return cases;
}

double brute_force(const OverlapStep& step) {
  const std::size_t groups = step.groups().size();
  const std::size_t choices = step.ctas().size();
  double best = std::numeric_limits<double>::infinity();
  std::vector<SentGroups> sent = all_alike(step, 0);
  for (;;) {
    best = std::min(best, step.step_ms(sent));
    std::size_t g = 0;
    while (g < groups && ++sent[g].choice == choices) sent[g++].choice = 0;
    if (g == groups) return best;
  }
}

TEST(OverlapSearch, GoldenCasesComeOutToTheLastDigit) {
  for (const GoldenCase& golden : golden_cases()) {
    const OverlapStep step = golden_step(golden.channel_gbps, golden.ctas, golden.k);
    const OverlapPlan plan = search_overlap(step, kExact);
    EXPECT_NEAR(plan.step_ms, golden.best_ms, 0.00005) << golden.channel_gbps << " " << golden.k;
    EXPECT_NEAR(step.step_ms(plan.sent), plan.step_ms, 1e-9);
    EXPECT_NEAR(brute_force(step), plan.step_ms, 1e-9);
    // The choice named beside it takes as long; several do.
    std::vector<SentGroups> named;
    for (std::size_t g = 0; g < golden.best.size(); ++g) {
      const auto at = std::find(golden.ctas.begin(), golden.ctas.end(), golden.best[g]);
      named.push_back({g + 1, static_cast<std::size_t>(at - golden.ctas.begin())});
    }
    EXPECT_NEAR(step.step_ms(named), golden.best_ms, 0.00005);
    const auto uniform = uniform_step_ms(step, all_alike(step, 0));
    ASSERT_EQ(uniform.size(), golden.uniform_ms.size());
    for (std::size_t c = 0; c < uniform.size(); ++c)
      EXPECT_NEAR(uniform[c], golden.uniform_ms[c], golden.within) << golden.ctas[c];
  }
}

TEST(OverlapSearch, NeverUsesMoreCtasThanFillTheNetwork) {
  for (const GoldenCase& golden : golden_cases()) {
    const OverlapStep step = golden_step(golden.channel_gbps, golden.ctas, golden.k);
    for (const SentGroups& part : search_overlap(step).sent)
      EXPECT_LE(step.ctas()[part.choice], 25 / golden.channel_gbps)
          << golden.channel_gbps << " " << golden.k;
  }
}

TEST(OverlapSearch, FewestCtasAmongTheNearlyBest) {
  EXPECT_EQ(fewest_near_best({20, 10.04, 10, 10.2}), 1U);
  EXPECT_EQ(fewest_near_best({20, 10.06, 10, 10.2}), 2U);
}

TEST(OverlapSearch, SendsTogetherWhereLatencyIsTheCost) {
  // Eight tiny groups at the very end, each with a latency of 1 ms: one collective is best.
  std::vector<GradientGroup> groups(8, {10, 1000});
  const OverlapStep step{
      OverlapTimeline{{10}, {{{0.9}, {1}}}}, groups, {4}, [](std::int64_t bytes, std::size_t) {
        return 1 + 1e-6 * static_cast<double>(bytes);
      }};
  EXPECT_NEAR(search_overlap(step).step_ms, 10 + 8 * 1.001, 1e-9);
  const OverlapPlan fused = search_overlap(step, {.window = 40});
  EXPECT_NEAR(fused.step_ms, 11.008, 1e-9);
  EXPECT_EQ(fused.sent, (std::vector<SentGroups>{{8, 0}}));
  // Two at a time where the bytes allow no more.
  EXPECT_EQ(search_overlap(step, {.window = 40, .bytes = 2000}).sent.size(), 4U);
  EXPECT_NEAR(step.fused_lower_bound_ms(), 11.008, 1e-9);
}

TEST(OverlapSearch, NoGroupsMeanOnlyComputing) {
  const OverlapStep step{
      OverlapTimeline{{3}, {{{0.5}, {1}}}}, {}, {4}, [](std::int64_t, std::size_t) { return 1.0; }};
  EXPECT_EQ(search_overlap(step).step_ms, 3);
  EXPECT_EQ(step.lower_bound_ms(), 3);
}

TEST(OverlapSearch, BeingAheadCanBeWorseWhereTheStartDecides) {
  // Clusters (1 ms), a plain kernel, clusters (10 ms), which stand still beside a collective that comes while
  // something plain runs. With the first choice the second collective comes while clusters run; with the other,
  // computing is a little further by then, and the last kernel waits for 10 ms.
  const SharedRates slow{{0.9, 1, 1, predict::kStandstill}, {1, 1, 1, 1}};
  const SharedRates fast{{1, 1, 1, predict::kStandstill}, {1, 1, 1, 1}};
  const SharedRates slow_between{{0.9, 1, 1, 1}, {1, 1, 1, 1}};
  const SharedRates fast_between{{1, 1, 1, 1}, {1, 1, 1, 1}};
  const OverlapStep step{
      OverlapTimeline{{2, 1, 0.1, 10}, {{slow, fast}, {slow_between, fast_between}}, {0, 1, 0, 1}},
      {{0, 305}, {0, 1000}},
      {2, 4},
      [](std::int64_t bytes, std::size_t) { return 0.01 * static_cast<double>(bytes); }};
  const auto uniform = uniform_step_ms(step, all_alike(step, 0));
  EXPECT_NEAR(uniform[0], 2 / 0.9 + 1 + 0.1 + 10, 1e-9);
  EXPECT_NEAR(uniform[1], 13.05 + 10, 1e-4);
  EXPECT_NEAR(search_overlap(step, kExact).step_ms, uniform[0], 1e-9);
}

TEST(OverlapSearch, SmallGroupsSlowDownByTheChannelsTheyUseHereToo) {
  // Groups of one channel, of eight and of all; many waves lose in proportion to the SMs that are held.
  const predict::OverlapKernel waves{.ms = 3, .blocks = 1'320'000};
  const CollectiveSystem system{
      .ranks = 8, .network_gbps = 10, .channel_gbps = 1, .latency_us = 100.0};
  const OverlapStep step =
      make_overlap_step({}, {}, system, {waves, waves, waves, waves},
                        {{1, 1 << 10}, {2, 8 << 15}, {3, 100 << 15}}, {2, 16, 32});
  EXPECT_EQ(step.timeline().choices(), 5U);  // 1, 2, 8, 16 and 32
  const OverlapPlan plan = search_overlap(step, kExact);
  EXPECT_NEAR(plan.step_ms, brute_force(step), 1e-9);
  EXPECT_NEAR(step.step_ms(plan.sent), plan.step_ms, 1e-9);
}

// Fifty groups, sixty kernels, six choices: fronts of hundreds of points.
OverlapStep large_step(std::uint64_t seed) {
  SeededRng rng{seed};
  std::vector<double> kernels;
  std::vector<SharedRates> rates(6);
  for (int k = 0; k < 60; ++k) {
    kernels.push_back(0.1 + rng.uniform());
    double rate = 1;
    for (SharedRates& choice : rates) {
      rate *= 0.6 + 0.4 * rng.uniform();
      choice.compute.push_back(rate);
      choice.collective.push_back(0.7 + 0.3 * rng.uniform());
    }
  }
  OverlapTimeline timeline{std::move(kernels), std::move(rates)};
  std::vector<GradientGroup> groups;
  for (int g = 1; g <= 50; ++g)
    groups.push_back({timeline.total() * g / 50, 500 + static_cast<std::int64_t>(rng.below(1500))});
  return {std::move(timeline),
          std::move(groups),
          {1, 2, 4, 8, 16, 32},
          [](std::int64_t bytes, std::size_t choice) {
            return 0.01 + static_cast<double>(bytes) / (400.0 * static_cast<double>(1U << choice));
          }};
}

TEST(OverlapSearch, ThinnedFrontsCostLessThanHalfAPercent) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const OverlapStep step = large_step(seed);
    const OverlapPlan exact = search_overlap(step, kExact);
    const OverlapPlan thinned = search_overlap(step, {.front = 256});
    EXPECT_LT(thinned.transitions, exact.transitions) << "nothing was thinned";
    EXPECT_LE(thinned.step_ms, exact.step_ms * 1.005);
    EXPECT_GE(thinned.step_ms, exact.step_ms - 1e-9);
    EXPECT_NEAR(step.step_ms(thinned.sent), thinned.step_ms, 1e-9);
  }
}

TEST(OverlapSearch, FrontsThatManyWaysLeadToAreThinnedOnTheWay) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const OverlapStep step = large_step(seed);
    const OverlapPlan exact = search_overlap(step, {.front = 0, .window = 10});
    const OverlapPlan thinned = search_overlap(step, {.front = 128, .window = 10});
    EXPECT_LE(thinned.step_ms, exact.step_ms * 1.005);
    EXPECT_GE(thinned.step_ms, exact.step_ms - 1e-9);
    EXPECT_NEAR(step.step_ms(thinned.sent), thinned.step_ms, 1e-9);
  }
}

// ---- laws ----

struct RandomStep {
  std::vector<double> kernels;
  std::vector<SharedRates> rates;
  std::vector<GradientGroup> groups;
  std::vector<int> ctas;
  double latency = 0.01;
  std::vector<double> ms_per_byte;  // by choice

  OverlapStep make(double scale = 1) const {
    std::vector<double> times = kernels;
    for (double& time : times) time *= scale;
    std::vector<GradientGroup> later = groups;
    for (GradientGroup& group : later) group.ready_ms *= scale;
    return {OverlapTimeline{std::move(times), rates}, std::move(later), ctas,
            [scale, pace = ms_per_byte, start = latency](std::int64_t bytes, std::size_t choice) {
              return scale * (start + pace[choice] * static_cast<double>(bytes));
            }};
  }
};

RandomStep random_step(int most_groups, bool is_free = false) {
  RandomStep made;
  made.latency = *rc::gen::inRange(0, 50) / 100.0;
  const int kernels = *rc::gen::inRange(1, 20);
  double total = 0;
  for (int k = 0; k < kernels; ++k) {
    made.kernels.push_back(*rc::gen::inRange(1, 40) / 10.0);
    total += made.kernels.back();
  }
  const int choices = *rc::gen::inRange(1, 5);
  double pace = *rc::gen::inRange(50, 400) / 100.0;
  for (int c = 0; c < choices; ++c) {
    made.ctas.push_back(1 << c);
    made.ms_per_byte.push_back(pace);
    pace *= *rc::gen::inRange(40, 101) / 100.0;
    SharedRates rates;
    for (int k = 0; k < kernels; ++k) {
      const double before = c == 0 ? 1 : made.rates.back().compute[static_cast<std::size_t>(k)];
      rates.compute.push_back(is_free ? 1 : before * *rc::gen::inRange(60, 101) / 100.0);
      rates.collective.push_back(is_free ? 1 : *rc::gen::inRange(60, 101) / 100.0);
    }
    made.rates.push_back(std::move(rates));
  }
  std::vector<double> ready;
  const int groups = *rc::gen::inRange(1, most_groups + 1);
  for (int g = 0; g < groups; ++g) ready.push_back(total * *rc::gen::inRange(0, 101) / 100.0);
  std::sort(ready.begin(), ready.end());
  for (const double at : ready) made.groups.push_back({at, *rc::gen::inRange(0, 6)});
  return made;
}

RC_GTEST_PROP(OverlapLaws, TheProgrammeFindsWhatTryingEverythingFinds, ()) {
  const OverlapStep step = random_step(6).make();
  const OverlapPlan plan = search_overlap(step, kExact);
  RC_ASSERT(std::abs(plan.step_ms - brute_force(step)) < 1e-8);
  RC_ASSERT(std::abs(step.step_ms(plan.sent) - plan.step_ms) < 1e-8);
}

// Every way to send groups together, with every choice for each.
double try_all_fusions(const OverlapStep& step, std::size_t window, std::vector<SentGroups> sent) {
  const std::size_t done = sent.empty() ? 0 : sent.back().end;
  if (done == step.groups().size()) return step.step_ms(sent);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t end = done + 1; end <= std::min(done + window, step.groups().size()); ++end) {
    for (std::size_t choice = 0; choice < step.ctas().size(); ++choice) {
      sent.push_back({end, choice});
      best = std::min(best, try_all_fusions(step, window, sent));
      sent.pop_back();
    }
  }
  return best;
}

RC_GTEST_PROP(OverlapLaws, FusionFindsWhatTryingEverythingFinds, ()) {
  const OverlapStep step = random_step(4).make();
  const auto window = *rc::gen::inRange<std::size_t>(1, 5);
  const OverlapPlan plan = search_overlap(step, {.front = 0, .window = window});
  RC_ASSERT(std::abs(plan.step_ms - try_all_fusions(step, window, {})) < 1e-8);
  RC_ASSERT(std::abs(step.step_ms(plan.sent) - plan.step_ms) < 1e-8);
  // What is sent is all there is, once.
  std::int64_t bytes = 0;
  for (const auto& collective : step.run(plan.sent).collectives) bytes += collective.bytes;
  RC_ASSERT(bytes == step.bytes(0, step.groups().size()));
}

RC_GTEST_PROP(OverlapLaws, TheAnswerLiesBetweenTheBoundAndEveryUniformChoice, ()) {
  const OverlapStep step = random_step(12).make();
  const OverlapPlan plan = search_overlap(step, kExact);
  RC_ASSERT(plan.step_ms >= step.lower_bound_ms() - 1e-9);
  RC_ASSERT(step.fused_lower_bound_ms() <= step.lower_bound_ms() + 1e-9);
  const auto uniform = uniform_step_ms(step, all_alike(step, 0));
  for (const double ms : uniform) RC_ASSERT(plan.step_ms <= ms + 1e-9);
}

RC_GTEST_PROP(OverlapLaws, WithoutContentionEveryGroupIsSentAsFastAsItCanBe, ()) {
  const OverlapStep step = random_step(8, true).make();
  const OverlapPlan plan = search_overlap(step, kExact);
  for (std::size_t g = 0; g < plan.sent.size(); ++g) {
    const std::int64_t bytes = step.groups()[g].bytes;
    const double taken = step.alone_ms(bytes, plan.sent[g].choice);
    for (std::size_t choice = 0; choice < step.ctas().size(); ++choice) {
      RC_ASSERT(step.alone_ms(bytes, choice) >= taken - 1e-9);
      if (choice < plan.sent[g].choice) RC_ASSERT(step.alone_ms(bytes, choice) > taken);
    }
  }
}

// The same, but a start during some kernels leaves others more.
OverlapStep with_two_starts(const RandomStep& made) {
  std::vector<SharedRates> better = made.rates;
  std::vector<SharedRates> worse = made.rates;
  std::vector<std::size_t> start_of;
  for (std::size_t k = 0; k < made.kernels.size(); ++k) {
    start_of.push_back(*rc::gen::inRange<std::size_t>(0, 2));
    if (start_of.back() == 0) continue;
    for (std::size_t c = 0; c < made.rates.size(); ++c)
      worse[c].compute[k] = *rc::gen::element(predict::kStandstill, 0.3, better[c].compute[k]);
  }
  return {OverlapTimeline{made.kernels, {std::move(worse), std::move(better)}, std::move(start_of)},
          made.groups, made.ctas,
          [pace = made.ms_per_byte, start = made.latency](std::int64_t bytes, std::size_t choice) {
            return start + pace[choice] * static_cast<double>(bytes);
          }};
}

RC_GTEST_PROP(OverlapLaws, WhereStartsDifferTheAnswerIsStillOneOfAllAndNoWorseThanAnyUniformOne,
              ()) {
  const OverlapStep step = with_two_starts(random_step(5));
  const auto window = *rc::gen::inRange<std::size_t>(1, 4);
  const OverlapPlan plan = search_overlap(step, {.front = 0, .window = window});
  RC_ASSERT(std::abs(step.step_ms(plan.sent) - plan.step_ms) < 1e-8);
  RC_ASSERT(plan.step_ms >= try_all_fusions(step, window, {}) - 1e-8);
  RC_ASSERT(plan.step_ms >= step.fused_lower_bound_ms() - 1e-9);
  // Kernels that stand still make sums of 1e7 ms, whose last digit is 2e-9.
  for (const double ms : uniform_step_ms(step, all_alike(step, 0)))
    RC_ASSERT(plan.step_ms <= ms + 1e-7);
  for (const double ms : uniform_step_ms(step, plan.sent)) RC_ASSERT(plan.step_ms <= ms + 1e-7);
}

RC_GTEST_PROP(OverlapLaws, SendingNothingTakesAsLongAsComputing, ()) {
  RandomStep made = random_step(8);
  made.latency = 0;
  for (GradientGroup& group : made.groups) group.bytes = 0;
  const OverlapStep step = made.make();
  RC_ASSERT(std::abs(search_overlap(step).step_ms - step.timeline().total()) < 1e-9);
}

RC_GTEST_PROP(OverlapLaws, CollectivesRunInOrderAndNeverBeforeTheirGradientsAreThere, ()) {
  const OverlapStep step = random_step(10).make();
  const OverlapPlan plan = search_overlap(step, {.window = 3});
  const OverlapRun run = step.run(plan.sent);
  double free_at = 0;
  for (const auto& collective : run.collectives) {
    RC_ASSERT(collective.start_ms >= free_at - 1e-9);
    // Computing goes no faster than alone.
    RC_ASSERT(collective.start_ms >= step.groups()[collective.end_group - 1].ready_ms - 1e-9);
    RC_ASSERT(collective.end_ms >= collective.start_ms + collective.alone_ms - 1e-9);
    free_at = collective.end_ms;
  }
  RC_ASSERT(run.step_ms >= free_at - 1e-9);
  RC_ASSERT(run.computed_ms >= step.timeline().total() - 1e-9);
  RC_ASSERT(run.exposed_ms() >= -1e-9);
}

RC_GTEST_PROP(OverlapLaws, TwiceAsLongTimesGiveTwiceTheAnswer, ()) {
  const RandomStep made = random_step(8);
  const OverlapPlan once = search_overlap(made.make());
  const OverlapPlan twice = search_overlap(made.make(2));
  RC_ASSERT(twice.step_ms == 2 * once.step_ms);
  RC_ASSERT(twice.sent == once.sent);
}

}  // namespace
}  // namespace weir::plan
