// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/boosted_trees.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "domain/seeded_rng.h"

namespace weir::predict {
namespace {

TEST(BoostedTreesGolden, OneTreeFindsTheStep) {
  std::vector<float> rows;
  std::vector<double> targets;
  for (int i = 0; i < 40; ++i) {
    rows.push_back(static_cast<float>(i));
    targets.push_back(i < 24 ? 1 : 3);
  }
  const BoostedTrees trees = fit_boosted_trees(rows, 1, targets, {1, 1, 1, 5});
  EXPECT_NEAR(trees.thresholds[0], 23.5, 1e-6);
  EXPECT_NEAR(boosted_value(trees, std::array{23.0F}), 1, 1e-6);
  EXPECT_NEAR(boosted_value(trees, std::array{24.0F}), 3, 1e-6);
}

TEST(BoostedTreesGolden, ASmallerRateGoesPartOfTheWay) {
  const std::vector<float> rows = {0, 0, 1, 1};
  const std::vector<double> targets = {0, 0, 4, 4};
  const BoostedTrees trees = fit_boosted_trees(rows, 1, targets, {1, 1, 0.25, 1});
  EXPECT_NEAR(boosted_value(trees, std::array{1.0F}), 2 + 0.25 * 2, 1e-6);
}

TEST(BoostedTreesGolden, TooFewRowsForTwoLeavesGiveTheMean) {
  const std::vector<float> rows = {0, 1, 2};
  const std::vector<double> targets = {0, 3, 6};
  const BoostedTrees trees = fit_boosted_trees(rows, 1, targets, {10, 3, 0.5, 2});
  for (const float value : {-1.0F, 1.0F, 9.0F})
    EXPECT_NEAR(boosted_value(trees, std::array{value}), 3, 1e-6);
}

TEST(BoostedTreesGolden, NoTreesAreZero) {
  EXPECT_EQ(boosted_value({}, std::array{1.0F}), 0);
}

struct Drawn {
  std::vector<float> rows;
  std::vector<double> targets;
};

Drawn drawn(std::uint64_t seed) {
  SeededRng rng{seed};
  Drawn data;
  for (int i = 0; i < 200; ++i) {
    const double x = rng.uniform();
    const double y = rng.uniform();
    data.rows.insert(data.rows.end(), {static_cast<float>(x), static_cast<float>(y)});
    data.targets.push_back(std::sin(6 * x) * (y > 0.5 ? 1 : -1));
  }
  return data;
}

// Sums `loss` of every miss.
template <typename Loss>
double total(const BoostedTrees& trees, const Drawn& data, const Loss& loss) {
  double sum = 0;
  for (std::size_t i = 0; i < data.targets.size(); ++i)
    sum += loss(boosted_value(trees, std::span{data.rows}.subspan(2 * i, 2)) - data.targets[i]);
  return sum;
}

double squared(double miss) {
  return miss * miss;
}

// What the trees make small: far misses count by their size.
double huber(double miss) {
  const double far = BoostingOptions{}.far;
  const double size = std::abs(miss);
  return size <= far ? miss * miss / 2 : far * (size - far / 2);
}

RC_GTEST_PROP(BoostedTrees, MoreTreesNeverFitWorseAndStayWithinWhatWasSeen, (std::uint64_t seed)) {
  const Drawn data = drawn(seed);
  double before = INFINITY;
  double left = INFINITY;
  for (const int count : {1, 5, 40}) {
    const BoostedTrees trees = fit_boosted_trees(data.rows, 2, data.targets, {count, 3, 0.3, 5});
    const double loss = total(trees, data, huber);
    RC_ASSERT(loss <= before);
    before = loss;
    left = total(trees, data, squared);
  }
  RC_ASSERT(left < 40);  // of about 100; at most 23 in 20,000 draws
}

// One tree after the other, node by node: what the fast sum must give.
double plain_sum(const BoostedTrees& trees, std::span<const float> values) {
  const std::size_t leaves = std::size_t{1} << trees.depth;
  double sum = trees.offset;
  for (std::size_t tree = 0; tree < trees.leaves.size() / leaves; ++tree) {
    std::size_t node = 0;
    while (node < leaves - 1) {
      const std::size_t at = tree * (leaves - 1) + node;
      const bool right =
          values[static_cast<std::size_t>(trees.features[at])] > trees.thresholds[at];
      node = 2 * node + (right ? 2 : 1);
    }
    sum += static_cast<double>(trees.leaves[tree * leaves + node - (leaves - 1)]);
  }
  return sum;
}

RC_GTEST_PROP(BoostedTrees, AddUpAsOneByOne, (std::uint64_t seed)) {
  const Drawn data = drawn(seed);
  const int count = *rc::gen::inRange(0, 30);
  const int depth = *rc::gen::inRange(1, 6);
  const BoostedTrees trees = fit_boosted_trees(data.rows, 2, data.targets, {count, depth, 0.3, 3});
  for (std::size_t i = 0; i < data.targets.size(); i += 7) {
    const auto values = std::span{data.rows}.subspan(2 * i, 2);
    RC_ASSERT(boosted_value(trees, values) == plain_sum(trees, values));
  }
}

// A few measurements that went wrong move nothing much: fewer than half of the smallest leaf, so that its middle is not
// one of them. Of 20,000 draws the worst was 22; trees for squares alone are above 900.
RC_GTEST_PROP(BoostedTrees, AreNotMovedByAFewWildValues, (std::uint64_t seed)) {
  const Drawn data = drawn(seed);
  Drawn spoiled = data;
  for (std::size_t i = 0; i < spoiled.targets.size(); i += 50) spoiled.targets[i] += 50;
  const BoostedTrees robust = fit_boosted_trees(spoiled.rows, 2, spoiled.targets, {40, 3, 0.3, 10});
  RC_ASSERT(total(robust, data, squared) < 60);
}

RC_GTEST_PROP(BoostedTrees, AreTheSameWhateverTheUnitOfAFeature, (std::uint64_t seed)) {
  Drawn data = drawn(seed);
  const BoostedTrees plain = fit_boosted_trees(data.rows, 2, data.targets, {5, 2, 0.5, 10});
  for (float& value : data.rows) value *= 4;
  const BoostedTrees scaled = fit_boosted_trees(data.rows, 2, data.targets, {5, 2, 0.5, 10});
  RC_ASSERT(plain.leaves == scaled.leaves);
  RC_ASSERT(plain.features == scaled.features);
}

}  // namespace
}  // namespace weir::predict
