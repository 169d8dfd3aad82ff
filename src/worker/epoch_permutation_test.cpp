// SPDX-License-Identifier: Apache-2.0
#include "worker/epoch_permutation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace weir::worker {
namespace {

std::vector<std::int64_t> order(std::int64_t length, std::uint64_t seed, std::uint64_t epoch) {
  const EpochPermutation permutation{length, seed, epoch};
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < length; ++i) samples.push_back(permutation[i]);
  return samples;
}

bool is_permutation_of_all(std::vector<std::int64_t> samples) {
  std::ranges::sort(samples);
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

RC_GTEST_PROP(EpochPermutation, EverySeedAndEpochGivesAPermutation,
              (std::uint64_t seed, std::uint64_t epoch)) {
  const auto length = *rc::gen::inRange<std::int64_t>(0, 5000);
  RC_ASSERT(is_permutation_of_all(order(length, seed, epoch)));
}

TEST(EpochPermutation, IsOneForEveryShortLength) {
  for (std::int64_t length = 0; length <= 300; ++length)
    EXPECT_TRUE(is_permutation_of_all(order(length, 17, 3))) << length;
}

TEST(EpochPermutation, OtherSeedsAndEpochsGiveOtherOrders) {
  std::set<std::vector<std::int64_t>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (std::uint64_t epoch = 0; epoch < 20; ++epoch) orders.insert(order(50, seed, epoch));
  EXPECT_EQ(orders.size(), 400u);
}

TEST(EpochPermutation, ReachesTheLongestEpoch) {
  const EpochPermutation permutation{kLongestEpoch, 1, 2};
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 500; ++i) {
    seen.insert(permutation[i]);
    seen.insert(permutation[kLongestEpoch - 1 - i]);
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_GE(*seen.begin(), 0);
  EXPECT_LT(*seen.rbegin(), kLongestEpoch);
}

TEST(EpochPermutation, NoOrderOfAShortDataSetIsPreferred) {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::uint64_t epoch = 0; epoch < 24'000; ++epoch) ++counts[order(4, 5, epoch)];
  EXPECT_EQ(counts.size(), 24u);
  double chi_squared = 0;
  for (const auto& [_, count] : counts) chi_squared += std::pow(count - 1000.0, 2) / 1000.0;
  EXPECT_LT(chi_squared, 70);  // 23 degrees of freedom: beyond is less than one in a million
}

TEST(EpochPermutation, HasNoVisibleCorrelation) {
  const auto here = order(20'000, 9, 0);
  const auto next = order(20'000, 9, 1);
  const double mean = 19'999 / 2.0;
  double with_place = 0;
  double with_neighbour = 0;
  double with_next_epoch = 0;
  double variance = 0;
  for (std::size_t i = 0; i + 1 < here.size(); ++i) {
    const double value = static_cast<double>(here[i]) - mean;
    variance += value * value;
    with_place += value * (static_cast<double>(i) - mean);
    with_neighbour += value * (static_cast<double>(here[i + 1]) - mean);
    with_next_epoch += value * (static_cast<double>(next[i]) - mean);
  }
  // Five standard deviations of what chance gives.
  for (const double sum : {with_place, with_neighbour, with_next_epoch})
    EXPECT_LT(std::abs(sum / variance), 5 / std::sqrt(20'000.0));
}

}  // namespace
}  // namespace weir::worker
