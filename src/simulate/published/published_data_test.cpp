// SPDX-License-Identifier: Apache-2.0
//
// The integers that the public simulator of ElasticFlow prints on its own traces.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "formats/curves.h"
#include "formats/data_dir_testing.h"
#include "formats/training_trace.h"
#include "simulate/published/published_run.h"

namespace weir::simulate::published {
namespace {

using MetByPolicy = std::map<std::string, std::int64_t>;

MetByPolicy met_on(const std::filesystem::path& elasticflow, const std::string& trace,
                   const std::string& tables, const PublishedSetup& setup) {
  const auto curves = formats::read_curves(elasticflow / tables);
  const auto rates = formats::read_exact_rates(elasticflow / tables);
  EXPECT_TRUE(curves && rates);
  const auto workload =
      formats::read_training_trace(elasticflow / "traces" / (trace + ".csv.gz"), *curves);
  EXPECT_TRUE(workload);
  MetByPolicy met;
  for (const PublishedPolicyRow& policy : published_policies())
    met[std::string{policy.name}] = run_as_published(policy.name, *workload, *rates, setup).met;
  return met;
}

TEST(PublishedData, MeetsAsManyDeadlinesOnTheTraceOfFigure8a) {
  WEIR_NEEDS_DATA(data);
  EXPECT_EQ(
      met_on(data / "elasticflow", "elasticVpollux_e", "throughput_t4", {16, 4, 60, true}),
      (MetByPolicy{
          {"edf", 23}, {"elasticflow", 142}, {"gandiva", 18}, {"themis", 46}, {"tiresias", 56}}));
}

TEST(PublishedData, MeetsAsManyDeadlinesOnTheTestbedTrace) {
  WEIR_NEEDS_DATA(data);
  EXPECT_EQ(
      met_on(data / "elasticflow", "195job", "throughput_a100", {16, 8, 240, false}),
      (MetByPolicy{
          {"edf", 17}, {"elasticflow", 146}, {"gandiva", 47}, {"themis", 75}, {"tiresias", 90}}));
}

// ElasticFlow itself is left out: README.md says why.
TEST(PublishedData, MeetsAsManyDeadlinesOnCluster10) {
  WEIR_NEEDS_DATA(data);
  MetByPolicy met =
      met_on(data / "elasticflow", "cluster10", "throughput_a100", {32, 8, 60, false});
  met.erase("elasticflow");
  EXPECT_EQ(met, (MetByPolicy{{"edf", 202}, {"gandiva", 86}, {"themis", 123}, {"tiresias", 124}}));
}

}  // namespace
}  // namespace weir::simulate::published
