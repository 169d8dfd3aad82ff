// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/node_packing.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "domain/seeded_rng.h"
#include "schedule/place/packing_search_testing.h"

namespace weir::schedule {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<PackItem> random_items(SeededRng& rng) {
  constexpr std::array<std::size_t, 8> kShares{230, 333, 400, 470, 500, 650, 810, 1000};
  std::vector<PackItem> items;
  const std::size_t count = 1 + rng.below(5);
  for (std::size_t i = 0; i < count; ++i) {
    PackItem item;
    item.gpus = rng.below(4) == 0 ? 2 : 1;
    item.gpu_share = item.gpus == 1 ? kShares[rng.below(kShares.size())] : 1000;
    item.cpu = rng.below(8);
    item.value = static_cast<std::int32_t>(rng.below(100));
    item.id = i;
    items.push_back(item);
  }
  return items;
}

struct Built {
  std::vector<PackItem> items;
  ShareLevels levels;
  PackingTable table;
};

Built built(std::vector<PackItem> items, std::size_t cpu_steps, std::size_t most_free) {
  prune_items(items);
  Built result{items, ShareLevels{items}, {}};
  result.table.build(result.items, result.levels, cpu_steps, most_free);
  return result;
}

TEST(PackingTable, IsAsGoodAsExhaustiveSearch) {
  SeededRng rng{11};
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const std::vector<PackItem> items = random_items(rng);
    const Built packing = built(items, 12, 3);
    const std::size_t cpu = rng.below(13);
    const std::size_t free = rng.below(4);
    EXPECT_EQ(packing.table.free_gpus(free)[cpu],
              best_by_search(items, std::vector<std::size_t>(free, 1000), cpu));
    const std::size_t share = rng.below(1001);
    std::vector<PackItem> of_one_gpu = items;
    std::erase_if(of_one_gpu, [](const PackItem& item) { return item.gpus > 1; });
    EXPECT_EQ(packing.table.one_gpu(packing.levels.level(share))[cpu],
              best_by_search(of_one_gpu, {share}, cpu));
  }
}

TEST(PackingTable, RecoversItemsThatFitAndHaveTheBestValue) {
  SeededRng rng{12};
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    const Built packing = built(random_items(rng), 16, 4);
    const std::size_t cpu = rng.below(17);
    const std::size_t free = rng.below(5);
    std::vector<PackItem> chosen;
    std::int32_t value = 0;
    for (const std::size_t i : packing.table.recover(packing.items, packing.levels, free, cpu)) {
      chosen.push_back(packing.items[i]);
      value += packing.items[i].value;
    }
    EXPECT_EQ(value, packing.table.free_gpus(free)[cpu]);
    EXPECT_TRUE(can_hold(std::vector<std::size_t>(free, 1000), cpu, chosen));
  }
}

TEST(PackingTable, TakesWholeGpusOnlyFromGpusThatAreWhole) {
  // Two GPUs, 4 steps of CPU. A pair is worth 10; a half 3, of which two fit on one GPU.
  const Built packing = built({{2, 1000, 2, 10, 0}, {1, 500, 1, 3, 1}}, 4, 2);
  EXPECT_EQ(packing.table.free_gpus(2)[4], 12);  // four halves
  EXPECT_EQ(packing.table.free_gpus(2)[3], 10);  // the pair; three halves are 9
  EXPECT_EQ(packing.table.free_gpus(1)[4], 6);
}

TEST(PruneItems, KeepsTheCheapestOfEqualValueAndDropsTheWorthless) {
  std::vector<PackItem> items{
      {2, 500, 1, 7, 0}, {1, 500, 1, 7, 1}, {1, 500, 1, 7, 2}, {0, 100, 1, 0, 3}};
  prune_items(items);
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items.front().id, 1U);
}

TEST(ShareLevels, AreTheSumsOfShares) {
  const std::vector<PackItem> items{{1, 400, 1, 1, 0}, {1, 300, 1, 1, 1}, {1, 1000, 2, 1, 2}};
  const ShareLevels levels{items};
  std::vector<std::size_t> shares;
  for (std::size_t level = 0; level < levels.size(); ++level) shares.push_back(levels.share(level));
  EXPECT_THAT(shares, ElementsAre(0, 300, 400, 600, 700, 800, 900, 1000));
  EXPECT_EQ(levels.share(levels.level(699)), 600U);
  EXPECT_EQ(levels.share(levels.whole()), 1000U);
}

TEST(CpuGrid, RoundsToHalfCores) {
  const CpuGrid grid{MilliCpu{96'000}};
  EXPECT_EQ(grid.rounded_down(MilliCpu{1'999}), 3U);
  EXPECT_EQ(grid.rounded_up(MilliCpu{1'501}), 4U);
  EXPECT_EQ(grid.rounded_up(MilliCpu{96'000}), 192U);
}

TEST(CpuGrid, CoarsensForHugeNodesAndCapsWhatNoNodeHas) {
  const CpuGrid grid{MilliCpu{1'000'000'000}};
  EXPECT_LE(grid.rounded_up(MilliCpu{1'000'000'000}), CpuGrid::kMostSteps);
  EXPECT_EQ(grid.rounded_up(MilliCpu{std::int64_t{1} << 60}), CpuGrid::kMostSteps + 1);
}

}  // namespace
}  // namespace weir::schedule
