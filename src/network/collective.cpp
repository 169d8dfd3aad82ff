// SPDX-License-Identifier: Apache-2.0
#include "network/collective.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <utility>

namespace weir::network {
namespace {

using Steps = std::vector<std::vector<Move>>;

// Rank r of the ring is ranks[r]. In step s rank r sends block (r - s + shift) mod n to the next.
void add_ring_steps(Steps& steps, std::size_t at, const std::vector<std::uint32_t>& ranks,
                    std::uint32_t first_chunk, std::uint32_t block, std::uint32_t shift,
                    bool is_added) {
  const auto n = static_cast<std::uint32_t>(ranks.size());
  for (std::uint32_t s = 0; s + 1 < n; ++s) {
    for (std::uint32_t r = 0; r < n; ++r) {
      const std::uint32_t chunk = first_chunk + (r + n - s + shift) % n * block;
      if (steps.size() <= at + s) steps.resize(at + s + 1);
      steps[at + s].push_back({ranks[r], ranks[(r + 1) % n], chunk, block, is_added});
    }
  }
}

std::vector<std::uint32_t> all_ranks(std::uint32_t count) {
  std::vector<std::uint32_t> ranks(count);
  for (std::uint32_t i = 0; i < count; ++i) ranks[i] = i;
  return ranks;
}

// After a reduce-scatter with shift 0, rank r holds block r+1.
Steps ring_steps(std::uint32_t n, bool is_reducing, bool is_gathering) {
  Steps steps;
  if (is_reducing) add_ring_steps(steps, 0, all_ranks(n), 0, 1, is_gathering ? 0 : n - 1, true);
  if (is_gathering) {
    add_ring_steps(steps, steps.size(), all_ranks(n), 0, 1, is_reducing ? 1 : 0, false);
  }
  return steps;
}

Steps halving_doubling_steps(std::uint32_t n, std::uint32_t& chunks) {
  const std::uint32_t z = std::bit_floor(n);
  chunks = z;
  Steps steps;
  if (n > z) {
    steps.emplace_back();
    for (std::uint32_t i = z; i < n; ++i) steps.back().push_back({i, i - z, 0, z, true});
  }
  // Rank i is responsible for the chunks that share the upper bits of its number; each step halves
  // them and gives the other half to the partner.
  for (std::uint32_t width = z / 2; width >= 1; width /= 2) {
    steps.emplace_back();
    for (std::uint32_t i = 0; i < z; ++i) {
      const std::uint32_t partner = i ^ width;
      steps.back().push_back({i, partner, partner & ~(width - 1), width, true});
    }
  }
  for (std::uint32_t width = 1; width < z; width *= 2) {
    steps.emplace_back();
    for (std::uint32_t i = 0; i < z; ++i) {
      steps.back().push_back({i, i ^ width, i & ~(width - 1), width, false});
    }
  }
  if (n > z) {
    steps.emplace_back();
    for (std::uint32_t i = z; i < n; ++i) steps.back().push_back({i - z, i, 0, z, false});
  }
  return steps;
}

struct BinaryTree {
  std::vector<std::uint32_t> parent;  // of the root: itself
  std::vector<std::uint32_t> depth;
  std::uint32_t deepest = 0;
};

constexpr std::uint32_t kNoParent = ~std::uint32_t{0};

// In order over ranks low..high-1: the middle one is the root of its range. Ranks at odd places
// (from 1) are leaves.
void build_tree(BinaryTree& tree, std::uint32_t low, std::uint32_t high, std::uint32_t parent,
                std::uint32_t depth) {
  if (low >= high) return;
  const std::uint32_t size = high - low;
  // The largest power of two: the left side is then a complete tree, whose leaves alternate.
  const std::uint32_t root = low + std::bit_floor(size) - 1;
  tree.parent[root] = parent;
  tree.depth[root] = depth;
  tree.deepest = std::max(tree.deepest, depth);
  build_tree(tree, low, root, root, depth + 1);
  build_tree(tree, root + 1, high, root, depth + 1);
}

// The second tree is the first with every rank moved on by one: leaves become inner ranks.
BinaryTree moved_on(const BinaryTree& tree) {
  const auto n = static_cast<std::uint32_t>(tree.parent.size());
  BinaryTree moved{std::vector<std::uint32_t>(n), std::vector<std::uint32_t>(n), tree.deepest};
  for (std::uint32_t r = 0; r < n; ++r) {
    const std::uint32_t there = (r + 1) % n;
    moved.parent[there] = tree.parent[r] == kNoParent ? kNoParent : (tree.parent[r] + 1) % n;
    moved.depth[there] = tree.depth[r];
  }
  return moved;
}

// Chunk c leaves depth d for its parent in step c + deepest - d, and comes back down to depth d in
// step c + deepest + d - 1.
void add_tree_steps(Steps& steps, const BinaryTree& tree, std::uint32_t first_chunk,
                    std::uint32_t chunks) {
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::uint32_t r = 0; r < tree.parent.size(); ++r) {
      if (tree.parent[r] == kNoParent) continue;
      const std::uint32_t up = chunk + tree.deepest - tree.depth[r];
      const std::uint32_t down = chunk + tree.deepest + tree.depth[r] - 1;
      if (steps.size() <= down) steps.resize(down + 1);
      steps[up].push_back({r, tree.parent[r], first_chunk + chunk, 1, true});
      steps[down].push_back({tree.parent[r], r, first_chunk + chunk, 1, false});
    }
  }
}

