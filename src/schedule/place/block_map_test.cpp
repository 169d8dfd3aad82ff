// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/block_map.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

// The same as a plain list of GPUs.
class PlainMap {
 public:
  explicit PlainMap(std::uint32_t gpus) : is_taken_(gpus, false) {}

  std::uint32_t free_in(GpuBlock block) const {
    std::uint32_t free = 0;
    if (block.end() > is_taken_.size()) return 0;
    for (std::uint32_t gpu = block.first; gpu < block.end(); ++gpu) free += !is_taken_[gpu];
    return free;
  }
  void set(GpuBlock block, bool is_taken) {
    for (std::uint32_t gpu = block.first; gpu < block.end(); ++gpu) is_taken_[gpu] = is_taken;
  }
  // Of the free aligned blocks of that size: the one that lies in the smallest largest free aligned
  // block; the first of equals.
  std::optional<GpuBlock> best_fit(std::uint32_t size) const {
    std::optional<GpuBlock> best;
    std::uint32_t best_around = 0;
    for (GpuBlock block{0, size}; block.end() <= is_taken_.size(); block.first += size) {
      if (free_in(block) != size) continue;
      std::uint32_t around = size;
      while (free_in(enclosing(block, around * 2)) == around * 2) around *= 2;
      if (best && around >= best_around) continue;
      best = block;
      best_around = around;
    }
    return best;
  }

 private:
  std::vector<bool> is_taken_;
};

TEST(BlockMap, BreaksUpTheSmallestFreeBlock) {
  BlockMap map{16};
  map.take({0, 2});  // free: a pair at 2, a quad at 4, a node at 8
  EXPECT_EQ(map.best_fit(1), (GpuBlock{2, 1}));
  EXPECT_EQ(map.best_fit(2), (GpuBlock{2, 2}));
  EXPECT_EQ(map.best_fit(4), (GpuBlock{4, 4}));
  EXPECT_EQ(map.best_fit(8), (GpuBlock{8, 8}));
  EXPECT_EQ(map.best_fit(16), std::nullopt);
}

TEST(BlockMap, ARunOfFreeGpusThatIsNotAlignedIsNoBlock) {
  BlockMap map{8};
  map.take({0, 1});
  map.take({7, 1});  // 1..6 are free, but only 2..3 and 4..5 are aligned pairs
  EXPECT_EQ(map.free_count(), 6U);
  EXPECT_EQ(map.best_fit(4), std::nullopt);
  EXPECT_EQ(map.best_fit(2), (GpuBlock{2, 2}));
}

TEST(BlockMap, NothingReachesPastTheEndOfThePool) {
  const BlockMap map{6};
  EXPECT_EQ(map.best_fit(8), std::nullopt);
  EXPECT_EQ(map.free_in({4, 4}), 0U);
  EXPECT_FALSE(map.is_free({4, 4}));
  EXPECT_EQ(map.best_fit(1), (GpuBlock{4, 1}));  // the pair at the end, not the quad
}

TEST(BlockMap, AnEmptyPoolHasNoBlock) {
  EXPECT_EQ(BlockMap{}.best_fit(1), std::nullopt);
  EXPECT_EQ(BlockMap{0}.free_count(), 0U);
}

TEST(BlockMap, ANodeIsTakenFromTheSmallestFreeGroupOfNodesAlsoBeyondAWord) {
  BlockMap map{256};
  map.take({128, 64});  // free: 0..127 together, 192..255 alone
  EXPECT_EQ(map.best_fit(64), (GpuBlock{192, 64}));
  EXPECT_EQ(map.best_fit(8), (GpuBlock{192, 8}));
  EXPECT_EQ(map.best_fit(128), (GpuBlock{0, 128}));
}

TEST(BlockMap, CoversWhatIsPartlyTaken) {
  BlockMap map{8};
  map.take({2, 1});
  map.cover({0, 4});
  EXPECT_EQ(map.free_count(), 4U);
  EXPECT_EQ(map.free_in({0, 4}), 0U);
}

RC_GTEST_PROP(BlockMap, BehavesLikeAPlainListOfGpus, ()) {
  const auto gpus = *rc::gen::elementOf(
      std::vector<std::uint32_t>{1, 3, 6, 8, 24, 63, 64, 65, 100, 128, 192, 320, 512, 1280});
  BlockMap map{gpus};
  PlainMap plain{gpus};
  std::vector<GpuBlock> taken;
  std::uint32_t free = gpus;
  const int steps = between(1, 60);
  for (int step = 0; step < steps; ++step) {
    // Mostly whole words at first, so that large blocks become scarce too.
    const std::uint32_t size = any_power_of_two(256);
    const int what = between(0, 10);
    if (what < 4 && !taken.empty()) {
      const auto at = between<std::size_t>(0, taken.size());
      map.give_back(taken[at]);
      plain.set(taken[at], false);
      free += taken[at].size;
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (size <= gpus) {
      const GpuBlock block{between<std::uint32_t>(0, gpus / size) * size, size};
      RC_ASSERT(map.free_in(block) == plain.free_in(block));
      if (map.is_free(block)) {
        map.take(block);
        plain.set(block, true);
        free -= size;
        taken.push_back(block);
      }
    }
    RC_ASSERT(map.free_count() == free);
    for (std::uint32_t asked = 1; asked <= 256; asked *= 2)
      RC_ASSERT(map.best_fit(asked) == plain.best_fit(asked));
    const auto first = between<std::uint32_t>(0, gpus);
    const GpuBlock any{first, between<std::uint32_t>(0, gpus - first + 3)};
    RC_ASSERT(map.free_in(any) == plain.free_in(any));
  }
}

RC_GTEST_PROP(BlockMap, CoveringEqualsTakingWhatIsFree, ()) {
  const auto gpus = between<std::uint32_t>(1, 200);
  BlockMap covered{gpus};
  BlockMap taken{gpus};
  for (int i = 0; i < 6; ++i) {
    const auto first = between<std::uint32_t>(0, gpus);
    const GpuBlock block{first, between<std::uint32_t>(0, gpus - first + 1)};
    covered.cover(block);
    for (std::uint32_t gpu = block.first; gpu < block.end(); ++gpu) {
      if (taken.is_free({gpu, 1})) taken.take({gpu, 1});
    }
    RC_ASSERT(covered == taken);
  }
}

}  // namespace
}  // namespace weir::schedule
