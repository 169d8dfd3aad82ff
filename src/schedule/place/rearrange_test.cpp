// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/rearrange.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

using Blocks = std::vector<GpuBlock>;

TEST(Rearrange, KeepsWhoKeepsItsSize) {
  const std::vector<SizeWish> wishes{{{4, 2}, 2}, {{0, 4}, 4}};
  EXPECT_EQ(rearrange(wishes, BlockMap{8}), (Blocks{{4, 2}, {0, 4}}));
}

TEST(Rearrange, ShrinksAndGrowsInPlace) {
  const std::vector<SizeWish> wishes{{{0, 4}, 2}, {{6, 1}, 2}};
  EXPECT_EQ(rearrange(wishes, BlockMap{8}), (Blocks{{0, 2}, {6, 2}}));
}

TEST(Rearrange, ClearsTheBlockWithTheFewestGpusInUse) {
  // 5 of 8 are free, but no four together: the single at 6 moves, not the pair at 0.
  const std::vector<SizeWish> wishes{{{0, 2}, 2}, {{6, 1}, 1}, {kNoGpus, 4}};
  EXPECT_EQ(rearrange(wishes, BlockMap{8}), (Blocks{{0, 2}, {2, 1}, {4, 4}}));
}

TEST(Rearrange, WhatDoesNotFitByCountGetsNothing) {
  const std::vector<SizeWish> wishes{{{0, 4}, 4}, {kNoGpus, 8}, {kNoGpus, 4}};
  EXPECT_EQ(rearrange(wishes, BlockMap{8}), (Blocks{{0, 4}, kNoGpus, {4, 4}}));
}

TEST(Rearrange, WhoseGpusWereClosedMoves) {
  BlockMap closed{16};
  closed.take({0, 8});
  EXPECT_EQ(rearrange(std::vector<SizeWish>{{{0, 4}, 4}}, closed), (Blocks{{8, 4}}));
}

TEST(Rearrange, AWishForNothingGetsNothing) {
  EXPECT_EQ(rearrange(std::vector<SizeWish>{{{0, 4}, 0}}, BlockMap{8}), Blocks{kNoGpus});
}

// Jobs with disjoint blocks, and what they wish; sizes up to `largest`.
std::vector<SizeWish> any_wishes(const BlockMap& closed, std::uint32_t largest, bool must_fit) {
  BlockMap map = closed;
  std::vector<SizeWish> wishes;
  std::uint32_t wished = 0;
  const int jobs = between(1, 24);
  for (int i = 0; i < jobs; ++i) {
    SizeWish wish;
    const std::uint32_t size = any_power_of_two(largest);
    const GpuBlock block{between<std::uint32_t>(0, map.gpu_count() / size) * size, size};
    if (between(0, 4) > 0 && map.is_free(block)) {
      map.take(block);
      wish.present = block;
    }
    wish.gpus = *rc::gen::weightedElement<std::uint32_t>(
        {{4, wish.present.size}, {4, any_power_of_two(largest)}, {1, 0}});
    if (must_fit && wished + wish.gpus > closed.free_count()) wish.gpus = 0;
    wished += wish.gpus;
    wishes.push_back(wish);
  }
  return wishes;
}

struct PoolSketch {
  std::uint32_t gpus;
  std::uint32_t smallest_tree;
};

// A pool as a forest of trees, some whole nodes of 8 closed.
BlockMap any_pool(PoolSketch sketch) {
  BlockMap closed{sketch.gpus};
  if (sketch.smallest_tree < 8) return closed;
  for (std::uint32_t node = 0; node < sketch.gpus / 8; ++node) {
    if (between(0, 6) == 0) closed.take({node * 8, 8});
  }
  return closed;
}

const std::vector<PoolSketch> kPools{{8, 8},   {16, 16}, {64, 64},  {256, 256}, {24, 8},
                                     {100, 4}, {6, 2},   {160, 32}, {192, 64}};

std::ostream& operator<<(std::ostream& out, const PoolSketch& pool) {
  return out << pool.gpus << " GPUs";
}

RC_GTEST_PROP(Rearrange, BlocksAreDisjointAlignedOpenAndOfTheWishedSize, ()) {
  const PoolSketch sketch = *rc::gen::elementOf(kPools);
  BlockMap map = any_pool(sketch);
  const auto wishes = any_wishes(map, std::min<std::uint32_t>(sketch.gpus, 64), false);
  const Blocks blocks = rearrange(wishes, map);
  RC_ASSERT(blocks.size() == wishes.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].is_none()) continue;
    RC_ASSERT(blocks[i].size == wishes[i].gpus);
    RC_ASSERT(blocks[i].first % blocks[i].size == 0U);  // so it does not straddle a node
    RC_ASSERT(map.is_free(blocks[i]));
    map.take(blocks[i]);
  }
}

// Closed nodes are blocks of 8: with them, sizes up to 8.
RC_GTEST_PROP(Rearrange, WhatFitsByCountFitsByPlace, ()) {
  const PoolSketch sketch = *rc::gen::elementOf(kPools);
  const BlockMap closed = any_pool(sketch);
  const bool all_open = closed.free_count() == sketch.gpus;
  const std::uint32_t largest =
      all_open ? sketch.smallest_tree : std::min<std::uint32_t>(sketch.smallest_tree, 8);
  const auto wishes = any_wishes(closed, largest, true);
  const Blocks blocks = rearrange(wishes, closed);
  for (std::size_t i = 0; i < blocks.size(); ++i) RC_ASSERT(blocks[i].size == wishes[i].gpus);
}

RC_GTEST_PROP(Rearrange, NobodyWhoKeepsItsSizeIsMovedIfThereIsRoomBesideThem, ()) {
  const PoolSketch sketch = *rc::gen::elementOf(kPools);
  const BlockMap closed = any_pool(sketch);
  const auto wishes = any_wishes(closed, std::min<std::uint32_t>(sketch.gpus, 16), false);
  BlockMap map = closed;
  std::vector<std::size_t> movers;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (wishes[i].gpus == 0) continue;
    if (wishes[i].present.size == wishes[i].gpus) {
      map.take(wishes[i].present);
    } else {
      movers.push_back(i);
    }
  }
  std::stable_sort(movers.begin(), movers.end(),
                   [&](std::size_t a, std::size_t b) { return wishes[a].gpus > wishes[b].gpus; });
  for (const std::size_t i : movers) {
    const GpuBlock near = enclosing(wishes[i].present, wishes[i].gpus);
    auto block =
        !wishes[i].present.is_none() && map.is_free(near) ? near : map.best_fit(wishes[i].gpus);
    RC_PRE(block.has_value());
    map.take(*block);
  }
  const Blocks blocks = rearrange(wishes, closed);
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (wishes[i].gpus > 0 && wishes[i].present.size == wishes[i].gpus)
      RC_ASSERT(blocks[i] == wishes[i].present);
  }
}

}  // namespace
}  // namespace weir::schedule
