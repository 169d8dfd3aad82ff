// SPDX-License-Identifier: Apache-2.0
#include "network/fabric_run.h"

#include <gtest/gtest.h>

#include <numeric>

#include "domain/seeded_rng.h"

namespace weir::network {
namespace {

constexpr double kPortRate = 12.5e9;
constexpr double kBuffer = 256e6;

std::vector<GpuIndex> gpus_from(GpuIndex first, std::uint32_t count) {
  std::vector<GpuIndex> gpus(count);
  std::iota(gpus.begin(), gpus.end(), first);
  return gpus;
}

NetworkJob job_of(std::vector<GpuIndex> gpus, CollectiveKind kind,
                  PlayMode mode = PlayMode::stepwise) {
  NetworkJob job;
  job.gpus = std::move(gpus);
  job.collectives = {{kind, kBuffer, 0, mode}};
  return job;
}

FabricOutcome played(const Fabric& fabric, Routing routing, const std::vector<NetworkJob>& jobs) {
  FabricRunOptions options;
  options.routing.routing = routing;
  FabricRun run{fabric, options};
  for (const NetworkJob& job : jobs) run.add_job(job);
  return run.run();
}

double time_alone(const Fabric& fabric, const NetworkJob& job,
                  Routing routing = Routing::source_index) {
  return played(fabric, routing, {job}).jobs[0].end;
}

TEST(FabricRun, ACollectiveAloneTakesWhatTheFormulaSays) {
  const auto fabric = build_fabric(leaf_spine_spec(8, 8, 8));
  for (const std::uint32_t ranks : {2U, 5U, 8U, 16U, 64U}) {
    const double n = ranks;
    const auto time = [&](CollectiveKind kind, PlayMode mode = PlayMode::stepwise) {
      return time_alone(*fabric, job_of(gpus_from(0, ranks), kind, mode)) * kPortRate / kBuffer;
    };
    EXPECT_NEAR(time(CollectiveKind::ring_all_reduce), 2 * (n - 1) / n, 1e-6);
    EXPECT_NEAR(time(CollectiveKind::ring_all_reduce, PlayMode::steady), 2 * (n - 1) / n, 1e-6);
    EXPECT_NEAR(time(CollectiveKind::ring_all_gather), (n - 1) / n, 1e-6);
    EXPECT_NEAR(time(CollectiveKind::ring_reduce_scatter), (n - 1) / n, 1e-6);
    EXPECT_NEAR(time(CollectiveKind::all_to_all), (n - 1) / n, 1e-6);
    EXPECT_NEAR(time(CollectiveKind::broadcast), 1 + (n - 2) / 8, 1e-6);
    EXPECT_NEAR(time(CollectiveKind::broadcast, PlayMode::steady), 1, 1e-6);
    EXPECT_NEAR(time(CollectiveKind::pipeline), 1, 1e-6);
    if (ranks != 5) {
      EXPECT_NEAR(time(CollectiveKind::halving_doubling), 2 * (n - 1) / n, 1e-6);
    }
  }
  // About 2 S/B: a rank sends S/2 up in each tree, and S/2 to each of two children of one of them.
  const double tree =
      time_alone(*fabric, job_of(gpus_from(0, 16), CollectiveKind::double_tree, PlayMode::steady));
  EXPECT_NEAR(tree * kPortRate / kBuffer, 2, 1e-6);
}

TEST(FabricRun, AHierarchicalAllReduceUsesBothSpeeds) {
  auto spec = leaf_spine_spec(4, 8, 8);
  spec.gpus_per_node = 4;
  const auto fabric = build_fabric(spec);
  auto job = job_of(gpus_from(0, 32), CollectiveKind::hierarchical);
  job.options.ranks_per_node = 4;
  // (G-1)/G * S/Blocal * 2 + 2(R-1)/R * S/(G*Bnic), G = 4, R = 8
  const double expected =
      1.5 * kBuffer / (10 * kPortRate) + 2 * 7.0 / 8 * kBuffer / (4 * kPortRate);
  EXPECT_NEAR(time_alone(*fabric, job) / expected, 1, 1e-6);
}

TEST(FabricRun, TheLatencyOfStepsIsAddedOnce) {
  const auto fabric = build_fabric(leaf_spine_spec(2, 4, 4));
  for (const PlayMode mode : {PlayMode::stepwise, PlayMode::steady}) {
    FabricRunOptions options;
    options.step_latency = 1e-5;
    FabricRun run{*fabric, options};
    run.add_job(job_of(gpus_from(0, 4), CollectiveKind::ring_all_reduce, mode));
    EXPECT_NEAR(run.run().jobs[0].end, 1.5 * kBuffer / kPortRate + 6e-5, 1e-8);
  }
}

// a, b on one switch, c, d on another, one link between them.
Fabric two_switches() {
  FabricSpec spec;
  spec.kind = FabricKind::links;
  spec.gpus = {"a", "b", "c", "d"};
  spec.links = {{"a", "s", spec.nic},
                {"b", "s", spec.nic},
                {"c", "t", spec.nic},
                {"d", "t", spec.nic},
                {"s", "t", spec.nic}};
  return *build_fabric(spec);
}

TEST(FabricRun, TwoEqualJobsOnOneLinkTakeTwiceAsLongWhenTheirPhasesCoincide) {
  const Fabric fabric = two_switches();
  auto first = job_of({0, 2}, CollectiveKind::pipeline);
  auto second = job_of({1, 3}, CollectiveKind::pipeline);
  for (NetworkJob* job : {&first, &second}) {
    job->iterations = 5;
    job->compute_seconds = 0.01;
    job->collectives[0].ready_at = 0.01;
  }
  const double transfer = kBuffer / kPortRate;
  const auto alone = played(fabric, Routing::ecmp, {first});
  for (const double seconds : alone.jobs[0].iteration_seconds)
    EXPECT_NEAR(seconds, 0.01 + transfer, 1e-8);
  const auto both = played(fabric, Routing::ecmp, {first, second});
  for (const JobOutcome& job : both.jobs) {
    ASSERT_EQ(job.iterations, 5U);
    for (const double seconds : job.iteration_seconds)
      EXPECT_NEAR(seconds, 0.01 + 2 * transfer, 1e-8);
    EXPECT_NEAR(job.communication_seconds, 10 * transfer, 1e-7);
  }
  // Out of phase they do not meet.
  second.starts_at = 0.022;
  for (NetworkJob* job : {&first, &second}) {
    job->compute_seconds = 0.03;
    job->collectives[0].ready_at = 0.03;
  }
  for (const JobOutcome& job : played(fabric, Routing::ecmp, {first, second}).jobs) {
    for (const double seconds : job.iteration_seconds) EXPECT_NEAR(seconds, 0.03 + transfer, 1e-8);
  }
}

TEST(FabricRun, CommunicationHidesBehindComputeWhereItMay) {
  const Fabric fabric = two_switches();
  const double transfer = kBuffer / kPortRate;
  auto job = job_of({0, 2}, CollectiveKind::pipeline);
  job.compute_seconds = 10 * transfer;
  job.collectives[0].ready_at = 5 * transfer;
  EXPECT_NEAR(time_alone(fabric, job), 10 * transfer, 1e-8);
  job.collectives[0].bytes *= 7;
  EXPECT_NEAR(time_alone(fabric, job), 12 * transfer, 1e-8);
  // A second one waits for the first.
  job.collectives.push_back({CollectiveKind::pipeline, kBuffer, 0, PlayMode::stepwise});
  EXPECT_NEAR(time_alone(fabric, job), 13 * transfer, 1e-8);
}

// Blocks of whole leaves, or of one leaf: by source index they share no link.
TEST(FabricRun, AnIsolatedJobDoesNotFeelItsNeighbours) {
  const auto fabric = build_fabric(leaf_spine_spec(8, 8, 8));
  const std::vector<NetworkJob> jobs{
      job_of(gpus_from(0, 16), CollectiveKind::all_to_all),
      job_of(gpus_from(16, 4), CollectiveKind::ring_all_reduce),
      job_of(gpus_from(20, 4), CollectiveKind::all_to_all),
      job_of(gpus_from(32, 32), CollectiveKind::halving_doubling),
      job_of(gpus_from(24, 8), CollectiveKind::ring_all_reduce, PlayMode::steady)};
  const auto together = played(*fabric, Routing::source_index, jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_NEAR(together.jobs[i].end, time_alone(*fabric, jobs[i]), 1e-9);
  }
}

TEST(FabricRun, HashedRoutesMakeACollectiveSlower) {
  const auto fabric = build_fabric(leaf_spine_spec(8, 8, 8));
  const auto job = job_of(gpus_from(0, 64), CollectiveKind::all_to_all);
  const double hashed = time_alone(*fabric, job, Routing::ecmp);
  EXPECT_GT(hashed, 1.5 * time_alone(*fabric, job));
  EXPECT_NEAR(time_alone(*fabric, job, Routing::spray), time_alone(*fabric, job), 1e-6);
  EXPECT_NEAR(time_alone(*fabric, job, Routing::coloured), time_alone(*fabric, job), 1e-6);
  EXPECT_NEAR(time_alone(*fabric, job, Routing::ideal), time_alone(*fabric, job), 1e-6);
  EXPECT_LE(time_alone(*fabric, job, Routing::adaptive), hashed);
}

std::vector<NetworkJob> random_jobs(std::uint64_t seed, std::uint32_t gpus) {
  SeededRng rng{seed};
  std::vector<GpuIndex> free = gpus_from(0, gpus);
  rng.shuffle(free);
  std::vector<NetworkJob> jobs;
  for (std::size_t used = 0; used + 8 <= free.size();) {
    const std::size_t count = 2 + rng.below(7);
    constexpr CollectiveKind kKinds[] = {CollectiveKind::ring_all_reduce,
                                         CollectiveKind::all_to_all, CollectiveKind::double_tree,
                                         CollectiveKind::halving_doubling};
    auto job =
        job_of({free.begin() + static_cast<std::ptrdiff_t>(used),
                free.begin() + static_cast<std::ptrdiff_t>(used + count)},
               kKinds[rng.below(4)], rng.below(2) == 0 ? PlayMode::stepwise : PlayMode::steady);
    job.iterations = 3;
    job.compute_seconds = rng.uniform() * 0.1;
    job.collectives[0].ready_at = job.compute_seconds * rng.uniform();
    job.starts_at = rng.uniform() * 0.1;
    jobs.push_back(std::move(job));
    used += count;
  }
  return jobs;
}

TEST(FabricRun, DeliversWhatTheCollectivesSay) {
  const auto fabric = build_fabric(leaf_spine_spec(4, 8, 4));
  for (const Routing routing : {Routing::ecmp, Routing::source_index, Routing::coloured,
                                Routing::spray, Routing::adaptive}) {
    const auto jobs = random_jobs(7, 32);
    const auto outcome = played(*fabric, routing, jobs);
    double expected = 0;
    for (const NetworkJob& job : jobs) {
      const auto made = make_collective(job.collectives[0].kind,
                                        static_cast<std::uint32_t>(job.gpus.size()), job.options);
      for (const auto& step : made.steps) {
        for (const Move& move : step) expected += 3 * made.bytes_of(move, kBuffer);
      }
    }
    double out = 0;
    double in = 0;
    for (const GpuPort& port : fabric->ports) {
      out += outcome.link_bytes[port.out];
      in += outcome.link_bytes[port.in];
    }
    EXPECT_NEAR(out / expected, 1, 1e-9);
    EXPECT_NEAR(in / expected, 1, 1e-9);
    for (LinkIndex link = 0; link < fabric->links.size(); ++link) {
      EXPECT_LE(outcome.link_bytes[link], fabric->links[link].capacity * outcome.end * (1 + 1e-9));
    }
  }
}

TEST(FabricRun, EqualRunsAreEqualToTheBit) {
  const auto fabric = build_fabric(leaf_spine_spec(4, 8, 4));
  const auto first = played(*fabric, Routing::ecmp, random_jobs(9, 32));
  const auto again = played(*fabric, Routing::ecmp, random_jobs(9, 32));
  ASSERT_EQ(first.jobs.size(), again.jobs.size());
  for (std::size_t i = 0; i < first.jobs.size(); ++i) {
    EXPECT_EQ(first.jobs[i].iteration_seconds, again.jobs[i].iteration_seconds);
  }
  EXPECT_EQ(first.link_bytes, again.link_bytes);
}

TEST(FabricRun, AFailedLinkIsLeftForAnotherOne) {
  // Two spines; both transfers leave leaf 0, by index over one spine each. When one link fails
  // halfway, the rest of both shares the other: half of it at half speed.
  const auto fabric = build_fabric(leaf_spine_spec(2, 2, 2));
  const double transfer = kBuffer / kPortRate;
  for (const PlayMode mode : {PlayMode::stepwise, PlayMode::steady}) {
    FabricRunOptions options;
    options.routing.routing = Routing::source_index;
    FabricRun run{*fabric, options};
    run.add_job(job_of({0, 2}, CollectiveKind::pipeline, mode));
    run.add_job(job_of({1, 3}, CollectiveKind::pipeline, mode));
    const RouteTable table{*fabric};
    run.fail_link(table.next_links(fabric->ports[0].leaf, fabric->ports[2].leaf)[0], transfer / 2);
    for (const JobOutcome& job : run.run().jobs) EXPECT_NEAR(job.end, 1.5 * transfer, 1e-8);
  }
}

TEST(FabricRun, WithoutAnotherWayFlowsWaitForTheRepair) {
  const Fabric fabric = two_switches();
  const double transfer = kBuffer / kPortRate;
  const LinkIndex between = 8;
  ASSERT_EQ(fabric.link_name(between), "s > t");
  {
    FabricRun run{fabric, {}};
    run.add_job(job_of({0, 2}, CollectiveKind::pipeline));
    run.fail_link(between, transfer / 4);
    run.repair_link(between, transfer);
    EXPECT_NEAR(run.run().jobs[0].end, 1.75 * transfer, 1e-8);
  }
  FabricRun run{fabric, {}};
  run.add_job(job_of({0, 2}, CollectiveKind::pipeline));
  run.fail_link(between, transfer / 4);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.jobs[0].end, kNoLimit);
  EXPECT_NEAR(outcome.link_bytes[between], kBuffer / 4, 1);
}

TEST(FabricRun, KeepsNoMoreSamplesThanAsked) {
  const auto fabric = build_fabric(leaf_spine_spec(4, 8, 4));
  FabricRunOptions options;
  options.samples = 16;
  FabricRun run{*fabric, options};
  run.add_job(job_of(gpus_from(0, 32), CollectiveKind::ring_all_reduce));
  const auto outcome = run.run();
  EXPECT_GE(outcome.samples.size(), 16U);
  EXPECT_LT(outcome.samples.size(), 32U);
  for (const auto& sample : outcome.samples)
    EXPECT_LE(sample.rates[0], 32 * kPortRate * (1 + 1e-9));
}

}  // namespace
}  // namespace weir::network
