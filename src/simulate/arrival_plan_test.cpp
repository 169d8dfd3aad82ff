// SPDX-License-Identifier: Apache-2.0
#include "simulate/arrival_plan.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weir::simulate {
namespace {

using namespace std::chrono_literals;

WorkloadJob job(Duration submitted, Duration run_time, int gpus) {
  WorkloadJob job;
  job.spec.shape.gpu_count = gpus;
  job.spec.shape.gpu_share = kWholeGpu;
  job.timing = JobTiming{submitted, run_time};
  return job;
}

TEST(Percentile, IsTheSmallestValueThatEnoughDoNotExceed) {
  std::vector<Duration> values;
  for (int i = 100; i >= 1; --i) values.push_back(Duration{i});
  EXPECT_EQ(percentile(values, 99), Duration{99});
  EXPECT_EQ(percentile(values, 100), Duration{100});
  EXPECT_EQ(percentile({Duration{5}}, 50), Duration{5});
  EXPECT_EQ(percentile({}, 50), Duration{0});
}

TEST(ArrivalPlan, CompressesGapsToTheOfferedLoadAndKeepsOrderAndProportions) {
  // Work: 150 s + 150 s + 300 s GPU seconds = 600; on 4 GPUs at load 0.5 one pass lasts 300 s.
  const Workload workload{"w", {job(1000s, 150s, 1), job(3000s, 150s, 2), job(1500s, 150s, 1)}};
  const ArrivalPlan plan{workload, MilliGpu{4000}, 50};
  EXPECT_EQ(plan.job(0), 0U);
  EXPECT_EQ(plan.job(1), 2U);
  EXPECT_EQ(plan.job(2), 1U);
  // The span of 2000 s and one mean gap of 1000 s become 300 s: a tenth.
  EXPECT_EQ(plan.arrival(0), Time{0s});
  EXPECT_EQ(plan.arrival(1), Time{50s});
  EXPECT_EQ(plan.arrival(2), Time{200s});
  EXPECT_EQ(plan.arrival(3), Time{300s});  // the next pass
}

TEST(ArrivalPlan, PlaysTheTraceUntilArrivalsSpanTwiceTheLongestRun) {
  const Workload workload{"w", {job(0s, 1000s, 1), job(10s, 1000s, 1)}};
  const ArrivalPlan plan{workload, MilliGpu{10'000}, 100};  // a pass lasts 200 s
  EXPECT_EQ(plan.passes(), 10);
  EXPECT_EQ(plan.size(), 20U);
  EXPECT_EQ(plan.measure_from(), Time{1000s});
  EXPECT_EQ(plan.measure_until(), Time{2000s});
}

TEST(ArrivalPlan, CapsRunTimesAtTheNinetyNinthPercentile) {
  Workload workload{"w", {}};
  for (int i = 1; i <= 100; ++i) workload.jobs.push_back(job(Duration{i}, i * 1s, 1));
  workload.jobs.back().timing->run_time = 1'000'000s;
  const ArrivalPlan plan{workload, MilliGpu{1000}, 100};
  EXPECT_EQ(plan.run_time(99), 99s);
  EXPECT_EQ(plan.run_time(50), 51s);
}

TEST(ArrivalPlan, RefusesWhatWouldNeverEnd) {
  // One second of GPU work per pass against a run of a year: 63 million passes.
  Workload endless{"w", {job(0s, 1s, 1), job(1s, 8760h, 0)}};
  endless.jobs[1].spec.shape = Shape{};
  EXPECT_TRUE((ArrivalPlan{endless, MilliGpu{1000}, 100}.is_too_long()));
  // A century of work at a load of 1 %.
  const Workload century{"w", {job(0s, 876'000h, 1)}};
  EXPECT_TRUE((ArrivalPlan{century, MilliGpu{1000}, 1}.is_too_long()));
  EXPECT_EQ((ArrivalPlan{century, MilliGpu{1000}, 1}.size()), 0U);
}

TEST(ArrivalPlan, AsRecordedEachJobComesOnceWhenItCameAndRunsAsLongAsItRan) {
  const Workload workload{"w", {job(100s, 5000s, 1), job(160s, 1s, 1), job(130s, 7s, 1)}};
  const ArrivalPlan plan = ArrivalPlan::as_recorded(workload);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan.arrival(0), Time{0s});
  EXPECT_EQ(plan.arrival(1), Time{30s});
  EXPECT_EQ(plan.job(1), 2U);
  EXPECT_EQ(plan.run_time(0), Duration{5000s}) << "nothing is capped";
  EXPECT_EQ(plan.measure_from(), Time{0s}) << "all of it counts";
  EXPECT_EQ(ArrivalPlan::as_recorded({}).size(), 0U);
}

TEST(ArrivalPlan, AnEmptyTraceHasNoArrivals) {
  EXPECT_EQ((ArrivalPlan{Workload{}, MilliGpu{1000}, 100}.size()), 0U);
}

TEST(ArrivalPlan, JobsThatAllArriveAtOnceStillArrive) {
  const Workload workload{"w", {job(5s, 10s, 1), job(5s, 10s, 1)}};
  const ArrivalPlan plan{workload, MilliGpu{1000}, 100};
  EXPECT_EQ(plan.arrival(0), plan.arrival(1));
}

}  // namespace
}  // namespace weir::simulate
