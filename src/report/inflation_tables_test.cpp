// SPDX-License-Identifier: Apache-2.0
#include "report/inflation_tables.h"

#include <gmock/gmock.h>

#include "report/outcomes_testing.h"
#include "report/text_table.h"

namespace weir::report {
namespace {

using ::testing::ElementsAre;

TEST(InflationTables, OneListHasARowForEachPolicy) {
  const std::vector<simulate::InflationOutcome> runs = {a_run("best-fit", 42, 91),
                                                        a_run("best-fit", 43, 93),
                                                        a_run("fgd", 42, 94), a_run("fgd", 43, 96)};
  const auto tables = inflation_tables(by_list(summarise(runs)));
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].title, "default: 100 GPUs, 2 seeds, mean ± standard deviation");
  // Deviation of (94, 96): sqrt(2) = 1.41. Stranded: 100 - 95 = 5. Failed: 3 * 6 and 3 * 4.
  EXPECT_THAT(tables[0].rows[1], ElementsAre("fgd", "95.00 ± 1.41", "95.00 ± 1.41", "5.00 ± 1.41",
                                             "5.0 ± 1.4", "15 ± 4", "5 ± 1"));
}

TEST(InflationTables, SeveralListsHaveATableForEachFigure) {
  const std::vector<simulate::InflationOutcome> runs = {
      a_run("best-fit", 42, 91), a_run("fgd", 42, 95), a_run("best-fit", 42, 80, "gpuspec33"),
      a_run("fgd", 42, 88, "gpuspec33")};
  const auto tables = inflation_tables(by_list(summarise(runs)));
  ASSERT_EQ(tables.size(), 6U);
  EXPECT_EQ(to_text(tables[0]),
            "alloc. at 100 % (100 GPUs, 1 seed)\n"
            "list       best-fit    fgd\n"
            "---------  --------  -----\n"
            "default       91.00  95.00\n"
            "gpuspec33     80.00  88.00\n");
}

TEST(InflationTables, CurvesAreShownInStepsOfTenPercent) {
  const auto lists = by_list(summarise(std::vector{a_run("fgd", 42, 95)}));
  const Table table = allocation_curve_table(lists[0]);
  EXPECT_EQ(table.columns.size(), 15U);
  EXPECT_EQ(table.rows[0][10], "90.00");
  EXPECT_EQ(table.rows[0][11], "95.00");
}

}  // namespace
}  // namespace weir::report
