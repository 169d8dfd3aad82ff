// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/attention_grid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "predict/transformer/published_runs_testing.h"

namespace weir::predict {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

struct WorkedRow {
  std::int64_t sequence;
  std::int64_t kv_heads;
  AttentionGrid grid;
  std::int64_t query_mib;
  std::int64_t kv_mib;
  std::int64_t all_to_all_mib;
  std::int64_t ring_mib;
  double gflop_step;  // with one decimal
};

// LLaMA2-7B on 64 GPUs: every size worked by hand.
TEST(AttentionGrid, HasTheWorkedSizesOfLlama2OnSixtyFourGpus) {
  const std::int64_t k128 = 128 * 1024;
  const std::int64_t m1 = 1024 * 1024;
  for (const WorkedRow& row : {WorkedRow{k128, 32, {1, 64, 64}, 16, 32, 0, 2016, 34.4},
                               WorkedRow{k128, 32, {8, 8, 8}, 16, 32, 56, 224, 274.9},
                               WorkedRow{k128, 32, {32, 2, 2}, 16, 32, 62, 32, 1099.5},
                               WorkedRow{k128, 8, {1, 64, 64}, 16, 8, 0, 504, 34.4},
                               WorkedRow{k128, 8, {8, 8, 8}, 16, 8, 35, 56, 274.9},
                               WorkedRow{k128, 8, {32, 2, 2}, 16, 32, 62, 32, 1099.5},
                               WorkedRow{m1, 32, {8, 8, 8}, 128, 256, 448, 1792, 17592.2},
                               WorkedRow{m1, 8, {8, 8, 8}, 128, 64, 280, 448, 17592.2}}) {
    const AttentionVolume volume =
        attention_volume(llama2_7b(row.kv_heads), row.sequence, row.grid);
    EXPECT_EQ(volume.query_bytes, row.query_mib * kMiB);
    EXPECT_EQ(volume.kv_bytes, row.kv_mib * kMiB);
    EXPECT_EQ(volume.all_to_all_sent, row.all_to_all_mib * kMiB);
    EXPECT_EQ(volume.ring_sent, row.ring_mib * kMiB);
    EXPECT_NEAR(volume.flops_per_step / 1e9, row.gflop_step, 0.05);
  }
}

AttentionGrid any_grid(int most) {
  AttentionGrid grid;
  grid.context = *rc::gen::inRange(1, most);
  grid.head = *rc::gen::inRange(1, most);
  if (grid.context > 1 && grid.head > 1) grid.head += grid.head % 2;
  std::vector<int> windows;
  for (int w = 1; w <= grid.context; ++w) {
    if (grid.context % w == 0) windows.push_back(w);
  }
  grid.window = *rc::gen::elementOf(windows);
  grid.is_head_first = *rc::gen::arbitrary<bool>();
  return grid;
}

RC_GTEST_PROP(AttentionGridProperty, EveryChunkIsLoadedOnceAndPositionsGrow, ()) {
  const AttentionGrid grid = any_grid(9);
  std::set<int> loaded;
  for (int c = 0; c < grid.context; ++c) {
    std::vector<int> gathered;
    for (int h = 0; h < grid.head; ++h) {
      const auto [first, second] = token_chunks(grid, h, c);
      gathered.push_back(first);
      gathered.push_back(second);
      loaded.insert(first);
      loaded.insert(second);
    }
    RC_ASSERT(std::ranges::is_sorted(gathered));
    if (grid.context == 1) continue;
    // Of 2 d_cp coarse chunks, number c and number c from the end: causal work is then the same on all.
    const int fine = grid.head;
    for (int i = 0; i < fine; ++i) {
      RC_ASSERT(gathered[static_cast<std::size_t>(i)] == c * fine + i);
      RC_ASSERT(gathered[static_cast<std::size_t>(fine + i)] ==
                (2 * grid.context - 1 - c) * fine + i);
    }
  }
  RC_ASSERT(loaded.size() == static_cast<std::size_t>(2 * grid.gpus()));
  RC_ASSERT(*loaded.begin() == 0);
  RC_ASSERT(*loaded.rbegin() == 2 * grid.gpus() - 1);
}

TEST(AttentionGrid, LoadsTheChunksOfTheExample) {
  const AttentionGrid grid{2, 4, 1};
  EXPECT_EQ(token_chunks(grid, 0, 0), (std::pair{0, 1}));
  EXPECT_EQ(token_chunks(grid, 1, 0), (std::pair{14, 15}));
  EXPECT_EQ(token_chunks(grid, 1, 3), (std::pair{8, 9}));
}

TEST(AttentionGrid, RefusesWhatCannotBeSplit) {
  const TransformerModel gqa = llama2_7b(8);
  EXPECT_TRUE(is_possible(gqa, 1 << 17, {16, 4, 2}));   // KV heads twice
  EXPECT_FALSE(is_possible(gqa, 1 << 17, {12, 1, 1}));  // no divisor of 32
  EXPECT_FALSE(is_possible(gqa, 1 << 17, {8, 8, 3}));   // no divisor of 8
  EXPECT_FALSE(is_possible(gqa, 100, {8, 8, 1}));
  TransformerModel odd = llama_like(2, 96, 6, 6, 256, 1000);
  EXPECT_FALSE(is_possible(odd, 1 << 12, {3, 2, 1}));  // chunks would be lost
  EXPECT_TRUE(is_possible(odd, 3 << 12, {3, 1, 1}));
  odd.kv_heads = 2;
  EXPECT_FALSE(is_possible(odd, 3 << 12, {3, 1, 1}));  // neither divisor nor multiple of 2
}

RC_GTEST_PROP(AttentionGridProperty, ARingIsNeverFasterThanItsComputing, ()) {
  const AttentionGrid grid = any_grid(17);
  const double step = *rc::gen::inRange(1, 1000);
  // From nothing to twice what can be hidden, in quarters.
  const double inner = step * *rc::gen::inRange(0, 9) / 4;
  const double outer = grid.window * step * *rc::gen::inRange(0, 9) / 4;
  const double time = ring_seconds(grid, step, inner, outer);
  const double computing = grid.context * step;
  RC_ASSERT(time >= computing);
  const bool is_hidden =
      (grid.window == 1 || inner <= step) && (grid.windows() == 1 || outer <= grid.window * step);
  RC_ASSERT((time == computing) == is_hidden);
  RC_ASSERT(ring_seconds(grid, step, inner + 1, outer) >= time);
  RC_ASSERT(ring_seconds(grid, step, inner, outer + 1) >= time);
}

// The backward pass of a double ring, message by message: rank c = u w + v, outer steps of w inner ones.
struct Messages {
  int blocks = 0;
  int gradients_inner = 0;
  int gradients_outer = 0;
};
Messages walk_backward(const AttentionGrid& grid) {
  const int w = grid.window;
  const int windows = grid.windows();
  Messages sent;
  // Whose gradients each rank holds; everybody begins with his own.
  std::vector<int> held(static_cast<std::size_t>(grid.context));
  std::iota(held.begin(), held.end(), 0);
  std::vector<std::set<int>> added(held.size());  // by owner: who has computed with his block
  const auto pass_on = [&](auto next) {
    std::vector<int> arrived(held.size());
    for (int c = 0; c < grid.context; ++c)
      arrived[static_cast<std::size_t>(next(c))] = held[static_cast<std::size_t>(c)];
    held = arrived;
  };
  for (int j = 0; j < windows; ++j) {
    if (j < windows - 1) ++sent.blocks;  // to the next window
    for (int t = 0; t < w; ++t) {
      if (t < w - 1) ++sent.blocks;
      for (int c = 0; c < grid.context; ++c)
        added[static_cast<std::size_t>(held[static_cast<std::size_t>(c)])].insert(c);
      pass_on([&](int c) { return c / w * w + (c % w + 1) % w; });
      ++sent.gradients_inner;
    }
    pass_on([&](int c) { return (c + w) % grid.context; });
    ++sent.gradients_outer;
  }
  for (int c = 0; c < grid.context; ++c) {
    RC_ASSERT(held[static_cast<std::size_t>(c)] == c);  // home again
    RC_ASSERT(added[static_cast<std::size_t>(c)].size() == held.size());
  }
  return sent;
}

RC_GTEST_PROP(AttentionGridProperty, GradientsAreSentUntilTheyAreHome, ()) {
  const AttentionGrid grid = any_grid(17);
  RC_PRE(grid.context > 1);
  const Messages sent = walk_backward(grid);
  const GradientSends counted = gradient_sends(grid);
  RC_ASSERT(counted.inner == sent.gradients_inner);
  RC_ASSERT(counted.outer == sent.gradients_outer);
  RC_ASSERT(sent.blocks == grid.context - 1);
  // d_cp + W of Size(dkv), d_cp - 1 of Size(kv).
  const AttentionVolume volume =
      attention_volume(llama2_7b(8), std::int64_t{grid.gpus()} << 10, grid);
  RC_ASSERT(counted.inner + counted.outer == grid.context + grid.windows());
  RC_ASSERT(volume.ring_sent_backward ==
            (grid.context - 1 + grid.context + grid.windows()) * volume.kv_bytes);
}

// P8 of the backward pass: never faster than its computing and the gradients' way home, and exactly that when all else is
// hidden.
RC_GTEST_PROP(AttentionGridProperty, ABackwardRingTakesItsComputingAndTheWayHome, ()) {
  const AttentionGrid grid = any_grid(17);
  const double step = 4 * *rc::gen::inRange(1, 1000);
  const double inner = grid.window == 1 ? 0 : step * *rc::gen::inRange(0, 5) / 4;
  const double outer = grid.windows() == 1 ? 0 : step * *rc::gen::inRange(0, 5) / 4;
  const RingHops hops{inner, 2 * inner, outer, 2 * outer};
  const double time = ring_backward_seconds(grid, step, hops);
  if (grid.context == 1) {
    RC_ASSERT(time == step);
    return;
  }
  const double least = grid.context * step + hops.way_home();
  RC_ASSERT(time >= least);
  const bool hides_inside = grid.window == 1 || hops.inner_both <= step;
  const bool hides_home = grid.windows() == 1 || hops.way_home() <= step;
  const bool hides_between = (grid.windows() == 1 || outer <= grid.window * step) &&
                             (grid.windows() <= 2 || hops.outer_both <= grid.window * step);
  RC_ASSERT((time == least) == (hides_inside && hides_home && hides_between));
  for (double RingHops::*hop :
       {&RingHops::inner, &RingHops::inner_both, &RingHops::outer, &RingHops::outer_both}) {
    RingHops slower = hops;
    slower.*hop += 1;
    RC_ASSERT(ring_backward_seconds(grid, step, slower) >= time);
  }
}

TEST(AttentionGrid, SendsBetweenNodesWithAsManyCardsAsThePlacementUses) {
  const Fabric fabric{8, 200e9, 25e9, 4};
  const double block = 1e9;
  // Head-first with eight heads: every GPU's next one is on another node, and eight share four cards.
  EXPECT_NEAR(outer_hop_seconds(fabric, {8, 8, 1, true}, block), 1e9 / 12.5e9, 1e-4);
  // A single ring over neighbours: one GPU of the node sends, with one card.
  EXPECT_NEAR(inner_hop_seconds(fabric, {1, 64, 64, true}, block), 1e9 / 25e9, 1e-4);
  // Windows of a node: links inside, all eight to the next node.
  EXPECT_NEAR(inner_hop_seconds(fabric, {1, 64, 8, true}, block), 1e9 / 200e9, 1e-4);
  EXPECT_NEAR(outer_hop_seconds(fabric, {1, 64, 8, true}, block), 1e9 / 12.5e9, 1e-4);
  // Context-first: the ring of eight stays on the node.
  EXPECT_NEAR(outer_hop_seconds(fabric, {8, 8, 1, false}, block), 1e9 / 200e9, 1e-4);
}

}  // namespace
}  // namespace weir::predict
