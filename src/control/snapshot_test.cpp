// SPDX-License-Identifier: Apache-2.0
#include "control/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "control/store_testing.h"
#include "domain/source_folder_testing.h"

namespace weir::control {
namespace {

using schedule::Core;
using schedule::State;
using testing::difference;
using testing::RandomWorld;

State state_after(RandomWorld& world, int events) {
  Core core = world.new_core();
  for (int i = 0; i < events; ++i) core.handle(world.next_event(core));
  return core.fork_state();
}

TEST(Snapshot, ReadsBackEqualAfterAnyHistory) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    RandomWorld world{seed};
    const State state = state_after(world, 20 + static_cast<int>(seed) % 100);
    const std::string bytes = write_snapshot(state);
    const auto read = read_snapshot(bytes, world.initial_state());
    ASSERT_TRUE(read) << "seed " << seed << ": " << testing::error_of(read);
    ASSERT_EQ(difference(state, *read), "") << "seed " << seed;
    ASSERT_EQ(write_snapshot(*read), bytes) << "seed " << seed;
  }
}

TEST(Snapshot, ACoreRebuiltFromASnapshotDecidesTheSame) {
  for (std::uint64_t seed = 0; seed < 60u * static_cast<unsigned>(testing::times_longer());
       ++seed) {
    // Among them policies that go by what they remember of a job.
    const char* const policies[] = {"weir", "gandiva", "green", "edf", "weir", "tiresias"};
    const char* policy = policies[seed % std::size(policies)];
    RandomWorld world{seed, policy};
    Core core = world.new_core();
    for (int i = 0; i < 40; ++i) core.handle(world.next_event(core));
    Core twin{world.config(),
              read_snapshot(write_snapshot(core.state()), world.initial_state()).value()};
    for (int i = 0; i < 60; ++i) {
      const Event event = world.next_event(core);
      const auto records = core.handle(event);
      ASSERT_EQ(twin.handle(event), records) << "seed " << seed << " step " << i;
      ASSERT_EQ(difference(core.state(), twin.state()), "") << "seed " << seed << " step " << i;
    }
    ASSERT_EQ(core.training_index(), twin.training_index()) << "seed " << seed;
    ASSERT_EQ(core.wake_up(), twin.wake_up()) << "seed " << seed;
  }
}

TEST(Snapshot, WhatWasSharedIsSharedAgain) {
  RandomWorld world{1};
  State state = state_after(world, 60);
  auto& curves = state.training.pools.front().curves;
  ASSERT_FALSE(curves.empty());
  curves[{"same", 1}] = curves.begin()->second;
  const auto read = read_snapshot(write_snapshot(state), world.initial_state());
  ASSERT_TRUE(read);
  auto again = read->training.pools.front().curves;
  EXPECT_EQ((again[{"same", 1}]), again.begin()->second);
}

TEST(Snapshot, AJobThatIsOverTakesThreeBytes) {
  RandomWorld world{1};
  Core core = world.new_core();
  const std::size_t before = write_snapshot(core.state()).size();
  constexpr int kJobs = 200;
  for (int i = 1; i <= kJobs; ++i) {
    TrainingSpec spec;
    spec.name = "a job with a long name that nobody needs any more";
    spec.curve = {"nobody knows", 1};
    spec.iterations = 1000;
    core.handle({world.now(), TrainingSubmitted{spec}});
    core.handle({world.now(), JobCancelled{JobId{static_cast<std::uint64_t>(i)}}});
  }
  EXPECT_LE(write_snapshot(core.state()).size() - before, kJobs * 3 + 16);
}

TEST(Snapshot, OfAnotherClusterIsRefused) {
  RandomWorld world{7};
  const std::string bytes = write_snapshot(state_after(world, 30));
  const State other = schedule::initial_state_for_training(testing::small_cluster(9, 8),
                                                           schedule::SizeRule::useful);
  EXPECT_THAT(testing::error_of(read_snapshot(bytes, other)),
              ::testing::HasSubstr("another cluster"));
}

// Snapshots of versions before are kept in tests/fixtures/snapshot.
std::string written_before(const std::string& name) {
  const auto path = source_folder() / "tests/fixtures/snapshot";
  std::ostringstream bytes;
  bytes << std::ifstream{path / name, std::ios::binary}.rdbuf();
  return bytes.str();
}

