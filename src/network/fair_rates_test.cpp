// SPDX-License-Identifier: Apache-2.0
#include "network/fair_rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "network/fair_rates_testing.h"
#include "network/plain_rates.h"

namespace weir::network {
namespace {

using testing::random_capacities;
using testing::random_path;

// Flows that come and go on one fabric, and the same for the plain method.
class Churn {
 public:
  Churn(SeededRng rng, RateMethod method, std::size_t links, bool has_weights,
        std::uint64_t budget = kScanBudget)
      : rng_{rng},
        capacities_{random_capacities(rng_, links)},
        has_weights_{has_weights},
        rates_{capacities_, method, budget} {}

  // Up to `most_events` flows come or go, or links change, in one commit.
  void batch(std::size_t most_events, std::size_t most_flows) {
    const std::size_t events = 1 + rng_.below(most_events);
    for (std::size_t i = 0; i < events; ++i) {
      if (!paths_.empty() && rng_.below(most_flows) < paths_.size()) {
        auto leaving = paths_.begin();
        std::advance(leaving, static_cast<std::ptrdiff_t>(rng_.below(paths_.size())));
        rates_.remove(leaving->first);
        paths_.erase(leaving);
      } else if (!paths_.empty() && has_weights_ && rng_.below(8) == 0) {
        auto heavier = paths_.begin();
        std::advance(heavier, static_cast<std::ptrdiff_t>(rng_.below(paths_.size())));
        const double weight = 0.25 + rng_.uniform() * 4;
        rates_.set_weight(heavier->first, weight);
        for (Hop& hop : heavier->second) hop.weight = weight;
      } else if (!paths_.empty() && rng_.below(16) == 0) {
        const auto link = static_cast<LinkIndex>(rng_.below(capacities_.size()));
        capacities_[link] = rng_.below(8) == 0 ? 0 : 0.5 + rng_.uniform();
        rates_.set_capacity(link, capacities_[link]);
      } else {
        auto path = random_path(rng_, capacities_.size(), has_weights_);
        const FlowIndex flow = rates_.add(path);
        paths_[flow] = std::move(path);
      }
    }
    before_.clear();
    for (const auto& [flow, path] : paths_) before_[flow] = rates_.level(flow);
    const auto changed = rates_.commit();
    changed_.assign(changed.begin(), changed.end());
  }

  // The largest relative difference from a plain fill.
  double error() const {
    std::vector<std::vector<Hop>> paths;
    for (const auto& [flow, path] : paths_) paths.push_back(path);
    const auto plain = plain_fair_rates(capacities_, paths);
    double worst = 0;
    std::size_t i = 0;
    for (const auto& [flow, path] : paths_) {
      const double scale = std::max(plain[i], 1e-9);
      worst = std::max(worst, std::abs(rates_.level(flow) - plain[i]) / scale);
      ++i;
    }
    return worst;
  }

  bool has_told_every_change() const {
    for (const auto& [flow, before] : before_) {
      if (rates_.level(flow) != before &&
          std::find(changed_.begin(), changed_.end(), flow) == changed_.end()) {
        return false;
      }
    }
    return true;
  }

  const FairRates& rates() const { return rates_; }
  const std::map<FlowIndex, std::vector<Hop>>& paths() const { return paths_; }

