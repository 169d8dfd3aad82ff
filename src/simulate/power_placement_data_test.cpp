// SPDX-License-Identifier: Apache-2.0
//
// What power-aware placement saves on the public trace, and what it costs (docs/models/fragmentation.md).
#include <gtest/gtest.h>

#include "formats/data_dir_testing.h"
#include "formats/openb.h"
#include "simulate/inflation.h"

namespace weir::simulate {
namespace {

struct Drawn {
  double kilowatts = 0;  // mean of 1 to 100 % arrived
  double allocated = 0;  // percent of the GPUs, when 100 % had arrived
};

Drawn drawn_under(const char* policy, const Cluster& cluster, const Workload& workload) {
  const InflationOutcome outcome = run_inflation(cluster, workload, {.policy = policy});
  Drawn drawn;
  for (std::size_t percent = 1; percent <= 100; ++percent) {
    const SampleMean& watts = outcome.arrived[percent].watts;
    drawn.kilowatts +=
        static_cast<double>(watts.sum) / static_cast<double>(watts.count) / 1000 / 100;
  }
  drawn.allocated = outcome.allocated_percent(100).value_or(0);
  return drawn;
}

TEST(PowerPlacementData, ATenthOfPwrSavesPowerForLittleAllocation) {
  WEIR_NEEDS_DATA(data);
  const auto cluster =
      formats::read_openb_nodes(data / "openb" / "openb_node_list_gpu_node.csv.gz");
  ASSERT_TRUE(cluster);
  const auto workload =
      formats::read_openb_tasks(data / "openb" / "openb_pod_list_default.csv.gz", *cluster);
  ASSERT_TRUE(workload);
  const Drawn fgd = drawn_under("fgd", *cluster, *workload);
  const Drawn pwr = drawn_under("pwr", *cluster, *workload);
  const Drawn blend = drawn_under("fgd:0.9+pwr:0.1", *cluster, *workload);
  EXPECT_LT(blend.kilowatts, 0.92 * fgd.kilowatts);
  EXPECT_LT(pwr.kilowatts, 0.92 * fgd.kilowatts);
  EXPECT_GT(blend.allocated, pwr.allocated + 1);
  EXPECT_GT(blend.allocated, fgd.allocated - 2.5);
  RecordProperty("saved_percent", std::to_string(100 - 100 * blend.kilowatts / fgd.kilowatts));
}

}  // namespace
}  // namespace weir::simulate
