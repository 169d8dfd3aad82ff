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

double squared_error(const BoostedTrees& trees, const Drawn& data) {
  double sum = 0;
  for (std::size_t i = 0; i < data.targets.size(); ++i) {
    const double error =
        boosted_value(trees, std::span{data.rows}.subspan(2 * i, 2)) - data.targets[i];
    sum += error * error;
  }
  return sum;
}

RC_GTEST_PROP(BoostedTrees, MoreTreesNeverFitWorseAndStayWithinWhatWasSeen, (std::uint64_t seed)) {
  const Drawn data = drawn(seed);
  double before = INFINITY;
  for (const int count : {1, 5, 40}) {
    const BoostedTrees trees = fit_boosted_trees(data.rows, 2, data.targets, {count, 3, 0.3, 5});
    const double error = squared_error(trees, data);
    RC_ASSERT(error <= before * (1 + 1e-6));
    before = error;
  }
  RC_ASSERT(before < 20);  // of about 100
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
