// SPDX-License-Identifier: Apache-2.0
//
// The network in the core: who has which links follows from events, whichever policy decides.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "domain/seeded_rng.h"
#include "schedule/core/core.h"
#include "schedule/network_testing.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"
#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

const CurveKey kRing{"ring", 1};
const CurveKey kExperts{"experts", 1};

NetworkTerms terms_of(NetworkPlacement placement, std::int32_t leaves, std::int32_t nodes_per_leaf,
                      std::int32_t spines) {
  NetworkTerms terms;
  terms.placement = placement;
  terms.fabrics = {{PoolIndex{0}, leaves, nodes_per_leaf, spines, 1,
                    placement == NetworkPlacement::isolated_optical ? 2 : 0}};
  terms.kinds = {{"", 100'000, 0, 0, false}, {"experts", 70'000, 260'000, 16'000, true}};
  return terms;
}

Curve wide_curve() {
  return a_curve({{1, 10}, {2, 19}, {4, 36}, {8, 66}, {16, 120}, {32, 210}});
}

Core core_of(const std::string& policy, int nodes, int gpus) {
  std::vector<Node> listed;
  for (int i = 0; i < nodes; ++i)
    listed.push_back(listed_node(static_cast<std::uint64_t>(i + 1), 64, gpus));
  CoreConfig config;
  config.policy = placement_policies().front().policy;
  config.training_policy = find_training_policy(policy);
  Core made{config, initial_state_for_training(cluster_of(std::move(listed)),
                                               config.training_policy->size_rule())};
  for (const CurveKey& key : {kRing, kExperts})
    made.handle({at_second(0), CurveUpdated{PoolIndex{0}, key, wide_curve()}});
  return made;
}

TrainingSpec rigid(std::int32_t gpus, const CurveKey& curve = kExperts) {
  TrainingSpec spec;
  spec.curve = curve;
  spec.iterations = 100'000;
  spec.asked_gpus = gpus;
  spec.is_rigid = true;
  return spec;
}

struct NetworkWorld {
  Core core;
  std::int64_t second = 1;

  template <class What>
  std::vector<Record> tell(What what) {
    return core.handle({at_second(second), std::move(what)});
  }
  void submit(const TrainingSpec& spec) {
    tell(TrainingSubmitted{spec});
    decide();
  }
  std::vector<Record> decide() {
    auto records = tell(TimerFired{});
    EXPECT_EQ(trouble_after_a_decision(core.state().training), "");
    return records;
  }
  const TrainingJob& job(std::uint64_t id) const { return core.state().training.job(JobId{id}); }
};

// 4 leaves of 2 nodes of 4 GPUs.
NetworkWorld even_world(NetworkPlacement placement) {
  NetworkWorld world{core_of("fifo", 8, 4)};
  world.tell(NetworkConfigured{terms_of(placement, 4, 2, 8)});
  return world;
}

TEST(TrainingNetwork, TermsMustFitThePools) {
  NetworkWorld world{core_of("fifo", 8, 4)};
  const auto told = [&](const NetworkTerms& terms) {
    return world.tell(NetworkConfigured{terms}).front().reason.code;
  };
  const auto good = terms_of(NetworkPlacement::isolated, 4, 2, 8);
  EXPECT_EQ(told(NetworkTerms{}), ReasonCode::already_so) << "nobody asks, as before";
  EXPECT_EQ(told(terms_of(NetworkPlacement::isolated, 3, 2, 8)), ReasonCode::malformed)
      << "two nodes have no leaf";
  NetworkTerms wrong = good;
  wrong.fabrics.front().pool = PoolIndex{7};
  EXPECT_EQ(told(wrong), ReasonCode::malformed);
  wrong = good;
  wrong.fabrics.push_back(wrong.fabrics.front());
  EXPECT_EQ(told(wrong), ReasonCode::malformed) << "a pool twice";
  wrong = good;
  wrong.fabrics.front().spine_ports = 2;
  EXPECT_EQ(told(wrong), ReasonCode::malformed) << "circuits that nobody asked for";
  wrong = good;
  wrong.fabrics.front().spines = -1;
  EXPECT_EQ(told(wrong), ReasonCode::malformed);
  wrong = good;
  wrong.kinds.front().all_reduce = 2'000'000;
  EXPECT_EQ(told(wrong), ReasonCode::malformed) << "more than an iteration";
  EXPECT_EQ(told(good), ReasonCode::as_reported);
  EXPECT_EQ(told(good), ReasonCode::already_so);
}

