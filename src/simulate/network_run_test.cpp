// SPDX-License-Identifier: Apache-2.0
//
// Training runs on a network: jobs run as contention lets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "domain/seeded_rng.h"
#include "formats/cluster_shorthand.h"
#include "formats/log_codec.h"
#include "schedule/network_testing.h"
#include "schedule/policies/training_policies.h"
#include "simulate/training_run.h"
#include "simulate/usual_traffic.h"

namespace weir::simulate {
namespace {

constexpr NetworkPlacement kAllPlacements[] = {NetworkPlacement::shared, NetworkPlacement::isolated,
                                               NetworkPlacement::isolated_optical,
                                               NetworkPlacement::isolated_where_worth};

NetworkSetup on_fabric(NetworkPlacement placement, std::int32_t leaves, std::int32_t nodes_per_leaf,
                       std::int32_t spines) {
  NetworkSetup setup;
  setup.placement = kNetworkPlacementNames[static_cast<std::size_t>(placement)];
  setup.terms.placement = placement;
  setup.terms.fabrics = {{PoolIndex{0}, leaves, nodes_per_leaf, spines, 1,
                          placement == NetworkPlacement::isolated_optical ? 2 : 0}};
  setup.terms.kinds = usual_traffic();
  return setup;
}

// 64 GPUs in nodes of 4. Jobs keep the size they ask for.
struct NetworkCase {
  Cluster cluster = *formats::parse_cluster_shorthand("16x4xA100");
  CurveBook curves;
  TrainingWorkload workload;
  TrainingRunConfig config;

  NetworkCase() {
    for (const char* model : {"moe", "vgg16", "resnet50"}) {
      std::vector<CurvePoint> points;
      for (std::int32_t gpus = 1; gpus <= 64; gpus *= 2)
        points.push_back({gpus, IterationRate{2'000'000 * gpus}});
      curves.curves.emplace(CurveKey{model, 8}, Curve{std::move(points)});
    }
    config.policy = "fifo";
    // The same for GPUs that worked together before.
    config.planned_cost = config.real_cost = schedule::RescaleCost{from_seconds(2), Duration{0}};
  }

  void add(const std::string& model, std::int32_t gpus, std::int64_t at, std::int64_t runs) {
    TrainingArrival job;
    job.submitted = Time{from_seconds(at)};
    job.spec.name = "job-" + std::to_string(workload.jobs.size());
    job.spec.curve = {model, 8};
    job.spec.iterations = 2 * gpus * runs;  // seconds
    job.spec.asked_gpus = gpus;
    job.spec.is_rigid = true;
    workload.jobs.push_back(std::move(job));
  }

  void add_any(std::uint64_t seed, int jobs) {
    SeededRng rng{seed};
    std::int64_t at = 0;
    for (int i = 0; i < jobs; ++i) {
      constexpr const char* kModels[] = {"moe", "vgg16", "resnet50"};
      at += static_cast<std::int64_t>(rng.below(200));
      add(kModels[rng.below(3)], 1 << rng.below(7), at,
          static_cast<std::int64_t>(100 + rng.below(900)));
    }
  }

