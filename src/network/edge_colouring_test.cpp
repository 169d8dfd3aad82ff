// SPDX-License-Identifier: Apache-2.0
#include "network/edge_colouring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "domain/seeded_rng.h"

namespace weir::network {
namespace {

TEST(EdgeColouring, NeedsNoMoreColoursThanTheLargestDegree) {
  SeededRng rng{5};
  for (int run = 0; run < 500; ++run) {
    const std::uint64_t side = 1 + rng.below(9);
    std::vector<BipartiteEdge> edges(rng.below(60));
    std::map<std::uint32_t, std::uint32_t> degree[2];
    std::uint32_t largest = 0;
    for (BipartiteEdge& edge : edges) {
      edge = {static_cast<std::uint32_t>(rng.below(side)),
              static_cast<std::uint32_t>(rng.below(side))};
      largest = std::max({largest, ++degree[0][edge.left], ++degree[1][edge.right]});
    }
    const auto colours = colour_edges(edges);
    ASSERT_EQ(colours.size(), edges.size());
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen[2];
    for (std::size_t i = 0; i < edges.size(); ++i) {
      ASSERT_LT(colours[i], largest);
      ASSERT_TRUE(seen[0].emplace(edges[i].left, colours[i]).second);
      ASSERT_TRUE(seen[1].emplace(edges[i].right, colours[i]).second);
    }
  }
}

}  // namespace
}  // namespace weir::network