TEST(TrainingNetwork, AJobUnderOneLeafNeedsNoLinks) {
  NetworkWorld world = even_world(NetworkPlacement::isolated);
  world.submit(rigid(8));
  EXPECT_EQ(world.job(1).block.size, 8U);
  EXPECT_EQ(world.job(1).links, nullptr);
}

TEST(TrainingNetwork, AnIsolatedJobHasALinkForEachGpuAndGivesThemBack) {
  NetworkWorld world = even_world(NetworkPlacement::isolated);
  world.submit(rigid(16));
  world.submit(rigid(16));
  for (const std::uint64_t id : {1U, 2U}) {
    ASSERT_NE(world.job(id).links, nullptr);
    EXPECT_EQ(world.job(id).links->use, LinkUse::own);
    EXPECT_EQ(world.job(id).links->uplinks.size(), 8U) << "2 leaves with 8 each: 16 links";
  }
  world.tell(JobFinished{JobId{1}});
  EXPECT_EQ(world.job(1).links, nullptr);
  world.submit(rigid(16));
  EXPECT_EQ(world.job(3).links->uplinks.size(), 8U);
}

TEST(TrainingNetwork, TwoLeavesAreJoinedDirectlyFourThroughASpine) {
  NetworkWorld world = even_world(NetworkPlacement::isolated_optical);
  world.submit(rigid(16));
  ASSERT_NE(world.job(1).links, nullptr);
  ASSERT_EQ(world.job(1).links->circuits.size(), 8U);
  for (const OpticalCircuit& circuit : world.job(1).links->circuits) EXPECT_TRUE(circuit.is_direct);
  world.tell(JobFinished{JobId{1}});
  world.submit(rigid(32));
  ASSERT_NE(world.job(2).links, nullptr);
  EXPECT_EQ(world.job(2).links->circuits.size(), 32U);
  std::set<std::int32_t> spines;
  for (const OpticalCircuit& circuit : world.job(2).links->circuits) {
    EXPECT_FALSE(circuit.is_direct);
    spines.insert(circuit.end);
  }
  EXPECT_EQ(spines.size(), 2U) << "a spine has 16 ports";
}

TEST(TrainingNetwork, SharedJobsAreToldWhatItCosts) {
  NetworkWorld world = even_world(NetworkPlacement::shared);
  world.tell(TrainingSubmitted{rigid(32)});
  const auto records = world.decide();
  const auto* given = std::get_if<LinksGiven>(&records.back().what);
  ASSERT_NE(given, nullptr);
  EXPECT_EQ(given->links->use, LinkUse::shared);
  EXPECT_EQ(records.back().reason.code, ReasonCode::shares_links);
  EXPECT_GT(records.back().reason.detail, 100U) << "all-to-all by hash: more than a tenth";
}

TEST(TrainingNetwork, IsolatesWhereThatCostsNobodyAnything) {
  NetworkWorld world = even_world(NetworkPlacement::isolated_where_worth);
  world.submit(rigid(16, kRing));
  world.submit(rigid(16, kExperts));
  ASSERT_NE(world.job(1).links, nullptr);
  EXPECT_EQ(world.job(1).links->use, LinkUse::own) << "it has whole leaves";
  ASSERT_NE(world.job(2).links, nullptr);
  EXPECT_EQ(world.job(2).links->use, LinkUse::own) << "all-to-all collides";
}

