// SPDX-License-Identifier: Apache-2.0
#include "control/profiling.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "schedule/training_testing.h"

namespace weir::control {
namespace {

using schedule::testing::any_power_of_two;
using schedule::testing::between;
using schedule::testing::per_second;

formats::JobDocument a_document() {
  auto made = formats::read_job_json(
      R"({"name":"bert","command":["x"],"iterations":9,"deadline":"6h","retries":3,"gpus":4,)"
      R"("profile":true,"reports_progress":true,"environment":{"LR":"1","ZZ":"2"}})",
      "test");
  EXPECT_TRUE(made) << (made ? "" : to_string(made.error().details));
  return std::move(*made);
}

TEST(ProfilingPass, StopsAtTheFirstSizeThatDoesNotHelp) {
  ProfilingPass pass{1, 64};
  pass.measured(per_second(100));
  EXPECT_EQ(pass.size(), 2);
  pass.measured(per_second(190));
  EXPECT_EQ(pass.size(), 4);
  pass.measured(per_second(199));
  EXPECT_TRUE(pass.is_over());
  EXPECT_THAT(pass.points(), ::testing::SizeIs(3));
}

TEST(ProfilingPass, StopsAtTheLargestSize) {
  ProfilingPass pass{1, 2};
  pass.measured(per_second(100));
  pass.measured(per_second(190));
  EXPECT_TRUE(pass.is_over());
}

TEST(ProfilingPass, WhatWasMeasuredBeforeAFailureCounts) {
  ProfilingPass pass{1, 8};
  pass.measured(per_second(100));
  pass.failed();
  EXPECT_TRUE(pass.is_over());
  EXPECT_THAT(pass.points(), ::testing::SizeIs(1));
}

RC_GTEST_PROP(ProfilingPass, TriesEachSizeOnceAndNoneAfterOneThatDidNotHelp, ()) {
  const auto last = static_cast<std::int32_t>(any_power_of_two(64));
  ProfilingPass pass{1, last};
  std::int32_t expected = 1;
  while (!pass.is_over()) {
    RC_ASSERT(pass.size() == expected);
    RC_ASSERT(pass.size() <= last);
    pass.measured(per_second(between<std::int64_t>(1, 1000)));
    expected *= 2;
  }
  const auto& points = pass.points();
  for (std::size_t i = 1; i + 1 < points.size(); ++i)
    RC_ASSERT(points[i].rate.value * 20 >= points[i - 1].rate.value * 21);
}

TEST(PassFor, AJobThatCannotChangeItsSizeIsMeasuredThere) {
  formats::JobDocument document = a_document();
  EXPECT_EQ(pass_for(document, 8).size(), 1);
  document.is_rigid = true;
  ProfilingPass pass = pass_for(document, 8);
  EXPECT_EQ(pass.size(), 4);
  pass.measured(per_second(1));
  EXPECT_TRUE(pass.is_over());
}

TEST(ProfileRun, IsTheJobOnSoManyGpusWithoutADeadline) {
  const formats::JobDocument run = profile_run(a_document(), 2);
  EXPECT_EQ(run.name, "bert.profile-2");
  EXPECT_EQ(run.gpus, 2);
  EXPECT_TRUE(run.is_rigid);
  EXPECT_EQ(run.retries, 0);
  EXPECT_EQ(run.kind, DeadlineKind::none);
  EXPECT_EQ(run.launch.command, a_document().launch.command);
  EXPECT_THAT(run.launch.environment,
              ::testing::ElementsAre(std::pair{"LR", "1"}, std::pair{"WEIR_PROFILING", "1"},
                                     std::pair{"ZZ", "2"}));
  const auto read = formats::read_job_json(formats::write_job_json(run), "test");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, run);
}

TEST(ProfileRun, ANameStaysShortEnough) {
  formats::JobDocument document = a_document();
  document.name = std::string(formats::kLongestJobName, 'n');
  const formats::JobDocument run = profile_run(document, 16);
  EXPECT_EQ(run.name.size(), formats::kLongestJobName);
  EXPECT_TRUE(run.name.ends_with(".profile-16"));
}

}  // namespace
}  // namespace weir::control
