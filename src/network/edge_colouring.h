// SPDX-License-Identifier: Apache-2.0
//
// Colours the edges of a bipartite multigraph so that no two at one vertex are alike, with as many
// colours as the largest degree (König): each edge takes a colour that is free at both ends, or one
// free at its left end after an alternating path has been flipped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weir::network {

struct BipartiteEdge {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
};

// The colour of each edge, from 0 to the largest degree less one.
std::vector<std::uint32_t> colour_edges(std::span<const BipartiteEdge> edges);

}  // namespace weir::network
