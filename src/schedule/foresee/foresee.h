// SPDX-License-Identifier: Apache-2.0
//
// A fork played forward: the scheduler's own core, told what an engine would report if every job ran
// as it is believed to run and nobody else came. A job is ready when its change is expected to be
// over, and done when what is left of it is done at its rate. Pure: equal questions have equal answers.
//
// Limits: nothing fails, changes cost what they are planned to cost, a job that should be done long
// ago is taken to have a hundredth left.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "domain/record.h"
#include "domain/training.h"
#include "schedule/core/core.h"
#include "schedule/foresee/supposition.h"

namespace weir::schedule {

struct ForeseeLimits {
  Duration horizon = std::chrono::hours{24 * 365};
  std::size_t decisions = 100'000;
  std::function<bool()> may_go_on;  // asked before each step; empty: always
  bool keeps_records = false;       // for charts; begins with records that tell how things stand
  std::optional<JobId> only_until_start_of;
  std::optional<JobId> only_until_end_of;
};

enum class ForeseenAnswer : std::uint8_t { promised, no_promise, refused, waits_for_a_curve };

struct ForeseenJob {
  JobId job;  // in the state that was asked; 0 for a supposed job
  std::shared_ptr<const TrainingSpec> spec;
  Time came;  // for a job that was there already, the time of the question
  ForeseenAnswer answer = ForeseenAnswer::no_promise;
  bool is_at_risk = false;      // its promise was, or is, announced as broken
  std::optional<Time> started;  // when it has GPUs; the time of the question if it has
  std::optional<Time> finished;
  std::optional<Time> earliest;  // the counter-offer to a refused job
  std::uint32_t most_gpus = 0;

  bool has_deadline() const { return spec->deadline_kind != DeadlineKind::none; }
  bool is_on_time() const { return has_deadline() && finished && *finished <= spec->deadline; }
};

struct Forecast {
  Time from;
  Time until;               // the last thing that happened
  bool is_complete = true;  // no limit was met
  std::vector<ForeseenJob> jobs;
  WideInteger gpu_time = 0;  // GPU-nanoseconds that jobs had
  std::vector<std::shared_ptr<const TrainingPool>> pools;
  std::int32_t gpus = 0;  // that were up
  std::vector<Record> records;
};

Forecast foresee(State state, const CoreConfig& config, Time now, const Supposition& what,
                 const ForeseeLimits& limits = {});

struct ForecastTotals {
  std::int64_t jobs = 0;
  std::int64_t promised = 0;
  std::int64_t kept = 0;
  std::int64_t refused = 0;
  std::int64_t finished = 0;
  double mean_wait_seconds = 0;  // of those that start
  double utilisation = 0;        // of the GPUs, until the last job is done
};
ForecastTotals totals_of(const Forecast& forecast);

}  // namespace weir::schedule
