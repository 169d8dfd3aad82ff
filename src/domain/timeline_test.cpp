// SPDX-License-Identifier: Apache-2.0
#include "domain/timeline.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

Time second(std::int64_t number) {
  return Time{from_seconds(number)};
}

const GpuBlock kPair{2, 2};
const GpuBlock kNode{8, 8};

// Two GPUs, a pause, a node.
Timeline a_timeline() {
  return {{{second(10), kPair}, {second(20), kNoGpus}, {second(30), kNode}}, second(40)};
}

TEST(Timeline, TheBlockAtATimeIsTheOneOfTheStepThatHoldsIt) {
  const Timeline timeline = a_timeline();
  EXPECT_EQ(timeline.block_at(second(10)), kPair);
  EXPECT_EQ(timeline.block_at(second(20) - Duration{1}), kPair);
  EXPECT_EQ(timeline.block_at(second(20)), kNoGpus);
  EXPECT_EQ(timeline.block_at(second(39)), kNode);
}

TEST(Timeline, HasNoGpusBeforeItBeginsAndFromItsEndOn) {
  EXPECT_EQ(a_timeline().block_at(second(9)), kNoGpus);
  EXPECT_EQ(a_timeline().block_at(second(40)), kNoGpus);
  EXPECT_EQ(Timeline{}.block_at(second(0)), kNoGpus);
}

TEST(Timeline, TheNextChangeIsStrictlyLaterAndTheEndIsOne) {
  const Timeline timeline = a_timeline();
  EXPECT_EQ(timeline.next_change(second(0)), second(10));
  EXPECT_EQ(timeline.next_change(second(10)), second(20));
  EXPECT_EQ(timeline.next_change(second(29)), second(30));
  EXPECT_EQ(timeline.next_change(second(30)), second(40));
  EXPECT_EQ(timeline.next_change(second(40)), Time::max());
  EXPECT_EQ(Timeline{}.next_change(second(0)), Time::max());
}

TEST(Timeline, AnEndBeforeTheNextStepComesFirst) {
  Timeline timeline = a_timeline();
  timeline.end = second(25);
  EXPECT_EQ(timeline.next_change(second(20)), second(25));
  EXPECT_EQ(timeline.block_at(second(30)), kNoGpus);
}

TEST(GpuBlock, OverlapsAndContains) {
  EXPECT_TRUE(GpuBlock(0, 4).overlaps({2, 2}));
  EXPECT_FALSE(GpuBlock(0, 4).overlaps({4, 4}));
  EXPECT_FALSE(GpuBlock(0, 4).overlaps(kNoGpus));
  EXPECT_TRUE(GpuBlock(0, 4).contains({2, 2}));
  EXPECT_FALSE(GpuBlock(0, 4).contains({2, 4}));
}

}  // namespace
}  // namespace weir
