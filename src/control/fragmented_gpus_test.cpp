// SPDX-License-Identifier: Apache-2.0
#include "control/fragmented_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/store_testing.h"

namespace weir::control {
namespace {

using schedule::PoolState;
using schedule::TrainingState;
using ::testing::ElementsAre;
using ::testing::Pair;
using testing::small_cluster;

AskedSizes asked(std::initializer_list<std::int32_t> sizes, std::uint32_t largest = 1U << 16) {
  AskedSizes made;
  for (const std::int32_t size : sizes) made.add(size, largest);
  return made;
}

// A pool in which these blocks are taken.
TrainingState with_taken(int nodes, int gpus, const std::vector<GpuBlock>& blocks) {
  TrainingState state = schedule::initial_state_for_training(small_cluster(nodes, gpus)).training;
  for (const GpuBlock block : blocks) state.pools.front().closed.cover(block);
  return state;
}

TEST(AskedSizes, AreOfTheLatestJobs) {
  AskedSizes sizes;
  for (int i = 0; i < 150; ++i) sizes.add(4, 8);
  for (int i = 0; i < 120; ++i) sizes.add(1, 8);
  EXPECT_THAT(sizes.counts(), ElementsAre(Pair(1, 120), Pair(4, 80)));
  for (int i = 0; i < 200; ++i) sizes.add(2, 8);
  EXPECT_THAT(sizes.counts(), ElementsAre(Pair(2, 200)));
}

TEST(AskedSizes, ArePowersOfTwoThatTheClusterHas) {
  EXPECT_THAT(asked({1, 2, 3, 5, 8, 65'536}, 16).counts(),
              ElementsAre(Pair(1, 1), Pair(2, 1), Pair(4, 1), Pair(8, 2), Pair(16, 1)));
}

TEST(FragmentedGpus, WithoutJobsThereAreNone) {
  EXPECT_EQ(fragmented_gpus(with_taken(2, 4, {{0, 1}}), {}), 0);
}

// Two nodes of 8 GPUs; taken are 0, 5 and 8..11. Free are 1..4, 6..7 and 12..15: ten GPUs.
//   size 1: each is a block.
//   size 2: 2..3, 6..7, 12..13 and 14..15 are blocks; 1 and 4 are in none.
//   size 4: 12..15 is one; the other six are in none.
//   size 8, 16: none is free; all ten.
TEST(FragmentedGpus, AreThoseInNoFreeBlock) {
  const TrainingState state = with_taken(2, 8, {{0, 1}, {5, 1}, {8, 4}});
  EXPECT_EQ(fragmented_gpus(state, asked({1})), 0);
  EXPECT_EQ(fragmented_gpus(state, asked({2})), 2);
  EXPECT_EQ(fragmented_gpus(state, asked({4})), 6);
  EXPECT_EQ(fragmented_gpus(state, asked({8})), 10);
  EXPECT_EQ(fragmented_gpus(state, asked({16})), 10);
  EXPECT_EQ(fragmented_gpus(state, asked({1, 1, 2, 4})), (0 + 0 + 2 + 6) / 4.0);
}

TEST(FragmentedGpus, ABlockLargerThanANodeIsMadeOfWholeNodes) {
  // Nodes of 4: free are nodes 1, 2 and 3; only 2 and 3 make an aligned block of 8.
  const TrainingState state = with_taken(4, 4, {{0, 4}});
  EXPECT_EQ(fragmented_gpus(state, asked({8})), 4);
  // Nodes of 6 begin at multiples of 8: no two of them make a block.
  EXPECT_EQ(fragmented_gpus(with_taken(2, 6, {}), asked({16})), 12);
  EXPECT_EQ(fragmented_gpus(with_taken(2, 6, {}), asked({4})), 4) << "4..5 and 12..13";
}

// The same by looking at every GPU.
double plain_fragmented(const TrainingState& state, const std::vector<std::int32_t>& sizes) {
  double sum = 0;
  for (const PoolState& pool : state.pools) {
    std::vector<bool> is_free(pool.pool->slots());
    for (std::uint32_t slot = 0; slot < is_free.size(); ++slot) {
      is_free[slot] = pool.closed.is_free({slot, 1});
      for (const JobId id : pool.active) {
        if (state.job(id).block.contains({slot, 1})) is_free[slot] = false;
      }
    }
    for (const std::int32_t size : sizes) {
      for (std::uint32_t slot = 0; slot < is_free.size(); ++slot) {
        const auto width = static_cast<std::uint32_t>(size);
        const std::uint32_t first = slot / width * width;
        bool is_in_block = first + width <= is_free.size();
        for (std::uint32_t i = first; is_in_block && i < first + width; ++i)
          is_in_block = is_free[i];
        if (is_free[slot] && !is_in_block) ++sum;
      }
    }
  }
  return sizes.empty() ? 0 : sum / static_cast<double>(sizes.size());
}

TEST(FragmentedGpus, IsWhatAPlainCountSays) {
  double largest = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    testing::RandomWorld world{seed};
    schedule::Core core = world.new_core();
    SeededRng rng{seed};
    AskedSizes counted;
    std::vector<std::int32_t> sizes;
    for (int i = 0; i < 20; ++i) {
      sizes.push_back(1 << rng.below(6));
      counted.add(sizes.back(), 64);
    }
    for (int step = 0; step < 60; ++step) {
      core.handle(world.next_event(core));
      const double found = fragmented_gpus(core.state().training, counted);
      ASSERT_DOUBLE_EQ(found, plain_fragmented(core.state().training, sizes)) << seed;
      largest = std::max(largest, found);
    }
  }
  EXPECT_GT(largest, 4) << "the worlds have something to count";
}

}  // namespace
}  // namespace weir::control