  TrainingOutcome play() const { return run_training(cluster, workload, {curves}, config); }
};

double seconds_of(const TrainingJobOutcome& job) {
  return to_seconds(*job.finished - *job.started);
}

TEST(NetworkRun, WithoutLimitsItIsTheRunWithoutANetwork) {
  NetworkCase made;
  made.add_any(1, 30);
  const TrainingOutcome plain = made.play();
  made.config.network = NetworkSetup{};
  const TrainingOutcome ideal = made.play();
  ASSERT_TRUE(ideal.network);
  EXPECT_EQ(ideal.network->all.slowdown, 1);
  for (std::size_t i = 0; i < plain.by_job.size(); ++i)
    EXPECT_EQ(plain.by_job[i].finished, ideal.by_job[i].finished);
}

TEST(NetworkRun, HashingSlowsAllToAllAndIsolationDoesNot) {
  NetworkCase made;
  made.add("moe", 64, 0, 1000);
  const double alone = seconds_of(made.play().by_job[0]);
  made.config.network = on_fabric(NetworkPlacement::shared, 4, 4, 16);
  const TrainingOutcome shared = made.play();
  EXPECT_GT(seconds_of(shared.by_job[0]), alone * 1.2);
  EXPECT_NEAR(shared.network->all.slowdown, seconds_of(shared.by_job[0]) / alone, 0.02);
  made.config.network = on_fabric(NetworkPlacement::isolated, 4, 4, 16);
  EXPECT_NEAR(seconds_of(made.play().by_job[0]), alone, 0.01);
  made.config.network = on_fabric(NetworkPlacement::isolated_optical, 4, 4, 8);
  EXPECT_NEAR(seconds_of(made.play().by_job[0]), alone + 2.125, 0.01) << "the circuits are made";
}

TEST(NetworkRun, JobsUnderOneLeafDoNotNotice) {
  NetworkCase made;
  for (int i = 0; i < 4; ++i) made.add("moe", 16, 0, 500);
  const TrainingOutcome plain = made.play();
  for (const NetworkPlacement placement : kAllPlacements) {
    made.config.network = on_fabric(placement, 4, 4, 16);
    const TrainingOutcome played = made.play();
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(played.by_job[i].finished, plain.by_job[i].finished);
  }
}

// Leaves of 3 nodes: blocks lie across leaves, so that jobs do meet.
TEST(NetworkRun, AnIsolatedJobRunsAsLongAloneAsWithOthers) {
  int compared = 0;
  for (const NetworkPlacement placement :
       {NetworkPlacement::isolated, NetworkPlacement::isolated_optical}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      NetworkCase all;
      all.add_any(seed, 12);
      all.config.network = on_fabric(placement, 6, 3, 12);
      std::vector<GpuBlock> blocks(13);
      all.config.on_record = [&](const Record& record) {
        if (const auto* resized = std::get_if<JobResized>(&record.what)) {
          if (!resized->block.is_none()) blocks[resized->job.value] = resized->block;
        }
      };
      const TrainingOutcome together = all.play();
      ASSERT_EQ(together.network->rewirings, 0) << "nobody was paused for another";
      for (std::size_t i = 0; i < 12; ++i) {
        NetworkCase one;
        one.workload.jobs = {all.workload.jobs[i]};
        one.config.network = all.config.network;
        GpuBlock block;
        one.config.on_record = [&](const Record& record) {
          if (const auto* resized = std::get_if<JobResized>(&record.what)) block = resized->block;
        };
        const TrainingOutcome alone = one.play();
        // What its own flows do to each other depends on how its block lies on the leaves.
        if (block != blocks[i + 1]) continue;
        EXPECT_NEAR(seconds_of(together.by_job[i]), seconds_of(alone.by_job[0]), 1e-6);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 20);
}

TEST(NetworkRun, SharedJobsThatMeetSlowEachOtherDown) {
  NetworkCase made;
  // 16 GPUs over leaves of 12: both pairs cross the same leaf.
  made.add("moe", 16, 0, 1000);
  made.config.network = on_fabric(NetworkPlacement::shared, 6, 3, 4);
  const double alone = seconds_of(made.play().by_job[0]);
  for (int i = 0; i < 3; ++i) made.add("moe", 16, 0, 1000);
  const TrainingOutcome together = made.play();
  EXPECT_GT(together.network->windows, 0);
  double worst = 0;
  for (const auto& job : together.by_job) worst = std::max(worst, seconds_of(job));
  EXPECT_GT(worst, alone * 1.01);
}

TEST(NetworkRun, TellsTimesBySize) {
  NetworkCase made;
  made.add_any(3, 40);
  made.config.network = on_fabric(NetworkPlacement::isolated_where_worth, 4, 4, 16);
  const TrainingOutcome outcome = made.play();
  std::int64_t jobs = 0;
  double completion = 0;
  for (const SizeTimes& times : outcome.network->by_size) {
    jobs += times.jobs;
    completion += times.completion * static_cast<double>(times.jobs);
    EXPECT_NEAR(times.completion, times.wait + times.run, 1e-6);
    EXPECT_GE(times.slowdown, 1);
  }
  EXPECT_EQ(jobs, 40);
  EXPECT_EQ(outcome.network->all.jobs, 40);
  EXPECT_NEAR(outcome.network->all.completion, completion / 40, 1e-6);
}

// Under every policy and placement: one owner for each GPU, link and port after every decision; and the
// same again gives the same bytes.
TEST(NetworkRunProperty, EveryPolicyKeepsLinksApartAndIsRepeatable) {
  for (const auto& row : schedule::training_policies()) {
    for (const NetworkPlacement placement : kAllPlacements) {
      NetworkCase made;
      made.add_any(7, 20);
      for (auto& job : made.workload.jobs) job.spec.is_rigid = false;
      made.config.policy = row.name;
      made.config.network = on_fabric(placement, 6, 3, 6);
      made.config.after_decision = [&](const schedule::TrainingState& state, Time) {
        ASSERT_EQ(schedule::testing::trouble_after_a_decision(state), "") << row.name;
      };
      std::string log[2];
      for (std::string& text : log) {
        made.config.on_record = [&](const Record& record) {
          formats::append_record_line(text, record, 1, "test");
        };
        EXPECT_EQ(made.play().finished, 20) << row.name;
      }
      EXPECT_EQ(log[0], log[1]) << row.name;
    }
  }
}

}  // namespace
}  // namespace weir::simulate
