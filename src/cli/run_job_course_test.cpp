// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_course.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <csignal>

namespace weir::cli {
namespace {

using namespace std::chrono_literals;
using What = decltype(RunReport::what);

RunReport of(std::uint32_t generation, What what) {
  return {JobId{1}, generation, std::move(what)};
}
RunEnded left_with(std::int32_t code) {
  return {RunEndKind::exited, code, "exit code " + std::to_string(code)};
}
RunProgress at_step(std::int64_t step) {
  RunProgress progress;
  progress.iterations = step;
  return progress;
}

TEST(RunCourse, AJobThatEndsWellIsOver) {
  RunCourse course{{}, 4};
  EXPECT_EQ(course.begin(0s), (CourseOrder{4, 1, 0}));
  EXPECT_FALSE(course.on_report(of(4, RunReady{}), 1s));
  EXPECT_FALSE(course.on_report(of(4, left_with(0)), 2s));
  ASSERT_TRUE(course.outcome());
  EXPECT_EQ(course.outcome()->end, CourseEnd::finished);
  EXPECT_EQ(course.outcome()->exit_code, 0);
  EXPECT_FALSE(course.was_resized());
}

TEST(RunCourse, SizesChangeSoLongAfterTheJobIsReady) {
  RunCourse course{{.sizes = {1, 2, 1}, .every = 10s}, 1};
  course.begin(0s);
  EXPECT_FALSE(course.next_time());
  course.on_report(of(1, RunReady{}), 3s);
  EXPECT_EQ(course.next_time(), Duration{13s});
  EXPECT_FALSE(course.on_time(12s));
  EXPECT_EQ(course.on_time(13s), (CourseOrder{2, 2, 0}));
  EXPECT_FALSE(course.on_time(60s)) << "the next counts from when it is ready again";
  course.on_report(of(2, RunReady{}), 60s);
  EXPECT_EQ(course.on_time(70s), (CourseOrder{3, 1, 0}));
  course.on_report(of(3, RunReady{}), 71s);
  EXPECT_FALSE(course.next_time());
  EXPECT_TRUE(course.was_resized());
}

TEST(RunCourse, SizesChangeAtSteps) {
  RunCourse course{{.sizes = {1, 2, 1}, .at_steps = {100, 200}}, 1};
  course.begin(0s);
  EXPECT_FALSE(course.on_report(of(1, at_step(99)), 1s));
  EXPECT_EQ(course.on_report(of(1, at_step(101)), 2s), (CourseOrder{2, 2, 0}));
  EXPECT_FALSE(course.on_report(of(1, at_step(300)), 3s)) << "of a generation that is gone";
  EXPECT_FALSE(course.on_report(of(2, at_step(100)), 4s));
  EXPECT_EQ(course.on_report(of(2, at_step(200)), 5s), (CourseOrder{3, 1, 0}));
  EXPECT_FALSE(course.on_report(of(3, at_step(500)), 6s));
  EXPECT_EQ(course.starts()[1].step, 101);
  EXPECT_EQ(course.starts()[1].gpus_before, 1);
}

TEST(RunCourse, AFailureIsRetriedAndThenIsTheExitCode) {
  RunCourse course{{.retries = 1}, 1};
  course.begin(0s);
  EXPECT_EQ(course.on_report(of(1, left_with(7)), 1s), (CourseOrder{2, 1, 1}));
  EXPECT_FALSE(course.on_report(of(2, left_with(8)), 2s));
  EXPECT_EQ(course.outcome()->exit_code, 8);
  EXPECT_EQ(course.outcome()->explanation, "exit code 8, after 1 retries");
}

TEST(RunCourse, AProgramThatCannotBeStartedIsNotRetried) {
  RunCourse course{{.retries = 9}, 1};
  course.begin(0s);
  EXPECT_FALSE(course.on_report(of(1, RunEnded{RunEndKind::not_started, ENOENT, "none"}), 1s));
  EXPECT_EQ(course.outcome()->exit_code, 127);
}

TEST(RunCourse, AJobThatLeavesToBeResumedIsStartedAgainWhileItGetsOn) {
  RunCourse course{{}, 1};
  course.begin(0s);
  std::uint32_t generation = 1;
  for (; generation <= 20; ++generation) {
    course.on_report(of(generation, at_step(generation)), 1s);
    ASSERT_EQ(course.on_report(of(generation, left_with(kResumeCode)), 2s),
              (CourseOrder{generation + 1, 1, 0}));
  }
  for (int i = 1; i < kMostResumesWithoutProgress; ++i, ++generation) {
    ASSERT_TRUE(course.on_report(of(generation, left_with(kResumeCode)), 3s)) << i;
  }
  EXPECT_FALSE(course.on_report(of(generation, left_with(kResumeCode)), 3s));
  ASSERT_TRUE(course.outcome());
  EXPECT_EQ(course.outcome()->exit_code, kResumeCode);
}

TEST(RunCourse, AnInterruptStopsTheJobAndASecondKillsIt) {
  RunCourse course{{.sizes = {1, 2}, .every = 1s}, 1};
  course.begin(0s);
  course.on_report(of(1, RunReady{}), 1s);
  EXPECT_EQ(course.on_interrupt(SIGINT), (CourseOrder{2, 0, 0}));
  EXPECT_FALSE(course.wants_kill());
  EXPECT_FALSE(course.on_time(9s)) << "no change of size any more";
  EXPECT_FALSE(course.on_interrupt(SIGINT));
  EXPECT_TRUE(course.wants_kill());
  EXPECT_FALSE(course.outcome());
  course.on_report(of(2, RunStopped{}), 10s);
  EXPECT_EQ(course.outcome()->exit_code, 130);
}

TEST(RunCourse, ExitCodesAreThoseAShellShows) {
  EXPECT_EQ(exit_code_of({RunEndKind::signalled, SIGSEGV, ""}), 139);
  EXPECT_EQ(exit_code_of({RunEndKind::out_of_memory, 0, ""}), 137);
  EXPECT_EQ(exit_code_of({RunEndKind::not_started, EACCES, ""}), 126);
  EXPECT_EQ(exit_code_of({RunEndKind::hung, 0, ""}), 124);
  EXPECT_EQ(exit_code_of({RunEndKind::lost, 0, ""}), 1);
}

// Of the whole range also in the first, small cases.
int pick(int least, int end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(least, end));
}

What any_what(std::int64_t step) {
  switch (pick(0, 24)) {
    case 1:
      return left_with(0);
    case 2:
      return left_with(1);
    case 3:
      return left_with(kResumeCode);
    case 4:
      return RunStopped{};
    case 5:
    case 6:
    case 7:
    case 8:
      return RunReady{};
    default:
      return at_step(step);
  }
}

// Whatever is reported, in whatever order: generations rise, sizes come in the order of the plan,
// failures are retried so often and no more, and after the end nothing is ordered.
RC_GTEST_PROP(RunCourse, KeepsToItsPlanWhateverIsReported, ()) {
  CoursePlan plan;
  plan.sizes = {1, 2, 4, 1};
  if (*rc::gen::arbitrary<bool>()) {
    plan.every = 5s;
  } else {
    plan.at_steps = {10, 20, 30};
  }
  plan.retries = pick(0, 3);
  RunCourse course{plan, 1};
  CourseOrder last = course.begin(0s);
  std::size_t place = 0;
  std::size_t resizes = 0;
  bool is_interrupted = false;
  Duration now{0};
  const int events = pick(1, 60);
  for (int i = 0; i < events; ++i) {
    const bool was_over = course.outcome().has_value();
    now += std::chrono::seconds{pick(0, 4)};
    std::optional<CourseOrder> order;
    const int kind = pick(0, 60);
    const bool interrupts = kind == 0;
    if (interrupts) {
      order = course.on_interrupt(SIGINT);
    } else if (kind < 20) {
      order = course.on_time(now);
    } else {
      const bool is_stale = pick(0, 5) == 0;
      const auto generation = is_stale ? last.generation - 1 : last.generation;
      order = course.on_report(of(generation, any_what(pick(0, 40))), now);
    }
    if (!order) continue;
    RC_ASSERT(!was_over);
    RC_ASSERT(!is_interrupted);
    RC_ASSERT(order->generation == last.generation + 1);
    RC_ASSERT(order->restarts <= static_cast<std::uint32_t>(plan.retries));
    is_interrupted = interrupts;
    if (interrupts) {
      RC_ASSERT(order->gpus == 0);
    } else {
      if (course.starts().back().cause == StartCause::resized) {
        ++place;
        ++resizes;
      }
      RC_ASSERT(place < plan.sizes.size());
      RC_ASSERT(order->gpus == plan.sizes[place]);
    }
    last = *order;
  }
  RC_TAG(resizes);
}

}  // namespace
}  // namespace weir::cli
