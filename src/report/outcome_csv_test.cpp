// SPDX-License-Identifier: Apache-2.0
#include "report/outcome_csv.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "report/outcomes_testing.h"

namespace weir::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(OutcomeCsv, HasARowForEachRunAndAColumnForEachPercentage) {
  simulate::InflationOutcome run = a_run("fgd", 42, 95, "a,b");
  run.arrived[99] = {};
  const std::string csv = outcome_csv(std::vector{run});
  EXPECT_THAT(csv, StartsWith("policy,workload,tasks_file,seed,gpus,tasks,failed,failed_cpu_only,"
                              "allocated_0,allocated_1,"));
  EXPECT_THAT(csv, HasSubstr("\nfgd,\"a,b\",\"traces/a,b.csv\",42,100,1000,15,5,0.0000,1.0000,"));
  EXPECT_THAT(csv, HasSubstr(",95.0000,,95.0000,"));  // nothing rounds to 99
  const std::string header = csv.substr(0, csv.find('\n'));
  const std::string row = csv.substr(csv.find('\n') + 1);
  EXPECT_EQ(std::count(header.begin(), header.end(), ','), 8 + 2 * 131 - 1);
  EXPECT_EQ(std::count(row.begin(), row.end(), ','), 8 + 2 * 131 - 1 + 2);  // two are quoted
}

TEST(OutcomeCsv, HoldsChurnRunsToo) {
  simulate::ChurnOutcome run = a_churn_run("fgd", 0.9, "fifo", 42, 12.5);
  run.timing = simulate::DecisionTiming{0.75};
  EXPECT_EQ(
      outcome_csv(std::vector{run}),
      "policy,workload,tasks_file,queue,expectation,load,seed,jobs,never_fit,wait_mean_s,"
      "wait_p99_s,allocated_percent,fragmented_percent,makespan_s,decision_us_mean\n"
      "fgd,default,traces/default.csv,fifo,oracle,0.9,42,1000,0,12.5,100,81,6.5,1000000,0.75\n");
}

}  // namespace
}  // namespace weir::report
