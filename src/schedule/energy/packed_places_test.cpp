// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/packed_places.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

using Blocks = std::vector<GpuBlock>;

NodeRow row_of_nodes(std::uint32_t stride, const std::vector<bool>& is_awake) {
  return {stride, is_awake};
}

TEST(PackedPlaces, EmptiesTheNodeThatHasLeastToMove) {
  const std::vector<PackedWish> wishes{{{0, 1}, 1}, {{4, 2}, 2}};
  EXPECT_EQ(places_on_few_nodes(wishes, BlockMap{8}, row_of_nodes(4, {false, false})),
            (Blocks{{6, 1}, {4, 2}}));
}

TEST(PackedPlaces, WhoMayNotBeMovedStaysAndTheOtherComes) {
  const std::vector<PackedWish> wishes{{{0, 1}, 1, false}, {{4, 2}, 2}};
  EXPECT_EQ(places_on_few_nodes(wishes, BlockMap{8}, row_of_nodes(4, {false, false})),
            (Blocks{{0, 1}, {2, 2}}));
}

TEST(PackedPlaces, JoinsPromisesOnTheirNodes) {
  BlockMap closed{8};
  closed.take({4, 2});
  const std::vector<PackedWish> wishes{{{0, 2}, 2}};
  EXPECT_EQ(places_on_few_nodes(wishes, closed, row_of_nodes(4, {false, true})), (Blocks{{6, 2}}));
}

// Three GPUs in a row of four: the fourth place is closed and keeps nobody awake.
TEST(PackedPlaces, APlaceWithoutAGpuKeepsNoNodeAwake) {
  BlockMap closed{8};
  closed.take({3, 1});
  closed.take({7, 1});
  const std::vector<PackedWish> wishes{{{0, 1}, 1}, {{4, 1}, 1}};
  const Blocks blocks = places_on_few_nodes(wishes, closed, row_of_nodes(4, {false, false}));
  EXPECT_EQ(blocks[0].first / 4, blocks[1].first / 4);
}

// Jobs that stand where they may, promises and missing GPUs; what is wished can be had by count.
struct AnyPool {
  std::uint32_t stride = 1;
  BlockMap closed;
  std::vector<bool> is_awake;
  std::vector<PackedWish> wishes;

  std::vector<SizeWish> plain() const {
    std::vector<SizeWish> sizes;
    for (const PackedWish& wish : wishes) sizes.push_back({wish.present, wish.gpus});
    return sizes;
  }
  std::vector<GpuBlock> places() const {
    return places_on_few_nodes(wishes, closed, {stride, is_awake});
  }
  std::int64_t awake(const std::vector<GpuBlock>& blocks) const {
    std::vector<bool> awake = is_awake;
    for (const GpuBlock& block : blocks) {
      for (std::uint32_t slot = block.first; slot < block.end(); ++slot)
        awake[slot / stride] = true;
    }
    return std::count(awake.begin(), awake.end(), true);
  }
};

AnyPool any_pool_of_nodes() {
  AnyPool made;
  made.stride = *rc::gen::element<std::uint32_t>(2, 4, 8);
  const std::uint32_t nodes = *rc::gen::element<std::uint32_t>(2, 4, 8, 16);
  made.closed = BlockMap{nodes * made.stride};
  made.is_awake.assign(nodes, false);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const int fate = between(0, 8);
    if (fate == 0) made.closed.take({node * made.stride, made.stride});  // lost
    if (fate == 1) {                                                     // a promise
      made.closed.take({node * made.stride, made.stride / 2});
      made.is_awake[node] = true;
    }
  }
  const std::uint32_t largest = made.stride * *rc::gen::element<std::uint32_t>(1, 1, 2);
  BlockMap taken = made.closed;
  std::uint32_t wished = 0;
  for (int i = between(1, 24); i > 0; --i) {
    PackedWish wish;
    wish.may_be_moved = between(0, 3) > 0;
    const std::uint32_t size = any_power_of_two(largest);
    const GpuBlock block{between<std::uint32_t>(0, taken.gpu_count() / size) * size, size};
    if (between(0, 4) > 0 && taken.is_free(block)) {
      taken.take(block);
      wish.present = block;
    }
    wish.gpus = *rc::gen::weightedElement<std::uint32_t>(
        {{6, wish.present.size}, {2, any_power_of_two(largest)}, {1, 0}});
    if (wished + wish.gpus > made.closed.free_count()) wish.gpus = 0;
    wished += wish.gpus;
    made.wishes.push_back(wish);
  }
  return made;
}

TEST(PackedPlaces, BlocksAreDisjointOfTheWishedSizesAndNotClosed) {
  EXPECT_TRUE(rc::check("blocks", [] {
    const AnyPool made = any_pool_of_nodes();
    const auto blocks = made.places();
    RC_ASSERT(blocks.size() == made.wishes.size());
    BlockMap map = made.closed;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].is_none()) continue;
      RC_ASSERT(blocks[i].size == made.wishes[i].gpus);
      RC_ASSERT(blocks[i].first % blocks[i].size == 0);
      RC_ASSERT(map.is_free(blocks[i]));
      map.take(blocks[i]);
    }
  }));
}

TEST(PackedPlaces, WhoeverIsPlacedByRearrangeIsPlaced) {
  EXPECT_TRUE(rc::check("placed", [] {
    const AnyPool made = any_pool_of_nodes();
    const auto plain = rearrange(made.plain(), made.closed);
    const auto blocks = made.places();
    for (std::size_t i = 0; i < blocks.size(); ++i)
      RC_ASSERT(blocks[i].is_none() == plain[i].is_none());
  }));
}

// A forest of whole trees: half a node taken by a promise leaves one large enough.
TEST(PackedPlaces, WhatFitsByCountIsPlaced) {
  EXPECT_TRUE(rc::check("count", [] {
    AnyPool made = any_pool_of_nodes();
    made.closed = BlockMap{made.closed.gpu_count()};
    const auto blocks = made.places();
    for (std::size_t i = 0; i < blocks.size(); ++i)
      RC_ASSERT(blocks[i].is_none() == (made.wishes[i].gpus == 0));
  }));
}

TEST(PackedPlaces, NoMoreNodesAreAwakeThanWithoutPacking) {
  EXPECT_TRUE(rc::check("awake", [] {
    const AnyPool made = any_pool_of_nodes();
    RC_ASSERT(made.awake(made.places()) <= made.awake(rearrange(made.plain(), made.closed)));
  }));
}

TEST(PackedPlaces, NobodyWhoMayNotBeMovedIsMovedToLetANodeSleep) {
  EXPECT_TRUE(rc::check("stay", [] {
    const AnyPool made = any_pool_of_nodes();
    const auto plain = rearrange(made.plain(), made.closed);
    const auto blocks = made.places();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (made.wishes[i].may_be_moved || plain[i] != made.wishes[i].present) continue;
      RC_ASSERT(blocks[i] == plain[i]);
    }
  }));
}

}  // namespace
}  // namespace weir::schedule
