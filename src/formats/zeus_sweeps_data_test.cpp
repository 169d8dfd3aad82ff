// SPDX-License-Identifier: Apache-2.0
//
// The public sweeps of the Zeus project.
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/data_dir_testing.h"
#include "formats/temporary_file_testing.h"
#include "formats/zeus_sweeps.h"

namespace weir::formats {
namespace {

TEST(ZeusSweepData, HoldsTheJobsOfFourGpus) {
  WEIR_NEEDS_DATA(data);
  struct Expected {
    std::string name;
    std::string gpu;
    std::size_t jobs;
    std::size_t rows;
    double largest_limit;
  };
  for (const Expected& expected : {Expected{"v100", "V100", 68, 476, 250},
                                   {"a40", "A40", 53, 453, 300},
                                   {"p100", "P100", 45, 270, 250},
                                   {"rtx6000", "RTX6000", 52, 410, 260}}) {
    const auto all =
        read_zeus_sweeps(data / "carbon" / "power" / ("zeus_power_" + expected.name + ".csv"));
    ASSERT_TRUE(all) << mistakes_of(all);
    EXPECT_EQ(all->gpu, expected.gpu);
    EXPECT_EQ(all->sweeps.size(), expected.jobs) << expected.gpu;
    std::size_t rows = 0;
    for (const PowerSweep& sweep : all->sweeps) {
      rows += sweep.points.size();
      EXPECT_EQ(sweep.points.back().limit_watts, expected.largest_limit) << expected.gpu;
    }
    EXPECT_EQ(rows, expected.rows) << expected.gpu;
  }
}

}  // namespace
}  // namespace weir::formats
