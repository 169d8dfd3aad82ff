// SPDX-License-Identifier: Apache-2.0
//
// Admission, from outside: what is submitted and what is answered.
#include "schedule/admit/promises.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <iostream>
#include <set>

#include "domain/seeded_rng.h"
#include "schedule/admit/audit.h"
#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

TEST(Promises, AJobIsPromisedOnlyWithThePriceOfItsStart) {
  PoolUnderTest pool{1, 1, kTwoSeconds};
  EXPECT_FALSE(is_promised_in(pool.submit(a_training_job().iterations(981).deadline(100))));
  EXPECT_TRUE(is_promised_in(pool.submit(a_training_job().iterations(980).deadline(100))));
}

TEST(Promises, AnotherJobIsPlannedAnewToMakeRoom) {
  PoolUnderTest pool{1, 2, kFreeRescales};
  // Alone it would take one GPU for the last 50 s; the newcomer needs both GPUs for 60 s.
  const auto patient = a_training_job().curve({{1, 10}, {2, 20}}).iterations(500).deadline(100);
  EXPECT_TRUE(is_promised_in(pool.submit(patient)));
  const auto records =
      pool.submit(a_training_job().curve({{2, 20}}).iterations(1200).deadline(100));
  EXPECT_TRUE(is_promised_in(records));
  EXPECT_EQ(all_of<TimelineRevised>(records).size(), 1U);
}

TEST(Promises, SurplusIsWhatTheTimelineDoesBeyondTheNeed) {
  PoolUnderTest pool{1, 2, kTwoSeconds};
  // 2 s to start, then 48 s at 10/s; 400 are needed.
  const JobId id = pool.promise(a_training_job().iterations(400).deadline(100),
                                {{{at_second(0), {0, 1}}}, at_second(50)});
  EXPECT_EQ(surplus(pool.job(id), at_second(0)), work_of_iterations(80));
  // Started 10 s late: 38 s are left after the price.
  EXPECT_EQ(surplus(pool.job(id), at_second(10)), work_of_iterations(-20));
}

TEST(Promises, WorkAfterTheDeadlineIsNoSurplus) {
  PoolUnderTest pool{1, 2, kFreeRescales};
  const JobId id = pool.promise(a_training_job().iterations(400).deadline(40),
                                {{{at_second(0), {0, 1}}}, at_second(50)});
  EXPECT_EQ(surplus(pool.job(id), at_second(0)), Work{});
}

TEST(Promises, LaxityIsHowLongTheJobCouldWait) {
  PoolUnderTest pool{1, 2, kFreeRescales};
  const JobId id =
      pool.accept(a_training_job().curve({{1, 10}, {2, 20}}).iterations(400).deadline(100));
  EXPECT_EQ(laxity(pool.job(id), at_second(30), at_second(100)), from_seconds(50));
}

TEST(Promises, ASoftDeadlineThatCannotBePromisedIsAcceptedWithoutPromise) {
  PoolUnderTest pool{1, 1, kFreeRescales};
  const auto records = pool.submit(a_training_job().iterations(1001).soft_deadline(100));
  EXPECT_EQ(all_of<JobUnpromised>(records).size(), 1U);
}

RC_GTEST_PROP(Promises, ARefusalChangesNothingAndItsCounterOfferHolds, ()) {
  PoolUnderTest pool{1, 8, any_cost()};
  pool.config.has_gate = false;
  const int jobs = between(1, 10);
  bool was_refused = false;
  for (int i = 0; i < jobs; ++i) {
    const Curve curve = any_curve(8);
    const auto seconds = between<std::int64_t>(5, 200);
    auto job = a_training_job()
                   .curve(curve)
                   .iterations(curve.useful().front().rate.value / 1'000'000 * seconds)
                   .deadline(1 + seconds * between(2, 20) / 10);
    const auto timelines = [&] {
      std::vector<Timeline> all;
      for (const JobId id : pool.pool().active) all.push_back(pool.job(id).timeline);
      return all;
    };
    const auto before = timelines();
    const auto refused = all_of<PromiseRefused>(pool.submit(job));
    if (refused.empty()) continue;
    was_refused = true;
    RC_ASSERT(timelines() == before);
    RC_ASSERT(refused.front().earliest.has_value());
    const Time offer = *refused.front().earliest;
    RC_ASSERT(is_promised_in(pool.submit(job.deadline(offer))));
    RC_ASSERT(audit_promises(pool.state(), pool.pool(), at_second(0)).violations ==
              std::vector<std::string>{});
  }
  RC_CLASSIFY(was_refused);
}

