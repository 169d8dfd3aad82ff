// SPDX-License-Identifier: Apache-2.0
//
// The course of a job that `weir run` runs: which size comes when, what follows from its end, what an
// interrupt means. Pure: reports and the time go in, orders come out. The time counts from the start
// of the command and never goes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/engine.h"
#include "domain/time.h"

namespace weir::cli {

// A job that leaves to be resumed, again and again without a step, would never end.
inline constexpr int kMostResumesWithoutProgress = 5;

struct CoursePlan {
  std::vector<std::int32_t> sizes{1};  // GPUs, one after another; never empty
  std::optional<Duration> every;       // between changes, from when the job is ready
  std::vector<std::int64_t> at_steps;  // or: the step of each change, rising
  std::int32_t retries = 0;            // after failures
};

struct CourseOrder {
  std::uint32_t generation = 0;
  std::int32_t gpus = 0;  // 0: the job is to stop
  std::uint32_t restarts = 0;
  friend bool operator==(const CourseOrder&, const CourseOrder&) = default;
};

enum class StartCause : std::uint8_t { first, resized, resumed, retried };

// One generation of the job, and what it took to come to it.
struct CourseStart {
  std::uint32_t generation = 0;
  std::int32_t gpus = 0;
  std::int32_t gpus_before = 0;
  StartCause cause = StartCause::first;
  Duration ordered_at{};
  std::optional<std::int64_t> step;  // the last one heard of before
  std::optional<Duration> ready_at;  // none: it never was
  ChangeTimes times;
};

enum class CourseEnd : std::uint8_t { finished, failed, interrupted };

struct CourseOutcome {
  CourseEnd end = CourseEnd::finished;
  int exit_code = 0;
  std::string explanation;
};

// The exit code a shell would show: that of the job, or 128 and the signal; 127 when there is no such
// program, 126 when it could not be started, 124 when it hung.
int exit_code_of(const RunEnded& end);

class RunCourse {
 public:
  // Requires: the plan is consistent; the generation is higher than any the engine knows.
  RunCourse(CoursePlan plan, std::uint32_t first_generation);

  // Each gives the order that follows, if any.
  CourseOrder begin(Duration now);
  std::optional<CourseOrder> on_report(const RunReport& report, Duration now);
  std::optional<CourseOrder> on_time(Duration now);
  // The first asks the job to stop; from the second on it is to be killed.
  std::optional<CourseOrder> on_interrupt(int signal);

  bool wants_kill() const { return interrupts_ > 1; }
  std::optional<Duration> next_time() const { return change_at_; }
  const std::optional<CourseOutcome>& outcome() const { return outcome_; }
  const std::vector<CourseStart>& starts() const { return starts_; }
  std::optional<std::int64_t> step() const { return step_; }
  std::optional<double> loss() const { return loss_; }
  std::uint32_t restarts() const { return restarts_; }
  bool was_resized() const { return place_ > 0; }
  // Sizes of the plan that never came.
  std::size_t sizes_left() const { return plan_.sizes.size() - 1 - place_; }

 private:
  CourseOrder start(StartCause cause, Duration now);
  std::optional<CourseOrder> resize(Duration now);
  void on_ready(const RunReady& ready, Duration now);
  std::optional<CourseOrder> on_progress(const RunProgress& progress, Duration now);
  std::optional<CourseOrder> on_end(const RunEnded& end, Duration now);
  std::optional<CourseOrder> resume(Duration now);
  bool has_more_sizes() const { return place_ + 1 < plan_.sizes.size(); }

  CoursePlan plan_;
  std::uint32_t generation_;
  std::size_t place_ = 0;  // in sizes
  std::uint32_t restarts_ = 0;
  int interrupts_ = 0;
  int interrupted_by_ = 0;
  int resumes_without_progress_ = 0;
  std::optional<std::int64_t> step_;
  std::optional<std::int64_t> step_at_resume_;
  std::optional<double> loss_;
  std::optional<Duration> change_at_;
  std::vector<CourseStart> starts_;
  std::optional<CourseOutcome> outcome_;
};

}  // namespace weir::cli
