// SPDX-License-Identifier: Apache-2.0
//
// The plans that the published search found.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "formats/data_dir_testing.h"
#include "formats/temporary_file_testing.h"
#include "formats/training_plan_json.h"

namespace weir::formats {
namespace {

struct Baseline {
  const char* file;
  std::vector<std::size_t> ops;
  std::vector<int> recomputed;  // operators, by stage
  std::optional<int> layers;
};

TEST(PlanJsonData, TheBaselinesComeBackAsWritten) {
  WEIR_NEEDS_DATA(data);
  const std::vector<Baseline> baselines{
      {"gpt_1_3B_4gpu_12000MB_3stage.json", {81, 160, 74}, {79, 160, 65}, 24},
      {"gpt_1_3B_4gpu_12000MB_4stage.json", {78, 81, 83, 73}, {26, 22, 16, 14}, 24},
      {"resnet_1B_4gpu_12000MB_2stage.json", {72, 62}, {35, 0}, std::nullopt},
      {"t5_770M_4gpu_12000MB_4stage.json", {113, 118, 195, 395}, {32, 26, 20, 18}, 24}};
  for (const Baseline& baseline : baselines) {
    const auto plan = read_plan_json(data / "aceso" / "baselines" / baseline.file);
    ASSERT_TRUE(plan) << mistakes_of(plan);
    EXPECT_EQ(plan->database, "miniset");
    EXPECT_EQ(plan->memory_limit_mib, 12000);
    EXPECT_EQ(plan->layers, baseline.layers) << baseline.file;
    std::vector<std::size_t> ops;
    std::vector<int> recomputed;
    for (const PlanStage& stage : plan->plan.stages) {
      ops.push_back(stage.ops.size());
      int count = 0;
      for (const PlanOp& op : stage.ops) count += op.recompute ? 1 : 0;
      recomputed.push_back(count);
    }
    EXPECT_EQ(ops, baseline.ops) << baseline.file;
    EXPECT_EQ(recomputed, baseline.recomputed) << baseline.file;
    const std::string text = plan_json(*plan).dump();
    const auto back = read_plan_json(*InputFile::from_memory("back.json", text));
    ASSERT_TRUE(back) << mistakes_of(back);
    EXPECT_EQ(*back, *plan) << baseline.file;
  }
}

}  // namespace
}  // namespace weir::formats
