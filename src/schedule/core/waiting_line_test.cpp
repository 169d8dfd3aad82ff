// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/waiting_line.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace weir::schedule {
namespace {

TEST(WaitingLine, TheEarliestJobOfAllLanesIsTheHead) {
  WaitingLine line;
  EXPECT_EQ(line.head(), std::nullopt);
  line.join(JobId{5}, ShapeIndex{0}, 1);
  line.join(JobId{3}, ShapeIndex{1}, 1);
  line.join(JobId{4}, ShapeIndex{1}, 2);
  EXPECT_EQ(line.head(), JobId{3});
  EXPECT_EQ(line.lanes().size(), 3U);  // replicas count as well
}

TEST(WaitingLine, AnInterruptedJobTakesItsOldPlace) {
  WaitingLine line;
  line.join(JobId{7}, ShapeIndex{0}, 1);
  line.join(JobId{2}, ShapeIndex{0}, 1);
  EXPECT_EQ(line.head(), JobId{2});
  line.leave(JobId{2}, ShapeIndex{0}, 1);
  EXPECT_EQ(line.head(), JobId{7});
  EXPECT_EQ(line.size(), 1U);
}

RC_GTEST_PROP(WaitingLine, HeadIsTheSmallestIdWhateverJoinsAndLeaves,
              (std::vector<std::uint8_t> moves)) {
  WaitingLine line;
  std::map<JobId, ShapeIndex> waiting;
  for (const std::uint8_t move : moves) {
    const JobId job{move % 32U};
    const ShapeIndex shape{move % 3U};
    if (const auto at = waiting.find(job); at != waiting.end()) {
      line.leave(job, at->second, 1);
      waiting.erase(at);
    } else {
      line.join(job, shape, 1);
      waiting.emplace(job, shape);
    }
    RC_ASSERT(line.size() == waiting.size());
    RC_ASSERT(line.head() ==
              (waiting.empty() ? std::nullopt : std::optional{waiting.begin()->first}));
  }
}

}  // namespace
}  // namespace weir::schedule