 private:
  SeededRng rng_;
  std::vector<double> capacities_;
  bool has_weights_;
  FairRates rates_;
  std::map<FlowIndex, std::vector<Hop>> paths_;
  std::map<FlowIndex, double> before_;
  std::vector<FlowIndex> changed_;
};

// 10,000 batches for each method, compared after every one.
class EveryMethod : public ::testing::TestWithParam<RateMethod> {};

TEST_P(EveryMethod, EqualsAPlainFillAfterEveryBatch) {
  double worst = 0;
  const SeededRng rng{12};
  for (std::uint64_t run = 0; run < 100; ++run) {
    const std::size_t links = 4 + run % 29;
    Churn churn{rng.fork(run), GetParam(), links, run % 3 == 0};
    for (int batch = 0; batch < 100; ++batch) {
      churn.batch(run % 4 == 0 ? 8 : 2, 4 + run % 60);
      worst = std::max(worst, churn.error());
      ASSERT_LT(worst, 1e-9) << "run " << run << ", batch " << batch;
      ASSERT_TRUE(churn.has_told_every_change()) << "run " << run << ", batch " << batch;
    }
  }
  RecordProperty("worst_relative_difference", std::to_string(worst));
}

TEST(FairRates, EqualAPlainFillWhereverPropagationGivesUp) {
  const SeededRng rng{18};
  for (std::uint64_t run = 0; run < 100; ++run) {
    Churn churn{rng.fork(run), RateMethod::hybrid, 6 + run % 29, run % 3 == 0, run % 150};
    for (int batch = 0; batch < 100; ++batch) {
      churn.batch(2, 80);
      ASSERT_LT(churn.error(), 1e-9) << "run " << run << ", batch " << batch;
      ASSERT_TRUE(churn.has_told_every_change()) << "run " << run << ", batch " << batch;
    }
  }
}

TEST_P(EveryMethod, NeverOverloadsALinkAndGivesEveryFlowABottleneck) {
  const SeededRng rng{13};
  for (std::uint64_t run = 0; run < 50; ++run) {
    Churn churn{rng.fork(run), GetParam(), 12, false};
    for (int batch = 0; batch < 20; ++batch) churn.batch(4, 40);
    const FairRates& rates = churn.rates();
    const auto links = static_cast<LinkIndex>(rates.graph().links().size());
    std::vector<double> fastest(links, 0);
    for (const auto& [flow, path] : churn.paths()) {
      for (const Hop& hop : path)
        fastest[hop.link] = std::max(fastest[hop.link], rates.level(flow));
    }
    for (LinkIndex link = 0; link < links; ++link) {
      EXPECT_LE(rates.load(link), rates.capacity(link) * (1 + 1e-9));
    }
    for (const auto& [flow, path] : churn.paths()) {
      bool has_bottleneck = false;
      for (const Hop& hop : path) {
        has_bottleneck |= rates.load(hop.link) >= rates.capacity(hop.link) * (1 - 1e-9) &&
                          rates.level(flow) >= fastest[hop.link] * (1 - 1e-9);
      }
      EXPECT_TRUE(has_bottleneck);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(FairRates, EveryMethod,
                         ::testing::Values(RateMethod::hybrid, RateMethod::propagate,
                                           RateMethod::cut, RateMethod::full));

std::vector<double> committed(const std::vector<double>& capacities,
                              const std::vector<std::vector<Hop>>& paths) {
  FairRates rates{capacities};
  std::vector<FlowIndex> flows;
  for (const auto& path : paths) flows.push_back(rates.add(path));
  rates.commit();
  std::vector<double> levels;
  for (const FlowIndex flow : flows) levels.push_back(rates.level(flow));
  return levels;
}

TEST(FairRates, EqualFlowsShareALinkEqually) {
  for (const std::size_t count : {1U, 3U, 7U, 1000U}) {
    const auto levels = committed({10}, std::vector<std::vector<Hop>>(count, {{0, 1}}));
    for (const double level : levels) EXPECT_NEAR(level, 10.0 / static_cast<double>(count), 1e-12);
  }
}

TEST(FairRates, AFlowAcrossTwoLinksLeavesTheRestToTheOthers) {
  // Link 0 (1) has flows a, b; link 1 (10) has b, c. a = b = 1/2, and c has the other 9.5.
  const auto levels = committed({1, 10}, {{{0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}}});
  EXPECT_DOUBLE_EQ(levels[0], 0.5);
  EXPECT_DOUBLE_EQ(levels[1], 0.5);
  EXPECT_DOUBLE_EQ(levels[2], 9.5);
}

TEST(FairRates, AWeightIsWhatALevelCosts) {
  // 3 s + s = 8.
  const auto levels = committed({8}, {{{0, 3}}, {{0, 1}}});
  EXPECT_DOUBLE_EQ(levels[0], 2);
  EXPECT_DOUBLE_EQ(levels[1], 2);
}

TEST(FairRates, ACappedFlowLeavesItsShare) {
  FairRates rates{std::vector<double>{9}};
  const std::vector<Hop> path{{0, 1}};
  const FlowIndex slow = rates.add(path, 1);
  const FlowIndex fast = rates.add(path);
  rates.commit();
  EXPECT_DOUBLE_EQ(rates.level(slow), 1);
  EXPECT_DOUBLE_EQ(rates.level(fast), 8);
  rates.remove(fast);
  const FlowIndex other = rates.add(path, 20);
  rates.commit();
  EXPECT_DOUBLE_EQ(rates.level(other), 8);
}

TEST(FairRates, AFlowThatComesAndGoesBetweenCommitsIsNotSeen) {
  FairRates rates{std::vector<double>{9}};
  const std::vector<Hop> path{{0, 1}};
  const FlowIndex stays = rates.add(path);
  rates.commit();
  rates.remove(rates.add(path));
  EXPECT_TRUE(rates.commit().empty());
  EXPECT_DOUBLE_EQ(rates.level(stays), 9);
}

TEST(FairRates, AStoppedLinkStopsItsFlowsUntilItIsBack) {
  FairRates rates{std::vector<double>{4, 6}};
  const FlowIndex through = rates.add(std::vector<Hop>{{0, 1}, {1, 1}});
  const FlowIndex beside = rates.add(std::vector<Hop>{{1, 1}});
  rates.commit();
  EXPECT_DOUBLE_EQ(rates.level(through), 3);
  rates.set_capacity(0, 0);
  rates.commit();
  EXPECT_DOUBLE_EQ(rates.level(through), 0);
  EXPECT_DOUBLE_EQ(rates.level(beside), 6);
  rates.set_capacity(0, 4);
  rates.commit();
  EXPECT_DOUBLE_EQ(rates.level(through), 3);
}

struct Case {
  std::vector<double> capacities;
  std::vector<std::vector<Hop>> paths;
};

Case random_case(SeededRng rng, std::size_t links, std::size_t flows) {
  Case made;
  made.capacities = random_capacities(rng, links);
  for (std::size_t i = 0; i < flows; ++i) made.paths.push_back(random_path(rng, links, false));
  return made;
}

TEST(FairRates, DoNotDependOnTheOrderOfFlows) {
  const SeededRng rng{14};
  for (std::uint64_t run = 0; run < 200; ++run) {
    const Case made = random_case(rng.fork(run), 10, 30);
    auto reversed = made.paths;
    std::reverse(reversed.begin(), reversed.end());
    auto levels = committed(made.capacities, reversed);
    std::reverse(levels.begin(), levels.end());
    const auto expected = committed(made.capacities, made.paths);
    for (std::size_t i = 0; i < levels.size(); ++i) EXPECT_NEAR(levels[i], expected[i], 1e-12);
  }
}

TEST(FairRates, ScaleWithTheCapacities) {
  const SeededRng rng{15};
  for (std::uint64_t run = 0; run < 200; ++run) {
    const Case made = random_case(rng.fork(run), 10, 30);
    auto larger = made.capacities;
    for (double& capacity : larger) capacity *= 1e9;
    const auto scaled = committed(larger, made.paths);
    const auto levels = committed(made.capacities, made.paths);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      EXPECT_NEAR(scaled[i] / 1e9, levels[i], levels[i] * 1e-12);
    }
  }
}

TEST(FairRates, MoreCapacityNeverLowersTheSmallestRate) {
  const SeededRng rng{16};
  for (std::uint64_t run = 0; run < 400; ++run) {
    SeededRng draws = rng.fork(run);
    const Case made = random_case(draws, 8, 20);
    const auto before = committed(made.capacities, made.paths);
    auto more = made.capacities;
    more[draws.below(more.size())] += draws.uniform() * 2;
    const auto after = committed(more, made.paths);
    EXPECT_GE(*std::min_element(after.begin(), after.end()),
              *std::min_element(before.begin(), before.end()) * (1 - 1e-12));
  }
}

// The definition: among all allocations the sorted list of rates is largest from its beginning on.
// Rates in whole steps of 1/12 cover every max-min solution of up to 4 flows on links of 1 or 2.
class LexicographicSearch {
 public:
  explicit LexicographicSearch(const Case& given) : given_{given}, rates_(given.paths.size(), 0) {}
  std::vector<int> best() {
    try_from(0);
    return best_;
  }

 private:
  void try_from(std::size_t flow) {
    if (flow == rates_.size()) {
      auto sorted = rates_;
      std::sort(sorted.begin(), sorted.end());
      if (sorted > best_sorted_) {
        best_sorted_ = sorted;
        best_ = rates_;
      }
      return;
    }
    for (int rate = 0; rate <= 24; ++rate) {
      rates_[flow] = rate;
      if (!fits(flow)) break;
      try_from(flow + 1);
    }
    rates_[flow] = 0;
  }
  bool fits(std::size_t last) const {
    std::vector<int> load(given_.capacities.size(), 0);
    for (std::size_t flow = 0; flow <= last; ++flow) {
      for (const Hop& hop : given_.paths[flow]) load[hop.link] += rates_[flow];
    }
    for (std::size_t link = 0; link < load.size(); ++link) {
      if (load[link] > static_cast<int>(given_.capacities[link] * 12)) return false;
    }
    return true;
  }
  const Case& given_;
  std::vector<int> rates_;
  std::vector<int> best_;
  std::vector<int> best_sorted_;
};

TEST(FairRates, AreLexicographicallyLargest) {
  const SeededRng rng{17};
  for (std::uint64_t run = 0; run < 60; ++run) {
    SeededRng draws = rng.fork(run);
    Case made = random_case(draws, 3, 4);
    for (double& capacity : made.capacities) capacity = static_cast<double>(1 + draws.below(2));
    const auto levels = committed(made.capacities, made.paths);
    const auto best = LexicographicSearch{made}.best();
    for (std::size_t i = 0; i < levels.size(); ++i) {
      EXPECT_NEAR(levels[i] * 12, best[i], 1e-9) << "run " << run;
    }
  }
}

TEST(FairRates, EqualSharesLeaveCapacityUnused) {
  // The flow of both links takes 1/2 on each; nobody takes what it leaves on the second.
  const std::vector<std::vector<Hop>> paths{{{0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}}};
  const auto levels = equal_share_rates(std::vector<double>{1, 10}, paths);
  EXPECT_DOUBLE_EQ(levels[1], 0.5);
  EXPECT_DOUBLE_EQ(levels[2], 5);
}

}  // namespace
}  // namespace weir::network
