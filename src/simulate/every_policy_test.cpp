// SPDX-License-Identifier: Apache-2.0
//
// What holds under every policy for training jobs, whatever it does: played to the end with jobs,
// clusters and prices as they come.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>

#include "domain/seeded_rng.h"
#include "formats/cluster_shorthand.h"
#include "schedule/policies/fixed_sizes.h"
#include "schedule/policies/training_policies.h"
#include "simulate/random_cases_testing.h"
#include "simulate/training_run.h"

namespace weir::simulate {
namespace {

using testing::kModels;
using testing::up_to;

constexpr Duration kLongestSlot = from_seconds(20);

// A case that comes from one number.
struct PolicyCase {
  Cluster cluster;
  std::vector<CurveBook> curves;
  TrainingWorkload workload;
  TrainingRunConfig config;
};

CurveBook any_curves(SeededRng& rng) {
  CurveBook book;
  for (std::int64_t model = 0; model < kModels; ++model) {
    std::vector<CurvePoint> points;
    std::int64_t rate = 1'000'000 + up_to(rng, 20'000'000);
    for (std::int32_t gpus = 1; gpus <= 8; gpus *= 2) {
      points.push_back({gpus, IterationRate{rate}});
      rate += up_to(rng, rate) - rate / 8;
    }
    book.curves.emplace(CurveKey{"m", model}, Curve{std::move(points)});
  }
  return book;
}

TrainingArrival any_arrival(SeededRng& rng, bool may_be_in_one_piece) {
  TrainingArrival arrival;
  arrival.submitted = Time{from_seconds(up_to(rng, 600))};
  arrival.spec.name = "job";
  arrival.spec.curve = {"m", up_to(rng, kModels)};
  arrival.spec.iterations = 1 + up_to(rng, 5000);
  arrival.spec.asked_gpus = static_cast<std::int32_t>(1 + up_to(rng, 9));
  if (up_to(rng, 2) == 0) {
    arrival.spec.deadline_kind = DeadlineKind::hard;
    arrival.spec.deadline = arrival.submitted + kLongestSlot + from_seconds(1 + up_to(rng, 3000));
  }
  if (may_be_in_one_piece && up_to(rng, 4) == 0) {
    arrival.spec.asked_gpus = std::int32_t{1} << up_to(rng, 3);
    arrival.spec.is_rigid = arrival.spec.in_one_piece = true;
  }
  return arrival;
}

PolicyCase a_policy_case(std::string_view policy, std::uint64_t seed, bool may_be_in_one_piece) {
  SeededRng rng{seed};
  constexpr std::array kClusters = {"1x4xT4", "2x4xT4", "3x2xT4", "2x8xA100", "5x1xT4"};
  PolicyCase made;
  made.cluster = *formats::parse_cluster_shorthand(
      kClusters[static_cast<std::size_t>(up_to(rng, kClusters.size()))]);
  made.curves = {any_curves(rng)};
  made.workload.name = "any";
  for (std::int64_t i = 1 + up_to(rng, 20); i > 0; --i)
    made.workload.jobs.push_back(any_arrival(rng, may_be_in_one_piece));
  made.config.policy = policy;
  made.config.planned_cost = {from_seconds(up_to(rng, 8)), from_seconds(up_to(rng, 4))};
  made.config.training.round = from_seconds(up_to(rng, 4) * 5);
  made.config.training.slot = up_to(rng, 2) * kLongestSlot;
  return made;
}

TrainingOutcome play(const PolicyCase& played) {
  return run_training(played.cluster, played.workload, played.curves, played.config);
}

// By its name.
class EveryPolicy : public ::testing::TestWithParam<std::string> {
 protected:
  template <class Check>
  void for_any_case(Check check, bool may_be_in_one_piece = false) {
    const bool holds = rc::check(GetParam(), [&] {
      const auto seed = *rc::gen::arbitrary<std::uint64_t>();
      PolicyCase made = a_policy_case(GetParam(), seed, may_be_in_one_piece);
      check(made);
    });
    EXPECT_TRUE(holds);
  }
};

class EveryPolicyOfFixedSizes : public EveryPolicy {};

std::vector<std::string> all_policies() {
  std::vector<std::string> names;
  for (const auto& row : schedule::training_policies()) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> policies_of_fixed_sizes() {
  std::vector<std::string> names;
  for (const auto& row : schedule::training_policies()) {
    if (dynamic_cast<const schedule::FixedSizePolicy*>(row.policy) != nullptr)
      names.emplace_back(row.name);
  }
  return names;
}

std::string name_of_test(const ::testing::TestParamInfo<std::string>& policy) {
  std::string name = policy.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void expect_disjoint_blocks_of_allowed_sizes(const schedule::TrainingState& state) {
  for (const schedule::PoolState& pool : state.pools) {
    schedule::BlockMap map = pool.closed;
    for (const JobId id : pool.active) {
      const schedule::TrainingJob& job = state.job(id);
      if (job.block.is_none()) continue;
      RC_ASSERT(job.level() != schedule::kPaused);
      RC_ASSERT(job.block.first % job.block.size == 0);
      RC_ASSERT(map.is_free(job.block));
      map.take(job.block);
    }
  }
}

// Or refused. Jobs that only take turns would go on for ever.
void expect_all_finished(PolicyCase& made) {
  constexpr int kFarMoreThanNeeded = 100'000;
  int decisions = 0;
  made.config.after_decision = [&](const schedule::TrainingState&, Time) {
    RC_ASSERT(++decisions < kFarMoreThanNeeded);
  };
  for (const TrainingJobOutcome& job : play(made).by_job)
    RC_ASSERT(job.finished.has_value() != job.is_refused);
}

TEST_P(EveryPolicy, GivesNoGpuTwiceAndNoJobASizeItMayNotHave) {
  for_any_case([](PolicyCase& made) {
    made.config.after_decision = [](const schedule::TrainingState& state, Time) {
      expect_disjoint_blocks_of_allowed_sizes(state);
    };
    play(made);
  });
}

TEST_P(EveryPolicy, FinishesEveryJobItDoesNotRefuse) {
  for_any_case(expect_all_finished);
}

TEST_P(EveryPolicyOfFixedSizes, LeavesNoGpuIdleThatSomebodyWaitingFitsOn) {
  for_any_case([](PolicyCase& made) {
    made.config.after_decision = [](const schedule::TrainingState& state, Time) {
      for (const schedule::PoolState& pool : state.pools) {
        schedule::BlockMap map = pool.closed;
        for (const JobId id : pool.active) map.cover(state.job(id).block);
        for (const JobId id : pool.active) {
          const schedule::TrainingJob& job = state.job(id);
          RC_ASSERT(!job.block.is_none() || schedule::asked_gpus(job) > map.free_count());
        }
      }
    };
    play(made);
  });
}

TEST_P(EveryPolicyOfFixedSizes, FinishesWhatLosesItsWorkWhenStopped) {
  for_any_case(expect_all_finished, true);
}

TEST_P(EveryPolicy, DecidesTheSameOnTheSame) {
  for_any_case([](PolicyCase& made) {
    std::vector<Record> first;
    std::vector<Record> second;
    made.config.on_record = [&](const Record& record) { first.push_back(record); };
    play(made);
    made.config.on_record = [&](const Record& record) { second.push_back(record); };
    play(made);
    RC_ASSERT(first == second);
  });
}

INSTANTIATE_TEST_SUITE_P(All, EveryPolicy, ::testing::ValuesIn(all_policies()), name_of_test);
INSTANTIATE_TEST_SUITE_P(All, EveryPolicyOfFixedSizes,
                         ::testing::ValuesIn(policies_of_fixed_sizes()), name_of_test);

}  // namespace
}  // namespace weir::simulate
