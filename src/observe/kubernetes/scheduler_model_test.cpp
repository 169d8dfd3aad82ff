// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/scheduler_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "observe/kubernetes/cluster_testing.h"

namespace weir::observe {
namespace {

using testing::ClusterBuilder;

struct Table {
  explicit Table(const ClusterBuilder& builder) : cluster{builder.objects}, model{cluster} {}
  ShapeId shape(const Pod& pod) {
    const auto id = model.shape_of(pod);
    model.make_placeable(id, pod);
    return id;
  }
  ClusterModel cluster;
  SchedulerModel model;
};

TEST(SchedulerPlay, TakesTheNodeWithTheMostFreeCpuAndMemory) {
  ClusterBuilder builder;
  builder.node("busy", 8);
  builder.node("free", 8);
  builder.pod("there", 1, "busy", 32);
  const auto pod = builder.pod("waits", 1);
  Table table{builder};
  const auto shape = table.shape(pod);
  SchedulerPlay play{table.model, SeededRng{1}};
  const auto node = play.submit(0, shape, 0);
  ASSERT_TRUE(node);
  EXPECT_EQ(table.cluster.node(*node).object->meta.name, "free");
}

TEST(SchedulerPlay, AnEndStartsTheFirstOfEqualPodsAndNoMoreThanFit) {
  ClusterBuilder builder;
  builder.node("n1", 8);
  const auto pod = builder.pod("waits", 8);
  Table table{builder};
  const auto shape = table.shape(pod);
  SchedulerPlay play{table.model, SeededRng{1}};
  const auto node = play.submit(0, shape, 0);
  ASSERT_TRUE(node);
  EXPECT_FALSE(play.submit(1, shape, 1));
  EXPECT_FALSE(play.submit(2, shape, 2));
  std::vector<SchedulerPlay::Start> starts;
  play.release(shape, *node, 100, starts);
  ASSERT_EQ(starts.size(), 1);
  EXPECT_EQ(starts.front().item, 1);
  EXPECT_EQ(play.waiting(), 1);
}

TEST(SchedulerPlay, PriorityGoesFirstAndSmallPodsPassLargeOnes) {
  ClusterBuilder builder;
  builder.node("n1", 8);
  const auto large = builder.pod("large", 8);
  const auto small = builder.pod("small", 2);
  auto urgent = small;
  urgent.priority = 10;
  Table table{builder};
  const auto large_shape = table.shape(large);
  const auto small_shape = table.shape(small);
  const auto urgent_shape = table.shape(urgent);
  SchedulerPlay play{table.model, SeededRng{1}};
  std::vector<NodeIndex> nodes;
  for (ItemId i = 0; i < 4; ++i) nodes.push_back(*play.submit(i, small_shape, 0));
  EXPECT_FALSE(play.submit(10, large_shape, 1));
  EXPECT_FALSE(play.submit(11, small_shape, 2));
  EXPECT_FALSE(play.submit(12, urgent_shape, 3));
  std::vector<SchedulerPlay::Start> starts;
  play.release(small_shape, nodes[0], 100, starts);
  ASSERT_EQ(starts.size(), 1);
  EXPECT_EQ(starts.front().item, 12);
  play.release(small_shape, nodes[1], 200, starts);
  ASSERT_EQ(starts.size(), 2);
  EXPECT_EQ(starts.back().item, 11);
}

// Never more on a node than it has, and nothing waits that would fit somewhere.
RC_GTEST_PROP(SchedulerPlay, KeepsCapacityAndLeavesNoRoomUnused, ()) {
  SeededRng rng{*rc::gen::arbitrary<std::uint64_t>()};
  ClusterBuilder builder;
  const auto nodes = 1 + rng.below(4);
  for (std::uint64_t i = 0; i < nodes; ++i) builder.node("n" + std::to_string(i), 8, 16);
  std::vector<Pod> kinds;
  for (int i = 0; i < 5; ++i) {
    kinds.push_back(builder.pod("kind-" + std::to_string(i),
                                static_cast<std::int64_t>(rng.below(9)), "",
                                static_cast<std::int64_t>(1 + rng.below(12))));
    if (rng.below(3) == 0) kinds.back().node_selector = {{"kubernetes.io/hostname", "n0"}};
  }
  Table table{builder};
  std::vector<ShapeId> shapes;
  for (const auto& kind : kinds) shapes.push_back(table.shape(kind));
  SchedulerPlay play{table.model, SeededRng{rng.next()}};
  std::vector<std::pair<std::size_t, NodeIndex>> running;
  std::map<ItemId, std::size_t> waiting;
  const auto gpus = [&](std::size_t kind) {
    const auto* quantity = kinds[kind].requests.find(kNvidiaGpu);
    return quantity != nullptr ? quantity->units_rounded_up() : 0;
  };
  for (ItemId item = 0; item < 60; ++item) {
    const double now = item;
    if (rng.below(2) == 0 && !running.empty()) {
      const auto at = rng.below(running.size());
      const auto [kind, node] = running[at];
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      std::vector<SchedulerPlay::Start> starts;
      play.release(shapes[kind], node, now, starts);
      for (const auto& start : starts) {
        running.emplace_back(waiting.at(start.item), start.node);
        waiting.erase(start.item);
      }
    }
    const auto kind = rng.below(kinds.size());
    if (const auto node = play.submit(item, shapes[kind], now)) {
      running.emplace_back(kind, *node);
    } else {
      waiting[item] = kind;
    }
    std::map<NodeIndex, std::pair<Amount, Amount>> used;
    for (const auto& [one, node] : running) {
      used[node].first += gpus(one);
      used[node].second += kinds[one].requests.find("cpu")->units_rounded_up();
    }
    for (const auto& [node, amounts] : used) RC_ASSERT(amounts.first <= 8 && amounts.second <= 16);
    RC_ASSERT(play.waiting() == waiting.size());
    for (const auto& [one, of_kind] : waiting) {
      for (NodeIndex node = 0; node < nodes; ++node) {
        const bool takes = kinds[of_kind].node_selector.empty() || node == 0;
        RC_ASSERT(!takes || !play.fits(shapes[of_kind], node));
      }
    }
  }
}

}  // namespace
}  // namespace weir::observe
