// SPDX-License-Identifier: Apache-2.0
#include "network/flow_run.h"

#include <gtest/gtest.h>

#include "network/fair_rates_testing.h"

namespace weir::network {
namespace {

const std::vector<Hop> kFirstLink{{0, 1}};

TEST(FlowRun, AFlowAloneTakesItsBytesOverItsSlowestLink) {
  FlowRun run{std::vector<double>{10, 4}};
  const FlowIndex flow = run.start(std::vector<Hop>{{0, 1}, {1, 1}}, 100);
  const auto ended = run.advance();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0], flow);
  EXPECT_DOUBLE_EQ(run.now(), 25);
  EXPECT_TRUE(run.advance().empty());
}

TEST(FlowRun, WhoEndsFirstLeavesItsShareToTheOther) {
  // Both at 5 until the short one ends at 4 s; 40 bytes are left for the other, at 10.
  FlowRun run{std::vector<double>{10}};
  run.start(kFirstLink, 20);
  run.start(kFirstLink, 60);
  ASSERT_EQ(run.advance().size(), 1U);
  EXPECT_DOUBLE_EQ(run.now(), 4);
  ASSERT_EQ(run.advance().size(), 1U);
  EXPECT_DOUBLE_EQ(run.now(), 8);
}

TEST(FlowRun, EndsAtOneInstantComeTogether) {
  FlowRun run{std::vector<double>{3}};
  for (int i = 0; i < 3; ++i) run.start(kFirstLink, 7);
  EXPECT_EQ(run.advance().size(), 3U);
  EXPECT_EQ(run.commits(), 1U);
}

TEST(FlowRun, StopsAtATimeSomebodyElseIsWaitingFor) {
  FlowRun run{std::vector<double>{10}};
  const FlowIndex flow = run.start(kFirstLink, 100);
  EXPECT_TRUE(run.advance(4).empty());
  EXPECT_DOUBLE_EQ(run.now(), 4);
  EXPECT_DOUBLE_EQ(run.remaining(flow), 60);
}

TEST(FlowRun, NothingToMoveEndsAtOnceAndAStoppedFlowNever) {
  FlowRun run{std::vector<double>{10, 0}};
  run.start(kFirstLink, 0);
  run.start({}, 5);
  run.start(std::vector<Hop>{{1, 1}}, 5);
  EXPECT_EQ(run.advance().size(), 2U);
  EXPECT_DOUBLE_EQ(run.now(), 0);
  EXPECT_TRUE(run.advance().empty());
  EXPECT_EQ(run.active(), 1U);
}

TEST(FlowRun, ARouteMayChangeOnTheWay) {
  FlowRun run{std::vector<double>{10, 30}};
  const FlowIndex flow = run.start(kFirstLink, 100);
  run.advance(4);
  run.reroute(flow, std::vector<Hop>{{1, 1}});
  EXPECT_EQ(run.advance().size(), 1U);
  EXPECT_DOUBLE_EQ(run.now(), 6);
}

// Random flows; what each has moved is added up from the rates between commits.
TEST(FlowRun, DeliversWhatWasInjectedAndTimeNeverGoesBack) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SeededRng rng{seed};
    const auto capacities = testing::random_capacities(rng, 12);
    FlowRun run{capacities};
    std::vector<double> injected;
    std::vector<double> delivered;
    std::vector<bool> is_active;
    const auto start = [&] {
      const double bytes = rng.uniform() * 5;
      const FlowIndex flow = run.start(testing::random_path(rng, 12, false), bytes);
      if (flow >= injected.size()) {
        injected.resize(flow + 1);
        delivered.resize(flow + 1);
        is_active.resize(flow + 1);
      }
      injected[flow] = bytes;
      delivered[flow] = 0;
      is_active[flow] = true;
    };
    for (int i = 0; i < 30; ++i) start();
    double before = 0;
    for (int step = 0; step < 300; ++step) {
      run.commit();
      std::vector<double> rates(injected.size(), 0);
      for (FlowIndex flow = 0; flow < rates.size(); ++flow) {
        if (is_active[flow]) rates[flow] = run.rate(flow);
      }
      const auto ended = run.advance();
      ASSERT_GE(run.now(), before);
      for (FlowIndex flow = 0; flow < rates.size(); ++flow)
        delivered[flow] += rates[flow] * (run.now() - before);
      before = run.now();
      for (const FlowIndex flow : ended) {
        ASSERT_NEAR(delivered[flow], injected[flow], 1e-7);
        is_active[flow] = false;
      }
      for (std::size_t i = 0; i < ended.size(); ++i) start();
    }
  }
}

}  // namespace
}  // namespace weir::network
