// SPDX-License-Identifier: Apache-2.0
//
// A node that cannot be reached is taken to be lost. When it comes back with its ranks still running,
// their generation is an old one: nobody listens to them, and the job runs once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "schedule/admit/audit.h"
#include "schedule/core/core.h"
#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using testing::all_of;
using testing::at_second;

const JobId kJob{1};

// Two nodes of 4 GPUs, and a job of 3600 iterations by second 200: 100 s on 4 GPUs.
class Partition : public ::testing::Test {
 protected:
  Partition() : core_{config(), state()} {
    at(0, CurveUpdated{PoolIndex{0}, {"m", 1}, testing::a_curve({{1, 10}, {2, 19}, {4, 36}})});
  }

  static CoreConfig config() {
    CoreConfig made;
    made.policy = placement_policies().front().policy;
    made.training_policy = find_training_policy("weir");
    return made;
  }
  static State state() {
    State made = initial_state_for_training(
        testing::cluster_of({testing::listed_node(1, 64, 4), testing::listed_node(2, 64, 4)}),
        SizeRule::useful);
    made.training.rescale_cost = testing::kFreeRescales;
    return made;
  }

  template <class What>
  std::vector<Record> at(std::int64_t second, What what) {
    auto records = core_.handle(Event{at_second(second), std::move(what)});
    EXPECT_THAT(audit_promises(core_.state().training, core_.state().training.pools.front(),
                               at_second(second))
                    .violations,
                ::testing::IsEmpty());
    return records;
  }
  void submit() {
    TrainingSpec spec = testing::a_training_job().iterations(3600).deadline(200).spec();
    spec.curve = {"m", 1};
    at(0, TrainingSubmitted{spec});
  }
  const TrainingJob& job() const { return core_.state().training.job(kJob); }
  NodeId node_of_job() const { return NodeId{job().block.first / 4 + 1}; }

  // It runs, its node is cut off, and it is started on the other one.
  NodeId cut_off_at(std::int64_t second) {
    at(0, TimerFired{});
    at(0, RanksReady{kJob, job().generation});
    old_ = job().generation;
    const NodeId lost = node_of_job();
    at(second, NodeLost{lost});
    at(second, TimerFired{});
    return lost;
  }

  Core core_;
  std::uint32_t old_ = 0;  // the generation that still runs on the node that was cut off
};

TEST_F(Partition, AJobIsStartedElsewhereAndItsPromiseKept) {
  submit();
  const NodeId lost = cut_off_at(50);
  EXPECT_FALSE(job().block.is_none());
  EXPECT_NE(node_of_job(), lost);
  EXPECT_GT(job().generation, old_);
  EXPECT_FALSE(job().is_at_risk);
}

TEST_F(Partition, RanksThatComeBackWithTheirNodeAreNotHeard) {
  submit();
  const NodeId lost = cut_off_at(50);
  at(50, RanksReady{kJob, job().generation});
  const TrainingJob before = job();
  at(80, NodeReturned{lost});
  for (const auto& records : {at(80, RanksReady{kJob, old_}), at(80, RanksFailed{kJob, old_})}) {
    ASSERT_EQ(all_of<EventIgnored>(records).size(), 1U);
    EXPECT_TRUE(all_of<JobResized>(records).empty());
  }
  EXPECT_EQ(job().generation, before.generation);
  EXPECT_EQ(job().block, before.block);
}

TEST_F(Partition, AJobEndsOnce) {
  submit();
  const NodeId lost = cut_off_at(50);
  at(80, NodeReturned{lost});
  EXPECT_EQ(all_of<JobReleased>(at(150, JobFinished{kJob})).size(), 1U);
  EXPECT_TRUE(all_of<JobReleased>(at(160, JobFinished{kJob})).empty());
}

// Nobody else has GPUs for it: both nodes are gone, and one comes back.
TEST_F(Partition, APromiseThatCannotBeKeptIsAnnouncedAtOnceAndTakenBackWhenItCan) {
  submit();
  const NodeId first = cut_off_at(50);
  const NodeId second{3 - first.value};
  EXPECT_EQ(all_of<PromiseAtRisk>(at(60, NodeLost{second})).size(), 1U);
  EXPECT_TRUE(job().is_at_risk);
  EXPECT_TRUE(job().block.is_none());
  at(90, NodeReturned{first});
  EXPECT_FALSE(job().is_at_risk);
  at(90, TimerFired{});
  EXPECT_EQ(node_of_job(), first);
}

}  // namespace
}  // namespace weir::schedule