TEST(TrainingNetwork, OtherTermsTakeAllLinksAndTheNextDecisionGivesNewOnes) {
  NetworkWorld world = even_world(NetworkPlacement::isolated);
  world.submit(rigid(16));
  const GpuBlock block = world.job(1).block;
  world.tell(NetworkConfigured{terms_of(NetworkPlacement::isolated, 8, 1, 8)});
  EXPECT_EQ(world.job(1).links, nullptr);
  world.decide();
  ASSERT_NE(world.job(1).links, nullptr);
  EXPECT_EQ(world.job(1).links->uplinks.size(), 4U) << "leaves of 4 now";
  EXPECT_EQ(world.job(1).block, block) << "it did not have to move";
  world.tell(NetworkConfigured{NetworkTerms{}});
  world.decide();
  EXPECT_EQ(world.job(1).links, nullptr);
}

TEST(TrainingNetwork, RanksThatStartAgainKeepTheirLinks) {
  NetworkWorld world = even_world(NetworkPlacement::isolated);
  world.submit(rigid(16));
  const auto links = world.job(1).links;
  world.tell(RanksFailed{JobId{1}, world.job(1).generation});
  EXPECT_EQ(world.job(1).links, links);
}

// Leaves of 3 nodes of 4: blocks of 16 lie 12 + 4, 8 + 8 or 4 + 12, and 4 uplinks are too few for two.
TEST(TrainingNetwork, AJobWaitsForLinksThatOthersHave) {
  NetworkWorld world{core_of("fifo", 12, 4)};
  world.tell(NetworkConfigured{terms_of(NetworkPlacement::isolated, 4, 3, 4)});
  world.submit(rigid(16));
  world.submit(rigid(16));
  world.submit(rigid(16));
  int running = 0;
  for (const std::uint64_t id : {1U, 2U, 3U}) running += world.job(id).block.is_none() ? 0 : 1;
  EXPECT_EQ(running, 2) << "48 GPUs are there, links for two jobs";
  const std::uint64_t first = world.job(1).block.is_none() ? 2 : 1;
  world.tell(JobFinished{JobId{first}});
  world.decide();
  running = 0;
  for (const std::uint64_t id : {1U, 2U, 3U})
    running += world.core.state().training.job(JobId{id}).block.is_none() ? 0 : 1;
  EXPECT_EQ(running, 2) << "the one that waited runs";
}

// Anything may happen to jobs and nodes, under any policy and any placement.
class RandomNetworkRun {
 public:
  RandomNetworkRun(std::uint64_t seed, const std::string& policy, NetworkPlacement placement)
      : rng_{seed}, nodes_{4 + static_cast<int>(rng_.below(9))} {
    const auto per_leaf = static_cast<std::int32_t>(1 + rng_.below(3));
    const auto spines = static_cast<std::int32_t>(1 + rng_.below(12));
    terms_ = terms_of(placement, nodes_ / per_leaf + 1, per_leaf, spines);
    policy_ = policy;
  }

  Core new_core() const { return core_of(policy_, nodes_, 4); }
  Event first_event() const { return {at_second(0), NetworkConfigured{terms_}}; }

  Event next_event(const Core& core) {
    Event event{now_, TimerFired{}};
    is_timer_ = !is_timer_;
    if (is_timer_) return event;
    now_ += from_seconds(static_cast<std::int64_t>(rng_.below(200)));
    event.at = now_;
    const auto& active = core.state().training.pools.front().active;
    const JobId job = active.empty() ? JobId{1} : active[rng_.below(active.size())];
    const NodeId node{1 + rng_.below(static_cast<std::uint64_t>(nodes_))};
    switch (rng_.below(10)) {
      case 0:
      case 1:
      case 2:
        event.what = JobFinished{job};
        break;
      case 3:
        event.what = NodeLost{node};
        break;
      case 4:
        event.what = NodeReturned{node};
        break;
      case 5:
        if (core.state().training.knows(job))
          event.what = RanksFailed{job, core.state().training.job(job).generation};
        break;
      default:
        event.what = TrainingSubmitted{any_spec()};
    }
    return event;
  }

