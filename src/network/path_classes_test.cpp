// SPDX-License-Identifier: Apache-2.0
#include "network/path_classes.h"

#include <gtest/gtest.h>

#include <map>

#include "network/fair_rates_testing.h"
#include "network/flow_run.h"

namespace weir::network {
namespace {

TEST(PathClasses, EqualFlowsShareTheirPath) {
  PathClasses run{std::vector<double>{10}};
  const std::vector<LinkIndex> links{0};
  const auto path = run.add_path(links);
  run.start(path, 20);
  run.start(path, 60);
  ASSERT_EQ(run.advance().size(), 1U);
  EXPECT_DOUBLE_EQ(run.now(), 4);
  run.start(path, 20);  // both at 5: 40 and 20 bytes are left
  EXPECT_EQ(run.advance().front(), 2U);
  EXPECT_DOUBLE_EQ(run.now(), 8);
  EXPECT_EQ(run.advance().front(), 1U);
  EXPECT_DOUBLE_EQ(run.now(), 10);
  EXPECT_TRUE(run.advance().empty());
  EXPECT_EQ(run.events(), 6U);
}

// The same starts at the same times, given to both; every end must be at the same time.
TEST(PathClasses, EndFlowsWhenFlowRunDoes) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SeededRng rng{seed};
    const auto capacities = testing::random_capacities(rng, 8);
    FlowRun plain{capacities};
    PathClasses classed{capacities};
    std::vector<std::vector<Hop>> paths;
    std::vector<PathClasses::PathIndex> indices;
    for (int i = 0; i < 6; ++i) {
      paths.push_back(testing::random_path(rng, 8, false));
      std::vector<LinkIndex> links;
      for (const Hop& hop : paths.back()) links.push_back(hop.link);
      indices.push_back(classed.add_path(links));
    }
    std::map<FlowIndex, PathClasses::MemberIndex> member_of;
    std::map<PathClasses::MemberIndex, double> plain_ends;
    std::map<PathClasses::MemberIndex, double> classed_ends;
    double at = 0;
    for (int i = 0; i < 120; ++i) {
      at += rng.exponential() * 0.2;
      while (plain.active() > 0 && plain.now() < at) {
        for (const FlowIndex flow : plain.advance(at)) plain_ends[member_of[flow]] = plain.now();
      }
      plain.advance(at);
      while (classed.active() > 0 && classed.now() < at) {
        for (const auto member : classed.advance(at)) classed_ends[member] = classed.now();
      }
      classed.advance(at);
      const std::uint64_t path = rng.below(paths.size());
      const double bytes = rng.uniform();
      const auto member = classed.start(indices[path], bytes);
      member_of[plain.start(paths[path], bytes)] = member;
    }
    while (plain.active() > 0) {
      for (const FlowIndex flow : plain.advance()) plain_ends[member_of[flow]] = plain.now();
    }
    while (classed.active() > 0) {
      for (const auto member : classed.advance()) classed_ends[member] = classed.now();
    }
    ASSERT_EQ(plain_ends.size(), 120U);
    ASSERT_EQ(classed_ends.size(), 120U);
    for (const auto& [member, end] : plain_ends) EXPECT_NEAR(classed_ends[member], end, 1e-8);
  }
}

}  // namespace
}  // namespace weir::network
