// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_course.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace weir::cli {
namespace {

constexpr int kSignalBase = 128;
constexpr int kHung = 124;             // as `timeout` has it
constexpr int kCannotBeStarted = 126;  // as shells have it
constexpr int kNotFound = 127;

}  // namespace

int exit_code_of(const RunEnded& end) {
  switch (end.kind) {
    case RunEndKind::exited:
      return end.code;
    case RunEndKind::signalled:
      return kSignalBase + end.code;
    case RunEndKind::out_of_memory:
      return kSignalBase + SIGKILL;
    case RunEndKind::not_started:
      return end.code == ENOENT ? kNotFound : kCannotBeStarted;
    case RunEndKind::hung:
      return kHung;
    case RunEndKind::lost:
      break;
  }
  return 1;
}

RunCourse::RunCourse(CoursePlan plan, std::uint32_t first_generation)
    : plan_{std::move(plan)}, generation_{first_generation - 1} {}

CourseOrder RunCourse::begin(Duration now) {
  return start(StartCause::first, now);
}

CourseOrder RunCourse::start(StartCause cause, Duration now) {
  ++generation_;
  change_at_.reset();
  CourseStart next;
  next.generation = generation_;
  next.gpus = plan_.sizes[place_];
  next.gpus_before = starts_.empty() ? 0 : starts_.back().gpus;
  next.cause = cause;
  next.ordered_at = now;
  next.step = step_;
  starts_.push_back(next);
  return {generation_, next.gpus, restarts_};
}

std::optional<CourseOrder> RunCourse::resize(Duration now) {
  ++place_;
  return start(StartCause::resized, now);
}

std::optional<CourseOrder> RunCourse::on_report(const RunReport& report, Duration now) {
  if (outcome_ || report.generation != generation_) return std::nullopt;
  if (interrupts_ > 0) {
    if (std::holds_alternative<RunStopped>(report.what)) {
      outcome_ = {CourseEnd::interrupted, kSignalBase + interrupted_by_, "interrupted"};
    }
    return std::nullopt;
  }
  if (const auto* ready = std::get_if<RunReady>(&report.what)) on_ready(*ready, now);
  if (const auto* progress = std::get_if<RunProgress>(&report.what)) {
    return on_progress(*progress, now);
  }
  if (const auto* end = std::get_if<RunEnded>(&report.what)) return on_end(*end, now);
  return std::nullopt;
}

std::optional<CourseOrder> RunCourse::on_time(Duration now) {
  if (outcome_ || !change_at_ || now < *change_at_) return std::nullopt;
  return resize(now);
}

std::optional<CourseOrder> RunCourse::on_interrupt(int signal) {
  if (outcome_ || ++interrupts_ > 1) return std::nullopt;
  interrupted_by_ = signal;
  change_at_.reset();
  ++generation_;
  return CourseOrder{generation_, 0, restarts_};
}

void RunCourse::on_ready(const RunReady& ready, Duration now) {
  CourseStart& latest = starts_.back();
  if (latest.ready_at) return;
  latest.ready_at = now;
  latest.times = ready.times;
  if (plan_.every && has_more_sizes()) change_at_ = now + *plan_.every;
}

std::optional<CourseOrder> RunCourse::on_progress(const RunProgress& progress, Duration now) {
  // After a change it may be behind what it was: it goes on from its checkpoint.
  step_ = progress.iterations;
  if (progress.loss) loss_ = progress.loss;
  const bool is_due =
      place_ < plan_.at_steps.size() && progress.iterations >= plan_.at_steps[place_];
  if (!is_due) return std::nullopt;
  return resize(now);
}

std::optional<CourseOrder> RunCourse::on_end(const RunEnded& end, Duration now) {
  change_at_.reset();
  if (end.succeeded()) {
    outcome_ = {CourseEnd::finished, 0, end.explanation};
    return std::nullopt;
  }
  if (end.asks_to_resume()) return resume(now);
  const bool may_help = end.kind != RunEndKind::not_started;
  if (may_help && restarts_ < static_cast<std::uint32_t>(plan_.retries)) {
    ++restarts_;
    return start(StartCause::retried, now);
  }
  outcome_ = {CourseEnd::failed, exit_code_of(end), end.explanation};
  if (restarts_ > 0) outcome_->explanation += fmt::format(", after {} retries", restarts_);
  return std::nullopt;
}

std::optional<CourseOrder> RunCourse::resume(Duration now) {
  if (step_ > step_at_resume_) resumes_without_progress_ = 0;
  step_at_resume_ = std::max(step_, step_at_resume_);
  if (++resumes_without_progress_ <= kMostResumesWithoutProgress) {
    return start(StartCause::resumed, now);
  }
  outcome_ = {CourseEnd::failed, kResumeCode,
              fmt::format("it left {} times in a row to be resumed (exit code {}) without a step",
                          resumes_without_progress_, kResumeCode)};
  return std::nullopt;
}

}  // namespace weir::cli