 private:
  TrainingSpec any_spec() {
    TrainingSpec spec = rigid(1 << rng_.below(6), rng_.below(2) == 0 ? kRing : kExperts);
    spec.is_rigid = rng_.below(2) == 0;
    spec.iterations = static_cast<std::int64_t>(100 + rng_.below(60'000));
    if (rng_.below(3) == 0) {
      spec.deadline_kind = DeadlineKind::soft;
      spec.deadline = now_ + from_seconds(static_cast<std::int64_t>(60 + rng_.below(4000)));
    }
    return spec;
  }

  SeededRng rng_;
  int nodes_;
  NetworkTerms terms_;
  std::string policy_;
  Time now_ = at_second(1);
  bool is_timer_ = true;
};

constexpr NetworkPlacement kPlacements[] = {NetworkPlacement::shared, NetworkPlacement::isolated,
                                            NetworkPlacement::isolated_optical,
                                            NetworkPlacement::isolated_where_worth};

TEST(TrainingNetworkProperty, NoGpuLinkOrPortHasTwoJobsAtAnyEventUnderAnyPolicy) {
  std::int64_t with_links = 0;
  for (const auto& row : training_policies()) {
    for (const NetworkPlacement placement : kPlacements) {
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        RandomNetworkRun run{seed, std::string{row.name}, placement};
        Core core = run.new_core();
        core.handle(run.first_event());
        for (int i = 0; i < 120; ++i) {
          const Event event = run.next_event(core);
          const auto records = core.handle(event);
          const TrainingState& state = core.state().training;
          const bool is_decision = std::holds_alternative<TimerFired>(event.what);
          ASSERT_EQ(is_decision ? trouble_after_a_decision(state) : trouble_with_links(state), "")
              << row.name << ", placement " << static_cast<int>(placement) << ", seed " << seed
              << ", event " << i;
          for (const Record& record : records)
            with_links += std::holds_alternative<LinksGiven>(record.what) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(with_links, 1000);
}

TEST(TrainingNetworkProperty, TheSameEventsGiveTheSameRecordsAndRecordsAloneTheSameState) {
  for (const auto& row : training_policies()) {
    for (const NetworkPlacement placement : kPlacements) {
      RandomNetworkRun run{11, std::string{row.name}, placement};
      Core core = run.new_core();
      Core twin = run.new_core();
      State folded = run.new_core().fork_state();
      std::vector<Event> events{run.first_event()};
      for (int i = 0; i < 60; ++i) {
        const auto records = core.handle(events.back());
        ASSERT_EQ(twin.handle(events.back()), records);
        for (const Record& record : records) evolve(folded, record);
        events.push_back(run.next_event(core));
      }
      const TrainingState& state = core.state().training;
      ASSERT_EQ(folded.training.jobs.size(), state.jobs.size());
      for (std::size_t i = 0; i < state.jobs.size(); ++i) {
        EXPECT_EQ(folded.training.jobs[i].block, state.jobs[i].block);
        EXPECT_EQ(folded.training.jobs[i].links, state.jobs[i].links) << "the records' own";
      }
    }
  }
}

TEST(TrainingNetworkProperty, NothingIsTakenOnceAllJobsAreOver) {
  for (const NetworkPlacement placement : kPlacements) {
    RandomNetworkRun run{5, "fifo", placement};
    Core core = run.new_core();
    core.handle(run.first_event());
    Time now = at_second(0);
    for (int i = 0; i < 100; ++i) {
      const Event event = run.next_event(core);
      now = event.at;
      core.handle(event);
    }
    const std::vector<JobId> active = core.state().training.pools.front().active;
    for (const JobId job : active) core.handle({now, JobCancelled{job}});
    const TrainingState& state = core.state().training;
    for (std::size_t i = 0; i < state.jobs.size(); ++i) EXPECT_EQ(state.jobs[i].links, nullptr);
  }
}

}  // namespace
}  // namespace weir::schedule