// Written before jobs' service was remembered.
TEST(Snapshot, OfTheFirstVersionIsReadAndItsJobsBeginToRememberAnew) {
  const auto read = read_snapshot(written_before("v1.bytes"), RandomWorld{7}.initial_state());
  ASSERT_TRUE(read) << testing::error_of(read);
  const auto& training = read->training;
  ASSERT_FALSE(training.pools.front().active.empty());
  for (const JobId id : training.pools.front().active) {
    EXPECT_EQ(training.job(id).served.since, training.job(id).observed_at);
    EXPECT_EQ(training.job(id).served.running, Duration{0});
  }
  EXPECT_EQ(write_snapshot(*read)[8], 6) << "written in the present version";
}

// Written before tenants had budgets.
TEST(Snapshot, OfTheFourthVersionIsReadWithItsBudget) {
  const auto read =
      read_snapshot(written_before("v4.bytes"), RandomWorld{14, "green"}.initial_state());
  ASSERT_TRUE(read) << testing::error_of(read);
  const schedule::EnergyAccount& account = read->training.energy;
  EXPECT_NEAR(account.budget.used, 0.284302, 1e-6);
  EXPECT_EQ(account.budget.price_nanos, 6'679'941'200'613);
  EXPECT_EQ(account.since, schedule::testing::at_second(3859));
  EXPECT_TRUE(account.of_tenants.empty());
  EXPECT_EQ(read->training.pools.front().iterations_seen.size(), 4U);
  EXPECT_EQ(read->training.pools.front().iterations_seen.begin()->first.payer, "");
}

// Written before jobs had links of their own.
TEST(Snapshot, OfTheVersionBeforeLinksIsReadAndGoesOn) {
  const RandomWorld world{14, "green"};
  const auto read = read_snapshot(written_before("v5.bytes"), world.initial_state());
  ASSERT_TRUE(read) << testing::error_of(read);
  EXPECT_EQ(read->training.network, nullptr);
  EXPECT_FALSE(read->training.pools.front().active.empty());
  const auto again = read_snapshot(write_snapshot(*read), world.initial_state());
  ASSERT_TRUE(again) << testing::error_of(again);
  EXPECT_EQ(difference(*read, *again), "") << "written in the present version";
}

TEST(Snapshot, OfANewerVersionIsRefused) {
  RandomWorld world{7};
  std::string bytes = write_snapshot(state_after(world, 30));
  bytes[8] = 9;
  EXPECT_THAT(testing::error_of(read_snapshot(bytes, world.initial_state())),
              ::testing::HasSubstr("version 9"));
}

TEST(Snapshot, TruncatedOrFlippedIsAnErrorEverywhere) {
  RandomWorld world{3};
  const State initial = world.initial_state();
  const std::string bytes = write_snapshot(state_after(world, 80));
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 64)
    EXPECT_FALSE(read_snapshot(std::string_view{bytes}.substr(0, size), initial)) << size;
  for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 2000) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    EXPECT_FALSE(read_snapshot(flipped, initial)) << at;
  }
}

// The checksum keeps damage out; behind it, bytes that were made on purpose must not crash either.
TEST(Snapshot, BytesWithARightChecksumAreReadOrRefused) {
  RandomWorld world{3};
  const State initial = world.initial_state();
  const std::string bytes = write_snapshot(state_after(world, 80));
  SeededRng rng{11};
  for (int i = 0; i < 3000 * testing::times_longer(); ++i) {
    std::string made = bytes.substr(0, bytes.size() - 4);
    for (std::uint64_t k = 0; k <= rng.below(3); ++k)
      made[9 + rng.below(made.size() - 9)] = static_cast<char>(rng.next());
    if (rng.below(4) == 0) made.resize(9 + rng.below(made.size() - 9));
    auto checksum =
        crc32(0, reinterpret_cast<const Bytef*>(made.data()), static_cast<uInt>(made.size()));
    for (int k = 0; k < 4; ++k, checksum >>= 8U) made += static_cast<char>(checksum & 0xffU);
    auto read = read_snapshot(made, initial);
    if (read) {
      const Core core{world.config(), std::move(*read)};
      (void)core;
    }
  }
}

