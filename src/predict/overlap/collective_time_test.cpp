// SPDX-License-Identifier: Apache-2.0
#include "predict/overlap/collective_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::predict {
namespace {

TEST(CollectiveTime, SmallMessagesUseFewerChannels) {
  EXPECT_EQ(channels_used(32, 256 << 10), 8);
  EXPECT_EQ(channels_used(32, 1 << 20), 32);
  EXPECT_EQ(channels_used(64, 1 << 20), 32);
  EXPECT_EQ(channels_used(4, 1 << 20), 4);
  EXPECT_EQ(channels_used(4, 100), 1);
}

TEST(CollectiveTime, LatencyIsThatOfNcclsRing) {
  // 8.4 + 14 steps of 3.4.
  EXPECT_DOUBLE_EQ(collective_latency_us({.ranks = 8}, 1 << 20, 8), 56);
  // One rank a node: 8.4 + 14 steps of 14, 1.4 times because a rank's part of a channel is large.
  EXPECT_DOUBLE_EQ(collective_latency_us({.ranks = 8, .nodes = 8}, 1 << 20, 8), 1.4 * 204.4);
  EXPECT_DOUBLE_EQ(collective_latency_us({.ranks = 8, .nodes = 8}, 8 * 8 * 63, 8), 204.4);
  // 16 ranks on 2 nodes: 30 steps, 2 of them between nodes.
  EXPECT_DOUBLE_EQ(collective_latency_us({.ranks = 16, .nodes = 2}, 100, 8),
                   8.4 + 28 * 3.4 + 2 * 14);
  EXPECT_EQ(collective_latency_us({.ranks = 16, .latency_us = 5.0}, 100, 8), 5);
}

TEST(CollectiveTime, FallsUntilTheNetworkIsFullAndIsFlatThen) {
  const CollectiveSystem system{
      .ranks = 8, .network_gbps = 25, .channel_gbps = 6.25, .latency_us = 20.0};
  const auto ms = [&](int ctas) { return collective_ms(system, 40'000'000, ctas); };
  EXPECT_DOUBLE_EQ(ms(1), 0.02 + 1.75 * 40 / 6.25);
  EXPECT_DOUBLE_EQ(ms(2), 0.02 + 1.75 * 40 / 12.5);
  EXPECT_DOUBLE_EQ(ms(4), 0.02 + 1.75 * 40 / 25);
  EXPECT_EQ(ms(8), ms(4));
  EXPECT_EQ(ms(32), ms(4));
}

TEST(CollectiveTime, NothingIsSentWithoutBytesOrPartners) {
  EXPECT_EQ(collective_ms({}, 0, 4), 0);
  EXPECT_EQ(collective_ms({.ranks = 1}, 1000, 4), 0);
}

TEST(CollectiveTime, SlowerChannelsMatterOnlyWhereTheyAreTheLimit) {
  const CollectiveSystem system{.network_gbps = 50, .channel_gbps = 25, .channel_beside_gbps = 20};
  EXPECT_DOUBLE_EQ(beside_share(system, 1), 0.8);
  EXPECT_DOUBLE_EQ(beside_share(system, 2), 0.8);
  EXPECT_EQ(beside_share(system, 4), 1);
  EXPECT_EQ(beside_share({}, 1), 1);
}

RC_GTEST_PROP(CollectiveTimeLaws, NeverRisesWithCtasAndNeverFallsWithBytes, ()) {
  const CollectiveSystem system{.ranks = *rc::gen::inRange(2, 64),
                                .network_gbps = *rc::gen::inRange(1, 400) / 2.0,
                                .channel_gbps = *rc::gen::inRange(1, 100) / 2.0};
  const auto bytes = *rc::gen::inRange<std::int64_t>(1, 1 << 28);
  const int ctas = *rc::gen::inRange(1, 63);
  RC_ASSERT(collective_ms(system, bytes, ctas + 1) <= collective_ms(system, bytes, ctas));
  // A little more may pay for one more channel: compare where all are used.
  const std::int64_t large = bytes + (std::int64_t{ctas} << 15);
  RC_ASSERT(collective_ms(system, 2 * large, ctas) > collective_ms(system, large, ctas));
}

}  // namespace
}  // namespace weir::predict