Steps double_tree_steps(std::uint32_t n, std::uint32_t chunks_per_tree) {
  BinaryTree tree{std::vector<std::uint32_t>(n, kNoParent), std::vector<std::uint32_t>(n, 0), 0};
  build_tree(tree, 0, n, kNoParent, 0);
  Steps steps(2 * std::size_t{tree.deepest});
  add_tree_steps(steps, tree, 0, chunks_per_tree);
  add_tree_steps(steps, moved_on(tree), chunks_per_tree, chunks_per_tree);
  return steps;
}

Steps hierarchical_steps(std::uint32_t n, std::uint32_t per_node, std::uint32_t& chunks) {
  assert(n % per_node == 0);
  const std::uint32_t nodes = n / per_node;
  chunks = n;
  Steps steps;
  const auto inside = [&](std::size_t at, std::uint32_t shift, bool is_added) {
    for (std::uint32_t node = 0; node < nodes; ++node) {
      std::vector<std::uint32_t> ranks;
      for (std::uint32_t i = 0; i < per_node; ++i) ranks.push_back(node * per_node + i);
      add_ring_steps(steps, at, ranks, 0, nodes, shift, is_added);
    }
  };
  const auto across = [&](std::size_t at, std::uint32_t shift, bool is_added) {
    for (std::uint32_t rail = 0; rail < per_node; ++rail) {
      std::vector<std::uint32_t> ranks;
      for (std::uint32_t node = 0; node < nodes; ++node) ranks.push_back(node * per_node + rail);
      add_ring_steps(steps, at, ranks, rail * nodes, 1, shift, is_added);
    }
  };
  inside(0, per_node - 1, true);  // rail i then holds block i
  across(steps.size(), 0, true);
  across(steps.size(), 1, false);
  inside(steps.size(), 0, false);
  return steps;
}

// Chunk s of a rank is what it sends to rank s: what arrives takes the place of the sender.
Steps all_to_all_steps(std::uint32_t n, bool is_at_once) {
  Steps steps(is_at_once ? 1 : n - 1);
  for (std::uint32_t shift = 1; shift < n; ++shift) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t to = (i + shift) % n;
      steps[is_at_once ? 0 : shift - 1].push_back({i, to, to, 1, false});
    }
  }
  return steps;
}

Steps chain_steps(std::uint32_t n, std::uint32_t chunks, bool is_reducing) {
  Steps steps(n - 2 + chunks);
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::uint32_t i = 0; i + 1 < n; ++i) {
      const std::uint32_t from = is_reducing ? n - 1 - i : i;
      const std::uint32_t to = is_reducing ? from - 1 : from + 1;
      steps[chunk + i].push_back({from, to, chunk, 1, is_reducing});
    }
  }
  return steps;
}

Steps pipeline_steps(std::uint32_t n) {
  Steps steps(1);
  for (std::uint32_t i = 0; i + 1 < n; ++i) steps[0].push_back({i, i + 1, 0, 1, false});
  return steps;
}

}  // namespace

double Collective::most_sent(double buffer) const {
  std::vector<double> sent(ranks, 0);
  for (const auto& step : steps) {
    for (const Move& move : step) sent[move.from] += bytes_of(move, buffer);
  }
  return *std::max_element(sent.begin(), sent.end());
}

Collective make_collective(CollectiveKind kind, std::uint32_t ranks,
                           const CollectiveOptions& options) {
  assert(ranks >= 2);
  Collective made{kind, ranks, ranks, {}};
  switch (kind) {
    case CollectiveKind::ring_all_reduce:
      made.steps = ring_steps(ranks, true, true);
      break;
    case CollectiveKind::ring_all_gather:
      made.steps = ring_steps(ranks, false, true);
      break;
    case CollectiveKind::ring_reduce_scatter:
      made.steps = ring_steps(ranks, true, false);
      break;
    case CollectiveKind::halving_doubling:
      made.steps = halving_doubling_steps(ranks, made.chunks);
      break;
    case CollectiveKind::double_tree:
      made.chunks = 2 * options.pipeline_chunks;
      made.steps = double_tree_steps(ranks, options.pipeline_chunks);
      break;
    case CollectiveKind::hierarchical:
      made.steps = hierarchical_steps(ranks, options.ranks_per_node, made.chunks);
      break;
    case CollectiveKind::all_to_all:
    case CollectiveKind::all_to_all_at_once:
      made.steps = all_to_all_steps(ranks, kind == CollectiveKind::all_to_all_at_once);
      break;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      made.chunks = options.pipeline_chunks;
      made.steps = chain_steps(ranks, made.chunks, kind == CollectiveKind::reduce);
      break;
    case CollectiveKind::pipeline:
      made.chunks = 1;
      made.steps = pipeline_steps(ranks);
      break;
  }
  return made;
}

double bus_factor(CollectiveKind kind, std::uint32_t ranks) {
  const double part = (ranks - 1.0) / ranks;
  switch (kind) {
    case CollectiveKind::ring_all_reduce:
    case CollectiveKind::halving_doubling:
    case CollectiveKind::double_tree:
    case CollectiveKind::hierarchical:
      return 2 * part;
    case CollectiveKind::ring_all_gather:
    case CollectiveKind::ring_reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::all_to_all_at_once:
      return part;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::pipeline:
      break;
  }
  return 1;
}

}  // namespace weir::network
