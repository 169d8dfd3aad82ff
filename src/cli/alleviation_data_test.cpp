// SPDX-License-Identifier: Apache-2.0
//
// The search that relieves bottlenecks on the published profiles: as good as the exact search up to 8 GPUs.
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/data_dir_testing.h"
#include "formats/op_profile_csv.h"
#include "plan/training/alleviation.h"
#include "plan/training/explain_path.h"

namespace weir::cli {
namespace {

using predict::IterationCosts;

struct Setting {
  formats::ProfileName name;
  PlanCluster cluster;
  int batch = 0;
  double best_ms = 0;  // by the exact search
  std::uint64_t evaluations = 0;
};

Result<IterationCosts> costs_of(const std::filesystem::path& data, const Setting& setting) {
  auto profile = formats::read_op_profile(data / "aceso", setting.name);
  if (!profile) return tl::unexpected(profile.error());
  return IterationCosts::make(
      std::move(*profile), 0, setting.cluster,
      {.model = predict::CostModel::published, .one_measurement_at_tp1 = false});
}

void expect_found(const std::filesystem::path& data, const Setting& setting) {
  const auto costs = costs_of(data, setting);
  ASSERT_TRUE(costs) << to_string(costs.error().details);
  plan::PlanRequest request;
  request.batch = setting.batch;
  request.microbatches = predict::published_microbatches(costs->ops().family);
  request.recompute = plan::RecomputeRule::derived;
  plan::SearchBudget budget;
  budget.evaluations = setting.evaluations;
  const auto answer = plan::alleviate(*costs, request, budget);
  ASSERT_TRUE(answer) << to_string(answer.error().details);
  EXPECT_NEAR(answer->best.cost.iteration_ms, setting.best_ms, 0.01);
  ASSERT_FALSE(answer->path.empty());
  EXPECT_DOUBLE_EQ(answer->path.back().to_ms, answer->best.cost.iteration_ms);
  const auto explained = plan::explain_path(*costs, request, answer->best.plan);
  ASSERT_FALSE(explained.empty());
  EXPECT_DOUBLE_EQ(explained.back().to_ms, answer->best.cost.iteration_ms);
}

TEST(AlleviationData, EqualsTheExactSearchOnGpt) {
  WEIR_NEEDS_DATA(data);
  expect_found(data, {{"miniset", "gpt", "1_3B"}, {1, 4, 12000}, 512, 58492.59, 500'000});
}

TEST(AlleviationData, EqualsTheExactSearchOnT5) {
  WEIR_NEEDS_DATA(data);
  expect_found(data, {{"miniset", "t5", "770M"}, {1, 4, 12000}, 512, 33657.46, 500'000});
}

TEST(AlleviationData, EqualsTheExactSearchOnWideResNet) {
  WEIR_NEEDS_DATA(data);
  expect_found(data, {{"miniset", "resnet", "1B"}, {1, 4, 12000}, 768, 18062.27, 500'000});
}

TEST(AlleviationData, EqualsTheExactSearchOnEightGpus) {
  WEIR_NEEDS_DATA(data);
  expect_found(data, {{"eurosys", "t5", "3B"}, {1, 8, 28000}, 1024, 79586.94, 2'000'000});
}

TEST(AlleviationData, EqualsTheExactSearchOnSixteenGpus) {
  WEIR_NEEDS_DATA(data);
  expect_found(data, {{"eurosys", "gpt", "6_7B"}, {2, 8, 28000}, 1024, 84256.10, 8'000'000});
}

}  // namespace
}  // namespace weir::cli
