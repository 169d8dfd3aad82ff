// SPDX-License-Identifier: Apache-2.0
//
// Programs that lose their work when they are stopped, beside training jobs that do not.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "formats/cluster_shorthand.h"
#include "simulate/training_run.h"

namespace weir::simulate {
namespace {

const CurveKey kElastic{"elastic", 1};
const CurveKey kPlain{"any program", 0};

std::vector<CurveBook> curves() {
  CurveBook book;
  book.curves[kElastic] = Curve{{{1, IterationRate{10'000'000}},
                                 {2, IterationRate{19'000'000}},
                                 {4, IterationRate{36'000'000}}}};
  std::vector<CurvePoint> flat;
  for (const int gpus : {1, 2, 4, 8}) flat.push_back({gpus, IterationRate{1'000'000'000}});
  book.curves[kPlain] = Curve{std::move(flat), CurveOrigin::assumed};
  return {book};
}

TrainingArrival arrival(Time at, bool is_plain, DeadlineKind kind) {
  TrainingArrival made;
  made.submitted = at;
  made.spec.deadline_kind = kind;
  const auto length = *rc::gen::inRange(5, 300);
  if (is_plain) {
    made.spec.curve = kPlain;
    made.spec.iterations = length * 1000;
    made.spec.asked_gpus = *rc::gen::element(1, 1, 2, 4);
    made.spec.is_rigid = made.spec.in_one_piece = true;
  } else {
    made.spec.curve = kElastic;
    made.spec.iterations = length * 10;
  }
  made.spec.deadline = at + from_seconds(length * *rc::gen::inRange(1, 8));
  return made;
}

TrainingWorkload any_workload() {
  TrainingWorkload workload;
  Time at{std::chrono::hours{1000}};
  const int count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    at += from_seconds(*rc::gen::inRange(0, 40));
    const auto kind = *rc::gen::element(DeadlineKind::hard, DeadlineKind::hard, DeadlineKind::soft,
                                        DeadlineKind::none);
    workload.jobs.push_back(arrival(at, *rc::gen::arbitrary<bool>(), kind));
    workload.jobs.back().spec.name = std::to_string(i);
  }
  return workload;
}

RC_GTEST_PROP(OnePiece, WhatWasPromisedRunsFromBeginningToEndAndEveryPromiseHolds, ()) {
  const auto cluster = formats::parse_cluster_shorthand(
                           *rc::gen::element(std::string{"1x4xCPU"}, std::string{"2x4xCPU"}))
                           .value();
  const TrainingWorkload workload = any_workload();
  TrainingRunConfig config;
  config.planned_cost = schedule::RescaleCost{from_seconds(*rc::gen::inRange(0, 5)), Duration{0}};
  std::vector<std::pair<JobId, GpuBlock>> resized;
  config.on_record = [&](const Record& record) {
    if (const auto* made = std::get_if<JobResized>(&record.what))
      resized.emplace_back(made->job, made->block);
  };
  const TrainingOutcome outcome = run_training(cluster, workload, curves(), config);
  RC_ASSERT(outcome.missed_after_admission == 0);
  for (std::size_t row = 0; row < workload.jobs.size(); ++row) {
    const auto& job = outcome.by_job[row];
    if (!workload.jobs[row].spec.in_one_piece || !job.is_promised) continue;
    RC_ASSERT(job.finished.has_value());
    RC_ASSERT(std::count_if(resized.begin(), resized.end(), [&](const auto& change) {
                return change.first == JobId{row + 1};
              }) == 1);
  }
}

TEST(OnePiece, APromisedProgramBeginsAtOnceWhenThereIsRoom) {
  TrainingWorkload workload;
  TrainingArrival job;
  job.submitted = Time{std::chrono::hours{1000}};
  job.spec = {"report", kPlain, 10'000, DeadlineKind::hard, job.submitted + std::chrono::hours{1},
              2,        true,   true};
  workload.jobs.push_back(job);
  TrainingRunConfig config;
  config.planned_cost = schedule::RescaleCost{from_seconds(1), Duration{0}};
  const auto outcome =
      run_training(formats::parse_cluster_shorthand("1x4xCPU").value(), workload, curves(), config);
  EXPECT_EQ(outcome.by_job[0].started, job.submitted);
  EXPECT_EQ(outcome.by_job[0].finished, job.submitted + from_seconds(11));
}

}  // namespace
}  // namespace weir::simulate