TEST(Snapshot, GangsThatWeirPlacesItselfHaveNone) {
  State state = schedule::initial_state(
      schedule::make_layout(testing::small_cluster(1, 1),
                            schedule::listed_order(testing::small_cluster(1, 1))),
      TargetWorkload{}, false);
  EXPECT_NE(write_snapshot(state), "");
  evolve(state, Record{Time{}, {}, JobAccepted{JobId{1}, ShapeIndex{0}, Shape{}, 2}});
  EXPECT_EQ(write_snapshot(state), "");
  EXPECT_FALSE(read_snapshot("", state));
}

State nothing_observed() {
  return schedule::initial_state(schedule::make_layout(Cluster{}, {}), TargetWorkload{}, false);
}

// Nodes and tasks of another scheduler, in any phase.
State any_observed() {
  State state = nothing_observed();
  const auto add = [&](decltype(Record::what) what) {
    evolve(state, Record{Time{}, {ReasonCode::observed, 0}, std::move(what)});
  };
  std::vector<ObservedNode> nodes;
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 5);
  for (std::uint64_t id = 1; id <= count; ++id) {
    nodes.push_back({NodeId{id * 1'000'003}, "", "", "", "", MilliCpu{*rc::gen::inRange(0, 9000)},
                     Mebibytes{1000}, 4, GpuModelId{1}, *rc::gen::arbitrary<bool>()});
  }
  add(NodesKnown{std::make_shared<const std::vector<ObservedNode>>(nodes)});
  const Shape whole{MilliCpu{1000}, Mebibytes{1}, 1, kWholeGpu, {}};
  const Shape share{MilliCpu{1}, Mebibytes{1}, 1, MilliGpu{300}, {}};
  const auto tasks = *rc::gen::inRange<std::uint64_t>(1, 30);
  for (std::uint64_t id = 1; id <= tasks; ++id) {
    const bool is_whole = id % 2 == 1;
    add(JobAccepted{JobId{id}, ShapeIndex{is_whole ? 0U : 1U}, is_whole ? whole : share, 1});
    add(JobQueued{JobId{id}});
    const auto course = *rc::gen::inRange(0, 4);
    if (course == 0) continue;
    if (course == 1) {
      add(JobRejected{JobId{id}});
      continue;
    }
    for (std::uint32_t at = 0; at < count * 4; ++at) {
      const NodeIndex node{at / 4};
      GpuMask gpus;
      gpus.insert(static_cast<int>(at % 4));
      if (state.nodes[node.value].free_gpu[at % 4] < (is_whole ? 1000 : 300)) continue;
      add(JobPlaced{JobId{id}, PlacementList{Placement{node, gpus}}});
      if (course == 2) add(JobReleased{JobId{id}});
      break;
    }
  }
  return state;
}

RC_GTEST_PROP(ObservedSnapshot, ReadsBackTheSame, ()) {
  const State state = any_observed();
  const std::string bytes = write_snapshot(state);
  const auto read = read_snapshot(bytes, nothing_observed());
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->nodes.size() == state.nodes.size());
  for (std::size_t i = 0; i < state.nodes.size(); ++i) RC_ASSERT(read->nodes[i] == state.nodes[i]);
  RC_ASSERT(read->jobs.size() == state.jobs.size());
  for (std::size_t i = 0; i < state.jobs.size(); ++i) RC_ASSERT(read->jobs[i] == state.jobs[i]);
  RC_ASSERT(read->queue.head() == state.queue.head());
  RC_ASSERT(read->layout->index_of == state.layout->index_of);
  RC_ASSERT(write_snapshot(*read) == bytes);
}

// Also with a checksum that fits: what does not hang together is refused, never used.
RC_GTEST_PROP(ObservedSnapshot, AnotherByteIsRefused, ()) {
  std::string bytes = write_snapshot(any_observed());
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ *rc::gen::inRange(1, 256));
  RC_ASSERT(!read_snapshot(bytes, nothing_observed()));
}

TEST(ObservedSnapshot, IsNotReadForTrainingJobs) {
  const std::string bytes = write_snapshot(schedule::initial_state(
      schedule::make_layout(testing::small_cluster(1, 1),
                            schedule::listed_order(testing::small_cluster(1, 1))),
      TargetWorkload{}, false));
  EXPECT_FALSE(
      read_snapshot(bytes, schedule::initial_state_for_training(testing::small_cluster(1, 1))));
}

}  // namespace
}  // namespace weir::control
