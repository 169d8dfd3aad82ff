// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/text_table.h"

namespace weir::cli {
namespace {

using namespace std::chrono_literals;

RunReady ready_after(Duration import, bool is_warm = false) {
  RunReady ready;
  ready.times.stop = 100ms;
  ready.times.import = import;
  ready.times.is_warm = is_warm;
  return ready;
}

RunProgress with_loss_at_step(std::int64_t step) {
  RunProgress progress;
  progress.iterations = step;
  progress.loss = 0.25;
  return progress;
}

// 1 -> 2 -> 1 GPUs at steps 100 and 200, then the end.
RunCourse a_resized_course() {
  RunCourse course{{.sizes = {1, 2, 1}, .at_steps = {100, 200}}, 1};
  course.begin(0s);
  course.on_report({JobId{1}, 1, ready_after(9s)}, 1s);
  course.on_report({JobId{1}, 1, with_loss_at_step(100)}, 2s);
  course.on_report({JobId{1}, 2, ready_after(2s)}, 5s);
  course.on_report({JobId{1}, 2, with_loss_at_step(200)}, 6s);
  course.on_report({JobId{1}, 3, ready_after(500ms, true)}, 7s);
  course.on_report({JobId{1}, 3, RunEnded{RunEndKind::exited, 0, "exit code 0"}}, 8s);
  return course;
}

TEST(RunSummary, HasARowForEachChangeAndTheirMedians) {
  EXPECT_EQ(
      report::to_text(change_table(a_resized_course())),
      "What each change took, in seconds\n"
      "GPUs    after step  announce  save   stop  wait  start  import  load  step  without work"
      "  in all  warm\n"
      "------  ----------  --------  ----  -----  ----  -----  ------  ----  ----  ------------"
      "  ------  ----\n"
      "1 -> 2         100         -     -  0.100     -      -   2.000     -     -         2.100"
      "   3.000  no\n"
      "2 -> 1         200         -     -  0.100     -      -   0.500     -     -         0.600"
      "   1.000  yes\n"
      "median                     -     -  0.100     -      -   0.500     -     -         0.600"
      "   1.000\n");
}

TEST(RunSummary, TheSameForPrograms) {
  const ApiJson json = run_summary(a_resized_course(), 8s);
  EXPECT_EQ(json["outcome"], "finished");
  EXPECT_EQ(json["step"], 200);
  EXPECT_EQ(json["loss"], 0.25);
  ASSERT_EQ(json["starts"].size(), 3U);
  EXPECT_EQ(json["starts"][0]["why"], "first");
  EXPECT_EQ(json["starts"][1]["from"], 1);
  EXPECT_EQ(json["starts"][1]["to"], 2);
  EXPECT_EQ(json["starts"][1]["import"], 2.0);
  EXPECT_EQ(json["starts"][1]["in_all"], 3.0);
  EXPECT_TRUE(json["starts"][1]["load"].is_null()) << "nobody told";
  EXPECT_EQ(json["median"]["import"], 0.5);
}

TEST(RunSummary, AChangeThatNeverGotReadyHasNoTimes) {
  RunCourse course{{.sizes = {1, 2}, .at_steps = {1}}, 1};
  course.begin(0s);
  course.on_report({JobId{1}, 1, with_loss_at_step(1)}, 1s);
  course.on_report({JobId{1}, 2, RunEnded{RunEndKind::exited, 1, "exit code 1"}}, 2s);
  EXPECT_EQ(change_table(course).rows.size(), 1U);
  EXPECT_EQ(change_table(course).rows[0].back(), "-");
  EXPECT_TRUE(run_summary(course, 2s)["starts"][1]["ready"].is_null());
}

}  // namespace
}  // namespace weir::cli
