// SPDX-License-Identifier: Apache-2.0
//
// Policies that let jobs wait for cleaner hours, on a published trace and a published grid.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "formats/cluster_shorthand.h"
#include "formats/curves.h"
#include "formats/data_dir_testing.h"
#include "formats/supply_csv.h"
#include "formats/training_trace.h"
#include "predict/energy/power_book.h"
#include "simulate/training_run.h"

namespace weir::cli {
namespace {

// 195 jobs without deadlines on 128 GPUs in California, from 14 July 2021.
struct Experiment {
  explicit Experiment(const std::filesystem::path& data)
      : cluster{*formats::parse_cluster_shorthand("16x8xA100")},
        curves{*formats::read_curves(data / "elasticflow" / "throughput_a100")},
        workload{*formats::read_training_trace(data / "elasticflow" / "traces" / "195job.csv.gz",
                                               curves.front())} {
    Time first = Time::max();
    for (TrainingArrival& job : workload.jobs) {
      job.spec.deadline_kind = DeadlineKind::none;
      first = std::min(first, job.submitted);
    }
    const auto begin = std::chrono::sys_days{std::chrono::year{2021} / 7 / 14};
    const Time start{std::chrono::duration_cast<Duration>(begin.time_since_epoch())};
    const auto grid = formats::read_supply(data / "carbon" / "intensity" / "ciso_2020_2021.csv.gz");
    energy.books = {predict::power_book(curves.front(), {})};
    energy.supply = grid->series.shifted(first - start);
  }
  simulate::TrainingOutcome run(const char* policy, const schedule::EnergyCaps& caps) const {
    simulate::TrainingRunConfig config;
    config.policy = policy;
    config.training.caps = caps;
    config.energy = energy;
    return run_training(cluster, workload, curves, config);
  }

  Cluster cluster;
  std::vector<CurveBook> curves;
  TrainingWorkload workload;
  simulate::EnergySetup energy;
};

TEST(ShiftingPoliciesData, FinishEveryJobForLessThanHalfTheCarbon) {
  WEIR_NEEDS_DATA(data);
  const Experiment experiment{data};
  const auto uncapped = experiment.run("elastic-capped", {});
  ASSERT_EQ(uncapped.finished, 195);
  const std::pair<const char*, schedule::EnergyCaps> rivals[] = {
      {"carbon-scaler", {0, 643, 3000}},
      {"wait-awhile", {4, 500, 1500}},
  };
  for (const auto& [policy, caps] : rivals) {
    const auto outcome = experiment.run(policy, caps);
    EXPECT_EQ(outcome.finished, 195) << policy;
    EXPECT_LT(outcome.energy->units, uncapped.energy->units / 2) << policy;
    // That costs time: they are rivals, not wonders.
    EXPECT_GT(outcome.total_completion_seconds, 1.5 * uncapped.total_completion_seconds) << policy;
  }
}

}  // namespace
}  // namespace weir::cli
