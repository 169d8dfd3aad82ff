// SPDX-License-Identifier: Apache-2.0
//
// Golden values freeze every distribution: results must stay the same on every platform and for ever.
#include "domain/seeded_rng.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace weir {
namespace {

TEST(SeededRng, DrawsAreFrozen) {
  SeededRng rng{42};
  EXPECT_EQ(rng.next(), 1546998764402558742ULL);
  EXPECT_EQ(rng.next(), 6990951692964543102ULL);
  EXPECT_EQ(rng.next(), 12544586762248559009ULL);
}

TEST(SeededRng, DistributionsAreFrozen) {
  SeededRng rng = SeededRng{7}.fork("golden");
  EXPECT_EQ(rng.below(1000), 714U);
  EXPECT_DOUBLE_EQ(rng.uniform(), 0.3364753585768927);
  EXPECT_DOUBLE_EQ(rng.exponential(), 0.78171400884761333);
  EXPECT_DOUBLE_EQ(rng.normal(), 0.36305133500144587);
  EXPECT_DOUBLE_EQ(rng.lognormal(1.0, 2.0), 0.96263133922759936);
  const std::array<std::int64_t, 3> weights{1, 5, 4};
  EXPECT_EQ(rng.weighted(weights), 0U);
  std::vector<int> items(8);
  std::iota(items.begin(), items.end(), 0);
  rng.shuffle(items);
  EXPECT_EQ(items, (std::vector<int>{4, 6, 1, 7, 5, 0, 3, 2}));
}

TEST(SeededRng, AForkDependsOnSeedAndNameNotOnDrawsMadeSoFar) {
  SeededRng rng{1};
  SeededRng early = rng.fork("arrivals");
  for (int i = 0; i < 10; ++i) rng.next();
  SeededRng late = rng.fork("arrivals");
  EXPECT_EQ(early.next(), late.next());
  EXPECT_NE(SeededRng{1}.fork("arrivals").next(), SeededRng{1}.fork("shapes").next());
  EXPECT_NE(SeededRng{1}.fork("arrivals").next(), SeededRng{2}.fork("arrivals").next());
  EXPECT_NE(SeededRng{1}.fork(1).next(), SeededRng{1}.fork(2).next());
}

TEST(SeededRng, DistributionsHaveTheirMoments) {
  SeededRng rng{99};
  constexpr int kDraws = 200'000;
  double uniform = 0;
  double exponential = 0;
  double normal = 0;
  double normal_squared = 0;
  for (int i = 0; i < kDraws; ++i) {
    uniform += rng.uniform();
    exponential += rng.exponential();
    const double draw = rng.normal();
    normal += draw;
    normal_squared += draw * draw;
  }
  EXPECT_NEAR(uniform / kDraws, 0.5, 0.01);
  EXPECT_NEAR(exponential / kDraws, 1.0, 0.02);
  EXPECT_NEAR(normal / kDraws, 0.0, 0.02);
  EXPECT_NEAR(normal_squared / kDraws, 1.0, 0.02);
}

TEST(SeededRng, WeightedDrawsFollowTheWeightsAndNeverTakeZero) {
  SeededRng rng{5};
  const std::array<std::int64_t, 4> weights{0, 3, 0, 1};
  std::array<int, 4> seen{};
  for (int i = 0; i < 40'000; ++i) ++seen[rng.weighted(weights)];
  EXPECT_EQ(seen[0], 0);
  EXPECT_EQ(seen[2], 0);
  EXPECT_NEAR(seen[1], 30'000, 600);
}

TEST(SeededRng, EveryPermutationOfThreeIsEquallyLikely) {
  SeededRng rng{11};
  std::array<int, 6> seen{};
  for (int i = 0; i < 60'000; ++i) {
    std::vector<int> items{0, 1, 2};
    rng.shuffle(items);
    ++seen[static_cast<std::size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0))];
  }
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 500);
}

RC_GTEST_PROP(SeededRng, BelowStaysBelow, (std::uint64_t seed)) {
  const auto bound = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
  SeededRng rng{seed};
  for (int i = 0; i < 20; ++i) RC_ASSERT(rng.below(bound) < bound);
}

RC_GTEST_PROP(SeededRng, ShufflingKeepsEveryItem, (std::uint64_t seed, std::vector<int> items)) {
  std::vector<int> shuffled = items;
  SeededRng{seed}.shuffle(shuffled);
  std::sort(items.begin(), items.end());
  std::sort(shuffled.begin(), shuffled.end());
  RC_ASSERT(items == shuffled);
}

}  // namespace
}  // namespace weir