// --- Against everything that could be done. ---

constexpr int kMostJobs = 4;
constexpr int kMostSlots = 6;

struct TinyJob {
  Curve curve;
  int iterations = 0;
  int deadline = 0;  // slots of a second
};

// All ways to give jobs sizes slot by slot, rescales being free: the sets of work left that can be
// reached, dominated ones dropped.
class Search {
 public:
  Search(const std::vector<TinyJob>& jobs, int gpus) : jobs_{jobs}, gpus_{gpus} {}

  bool is_feasible() {
    Left start(jobs_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) start[i] = jobs_[i].iterations;
    std::set<Left> reached{start};
    for (int slot = 0; slot < kMostSlots; ++slot) {
      std::set<Left> next;
      for (const Left& left : reached) give(left, 0, gpus_, slot, next);
      reached = undominated(next);
      if (reached.empty()) return false;
    }
    return true;
  }

 private:
  using Left = std::vector<int>;

  void give(Left left, std::size_t job, int free, int slot, std::set<Left>& next) {
    if (job == jobs_.size()) {
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (left[i] > 0 && jobs_[i].deadline <= slot + 1) return;
      }
      next.insert(left);
      return;
    }
    give(left, job + 1, free, slot, next);
    if (left[job] == 0) return;
    for (const CurvePoint& point : jobs_[job].curve.useful()) {
      if (point.gpus > free) break;
      Left less = left;
      less[job] = std::max(0, left[job] - static_cast<int>(point.rate.value / 1'000'000));
      give(less, job + 1, free - point.gpus, slot, next);
    }
  }

  static std::set<Left> undominated(const std::set<Left>& all) {
    std::set<Left> kept;
    for (const Left& left : all) {
      const bool is_worse = std::any_of(kept.begin(), kept.end(), [&](const Left& better) {
        for (std::size_t i = 0; i < left.size(); ++i) {
          if (better[i] > left[i]) return false;
        }
        return true;
      });
      if (!is_worse) kept.insert(left);
    }
    return kept;
  }

  const std::vector<TinyJob>& jobs_;
  int gpus_;
};

TinyJob tiny_job(SeededRng& rng, int gpus) {
  std::vector<CurvePoint> points;
  auto rate = static_cast<std::int64_t>(rng.below(6) + 2);
  for (std::int32_t size = 1; size <= gpus; size *= 2) {
    points.push_back({size, per_second(rate)});
    rate += static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(rate) + 2));
  }
  TinyJob job{Curve{std::move(points)}, 0, static_cast<int>(rng.below(kMostSlots) + 1)};
  const auto most =
      static_cast<std::uint64_t>(job.curve.useful().back().rate.value / 1'000'000 * job.deadline);
  job.iterations = static_cast<int>(rng.below(most) + 1);
  return job;
}

// Never more than is possible; and how much of what is possible is refused. Slots of a second, up
// to 6; 4 or 8 GPUs; up to 4 jobs that come at once; rescales are free.
TEST(Promises, NothingIsPromisedThatNoScheduleCouldKeepAndLittleElseIsRefused) {
  SeededRng rng{7};
  int refused_though_feasible = 0;
  int feasible = 0;
  for (int round = 0; round < 2000; ++round) {
    const int gpus = rng.below(2) == 0 ? 4 : 8;
    PoolUnderTest pool{1, gpus, kFreeRescales};
    pool.config.slot = from_seconds(1);
    pool.config.makes_counter_offers = false;
    std::vector<TinyJob> promised;
    for (int i = 0; i < kMostJobs; ++i) {
      promised.push_back(tiny_job(rng, gpus));
      const TinyJob& job = promised.back();
      const bool is_feasible = Search{promised, gpus}.is_feasible();
      const bool is_promised = is_promised_in(pool.submit(
          a_training_job().curve(job.curve).iterations(job.iterations).deadline(job.deadline)));
      ASSERT_TRUE(is_feasible || !is_promised) << "round " << round << ", job " << i;
      feasible += is_feasible;
      refused_though_feasible += is_feasible && !is_promised;
      if (!is_promised) promised.pop_back();
    }
    ASSERT_TRUE(audit_promises(pool.state(), pool.pool(), Time{}).violations.empty());
  }
  std::cout << "refused though feasible: " << refused_though_feasible << " of " << feasible << "\n";
  RecordProperty("refused_though_feasible", refused_though_feasible);
  EXPECT_GT(feasible, 5000);
  EXPECT_LT(refused_though_feasible * 100, feasible * 2);
}

}  // namespace
}  // namespace weir::schedule
