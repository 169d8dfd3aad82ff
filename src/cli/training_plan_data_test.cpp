// SPDX-License-Identifier: Apache-2.0
//
// The cost model against the plans that the published search found, with the times and memory it predicted for them
// (shared/data/aceso/baselines), and the search against the best that is known.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "formats/data_dir_testing.h"
#include "formats/op_profile_csv.h"
#include "formats/training_plan_json.h"
#include "plan/training/plan_search.h"
#include "predict/training/check_plan.h"
#include "predict/training/derived_recompute.h"

namespace weir::cli {
namespace {

using predict::CostModel;
using predict::IterationCosts;

// As the artifact has it.
Result<IterationCosts> published_costs(const std::filesystem::path& data,
                                       const formats::ProfileName& name, PlanCluster cluster) {
  auto profile = formats::read_op_profile(data / "aceso", name);
  if (!profile) return tl::unexpected(profile.error());
  return IterationCosts::make(std::move(*profile), 0, cluster,
                              {.model = CostModel::published, .one_measurement_at_tp1 = false});
}

// With the rounding of the stored figures.
constexpr double kTolerance = 0.01;

void expect_baseline(const std::filesystem::path& data, const std::string& name) {
  const auto file = data / "aceso" / "baselines" / (name + ".json");
  const auto document = formats::read_plan_json(file);
  ASSERT_TRUE(document) << to_string(document.error().details);
  std::ifstream in{file};
  const auto stored = nlohmann::json::parse(in);
  const PlanCluster cluster{1, 4, document->memory_limit_mib.value()};
  const auto costs =
      published_costs(data, {document->database, document->model, document->size}, cluster);
  ASSERT_TRUE(costs) << to_string(costs.error().details);
  const auto cost = costs->plan(document->plan);
  ASSERT_TRUE(cost) << to_string(cost.error().details);
  EXPECT_NEAR(cost->iteration_ms, stored.at("predicted_ms"), kTolerance);
  ASSERT_EQ(cost->stages.size(), stored.at("stage_T_ms").size());
  int first = 0;
  for (std::size_t i = 0; i < cost->stages.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_NEAR(cost->stage_ms[i], stored.at("stage_T_ms")[i], kTolerance);
    EXPECT_NEAR(cost->stages[i].memory.total(), stored.at("stage_mem_mb")[i], kTolerance);
    const std::vector<PlanOp>& expected = document->plan.stages[i].ops;
    std::vector<PlanOp> ops = expected;
    const bool fits = predict::derive_recompute(*costs, first, ops, document->plan.microbatch,
                                                predict::place_of(document->plan, i, cluster),
                                                cluster.memory_mib);
    EXPECT_TRUE(fits);
    EXPECT_EQ(ops, expected);
    first += static_cast<int>(ops.size());
  }
}

TEST(PublishedPlan, OfGptOnFourStagesCostsWhatWasPublished) {
  WEIR_NEEDS_DATA(data);
  expect_baseline(data, "gpt_1_3B_4gpu_12000MB_4stage");
}

TEST(PublishedPlan, OfGptOnThreeStagesCostsWhatWasPublished) {
  WEIR_NEEDS_DATA(data);
  expect_baseline(data, "gpt_1_3B_4gpu_12000MB_3stage");
}

TEST(PublishedPlan, OfT5CostsWhatWasPublished) {
  WEIR_NEEDS_DATA(data);
  expect_baseline(data, "t5_770M_4gpu_12000MB_4stage");
}

TEST(PublishedPlan, OfAWideResNetWithMixedLayoutsCostsWhatWasPublished) {
  WEIR_NEEDS_DATA(data);
  expect_baseline(data, "resnet_1B_4gpu_12000MB_2stage");
}

TEST(PlanSearchData, GptOnFourGpusIsSolvedExactly) {
  WEIR_NEEDS_DATA(data);
  const auto costs = published_costs(data, {"miniset", "gpt", "1_3B"}, {1, 4, 12000});
  ASSERT_TRUE(costs) << to_string(costs.error().details);
  plan::PlanRequest request{.batch = 512, .microbatches = {1, 2, 4, 8}};
  request.recompute = plan::RecomputeRule::derived;
  plan::SearchBudget budget;
  const auto derived = plan::search_plan(*costs, request, budget);
  ASSERT_TRUE(derived);
  // All cuts near the published plan's were once enumerated: this is the best of them.
  EXPECT_NEAR(derived->cost.iteration_ms, 58492.59, kTolerance);
  EXPECT_TRUE(derived->is_complete);
  request.recompute = plan::RecomputeRule::own;
  plan::SearchBudget again;
  const auto own = plan::search_plan(*costs, request, again);
  ASSERT_TRUE(own);
  EXPECT_LE(own->cost.iteration_ms, 57818);
  EXPECT_GE(own->lower_bound_ms, 57361);
  EXPECT_EQ(to_string(predict::check_plan(own->plan, *costs)), "");
}

}  // namespace
}  // namespace weir::cli
