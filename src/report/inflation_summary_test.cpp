// SPDX-License-Identifier: Apache-2.0
#include "report/inflation_summary.h"

#include <gtest/gtest.h>

#include "report/outcomes_testing.h"

namespace weir::report {
namespace {

TEST(InflationSummary, PutsSeedsOfOneListAndPolicyTogether) {
  const std::vector<simulate::InflationOutcome> runs = {a_run("fgd", 42, 94), a_run("fgd", 43, 96),
                                                        a_run("best-fit", 42, 91),
                                                        a_run("fgd", 42, 88, "gpuspec33")};
  const auto summaries = summarise(runs);
  ASSERT_EQ(summaries.size(), 3U);
  const InflationSummary& fgd = summaries[0];
  EXPECT_EQ(fgd.policy, "fgd");
  EXPECT_EQ(fgd.seeds, 2U);
  EXPECT_DOUBLE_EQ(fgd.allocated[100]->mean, 95);
  EXPECT_DOUBLE_EQ(fgd.allocated[100]->least, 94);
  EXPECT_DOUBLE_EQ(fgd.allocated[50]->mean, 50);
  EXPECT_DOUBLE_EQ(fgd.fragmented[100]->mean, 5);
  EXPECT_DOUBLE_EQ(fgd.stranded_gpus->mean, 5);  // of 100 GPUs
  EXPECT_DOUBLE_EQ(fgd.failed_cpu_only->mean, 5);

  const auto lists = by_list(summaries);
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[0].workload, "default");
  EXPECT_EQ(lists[0].policies.size(), 2U);
  EXPECT_EQ(lists[1].workload, "gpuspec33");
}

TEST(InflationSummary, APercentageWithoutSamplesHasTheFigureOfTheOneBefore) {
  simulate::InflationOutcome run = a_run("fgd", 42, 94);
  run.arrived[100] = {};
  run.arrived[99].allocated_milli.add(run.capacity.value / 2);
  const auto summaries = summarise(std::vector{run});
  ASSERT_TRUE(summaries[0].allocated[100]);
  EXPECT_EQ(summaries[0].allocated[100]->mean, summaries[0].allocated[99]->mean);
  EXPECT_TRUE(summaries[0].stranded_gpus);
}

TEST(InflationSummary, WithoutAnySampleThereIsNoFigure) {
  simulate::InflationOutcome run = a_run("fgd", 42, 94);
  run.arrived = {};
  EXPECT_FALSE(summarise(std::vector{run})[0].allocated[100]);
  EXPECT_FALSE(summarise(std::vector{run})[0].stranded_gpus);
}

TEST(InflationSummary, AClusterWithoutGpusHasNoPercentages) {
  simulate::InflationOutcome run = a_run("fgd", 42, 94);
  run.capacity = MilliGpu{0};
  EXPECT_FALSE(summarise(std::vector{run})[0].allocated[50]);
}

}  // namespace
}  // namespace weir::report
