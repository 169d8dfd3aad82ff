// SPDX-License-Identifier: Apache-2.0
#include "simulate/fragmentation_study.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace weir::simulate {
namespace {

FragmentationSetup twenty_seeds() {
  FragmentationSetup setup;
  setup.seeds.clear();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) setup.seeds.push_back(seed);
  return setup;
}

void expect_within(const MeanAndSpread& seen, double figure) {
  EXPECT_GE(figure, seen.least);
  EXPECT_LE(figure, seen.most);
}

// Mean waits and blocked shares of an independent prototype (3 seeds): docs/models/network.md.
TEST(FragmentationStudy, FindsTheKnownWaitsWithinTheSpreadOverSeeds) {
  const auto results = study_fragmentation(twenty_seeds());
  constexpr std::array kLoads{0.5, 0.6, 0.7};
  constexpr std::array kFree{0.128, 0.286, 0.673};
  constexpr std::array kStatic{0.139, 0.338, 1.057};
  constexpr std::array kBlocked{0.015, 0.038, 0.089};
  for (std::size_t i = 0; i < kLoads.size(); ++i) {
    const double load = kLoads[i];
    const auto gpus = mean_wait(results, FabricRule::gpus_only, load);
    const auto fixed = mean_wait(results, FabricRule::logical_clos, load);
    const auto optical = mean_wait(results, FabricRule::optical_circuits, load);
    expect_within(gpus, kFree[i]);
    expect_within(fixed, kStatic[i]);
    expect_within(optical, kFree[i]);
    expect_within(blocked_share(results, FabricRule::logical_clos, load), kBlocked[i]);
    EXPECT_EQ(blocked_share(results, FabricRule::gpus_only, load).most, 0);
    EXPECT_LT(blocked_share(results, FabricRule::optical_circuits, load).mean, 0.005);
    EXPECT_LT(optical.mean, 1.04 * gpus.mean);
    EXPECT_GT(fixed.mean, 1.08 * gpus.mean);
  }
}

TEST(FragmentationStudy, DoesNotDependOnThreads) {
  FragmentationSetup setup;
  setup.jobs = 300;
  setup.threads = 1;
  const auto one = study_fragmentation(setup);
  setup.threads = 3;
  const auto three = study_fragmentation(setup);
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].mean_wait, three[i].mean_wait);
    EXPECT_EQ(one[i].blocked_share, three[i].blocked_share);
  }
}

}  // namespace
}  // namespace weir::simulate
