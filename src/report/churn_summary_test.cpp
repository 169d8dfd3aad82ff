// SPDX-License-Identifier: Apache-2.0
#include "report/churn_summary.h"

#include <gmock/gmock.h>

#include "report/outcomes_testing.h"

namespace weir::report {
namespace {

using ::testing::ElementsAre;

TEST(ChurnSummary, HasARowForEachLoadQueueAndPolicy) {
  const std::vector<simulate::ChurnOutcome> runs = {
      a_churn_run("fgd", 0.9, "fifo", 42, 10), a_churn_run("fgd", 0.9, "fifo", 43, 14),
      a_churn_run("fgd", 0.9, "backfill", 42, 5), a_churn_run("fgd", 1.1, "fifo", 42, 100)};
  const auto summaries = summarise(runs);
  ASSERT_EQ(summaries.size(), 3U);
  const auto tables = churn_tables(summaries);
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].title,
            "default: jobs come and go, oracle workload, 2 seeds, mean ± standard deviation");
  // Waits 10 and 14: mean 12, deviation 2.8; p99 is eight times that.
  EXPECT_THAT(tables[0].rows[0], ElementsAre("0.90", "fifo", "fgd", "12.0 ± 2.8", "96.0 ± 22.6",
                                             "81.00 ± 0.00", "6.50 ± 0.00", "0 ± 0"));
  EXPECT_THAT(tables[0].rows[2],
              ElementsAre("1.10", "fifo", "fgd", "100.0", "800.0", "99.00", "6.50", "0"));
}

}  // namespace
}  // namespace weir::report
