// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/observation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "observe/kubernetes/cluster_testing.h"
#include "observe/kubernetes/observation_json.h"

namespace weir::observe {
namespace {

using SortedJson = nlohmann::json;
using testing::ClusterBuilder;

TEST(Observation, JsonKeepsItsContract) {
  ClusterBuilder cluster;
  cluster.node("n1", 8).taints = {{"dedicated", "infra", TaintEffect::no_schedule}};
  cluster.node("cpu-1", 0);
  cluster.pod("waits", 2);
  auto observation = observe(cluster.objects, {}, {});
  observation.version = "v1.36.4";
  observation.sources = {{"pods", 1, "watching", ""}};
  const auto all = SortedJson::parse(to_json(observation));
  EXPECT_EQ(all["version"], "v1.36.4");
  EXPECT_EQ(all["sources"][0]["state"], "watching");
  EXPECT_EQ(all["cluster"]["gpus"], 8);
  EXPECT_EQ(all["cluster"]["stranded"],
            SortedJson::parse(R"([{"cause":"tainted","gpus":8.0,"nodes":1}])"));
  const auto& pending = all["pending"][0];
  EXPECT_EQ(pending["workload"],
            SortedJson::parse(R"({"kind":"Pod","namespace":"team","name":"waits"})"));
  EXPECT_EQ(pending["pods"], SortedJson::parse(R"(["team/waits"])"));
  EXPECT_EQ(pending["constraint"], "taint");
  EXPECT_EQ(pending["nodes"].size(), 2);
  EXPECT_EQ(pending["changes"][0]["commands"][0],
            "kubectl taint node n1 dedicated=infra:NoSchedule-");
  EXPECT_EQ(pending["changes"][0]["edits"][0],
            SortedJson::parse(R"({"action":"patch","object":{"kind":"Node","name":"n1"},
      "patch":[{"op":"remove","path":"/spec/taints/0"}]})"));
  EXPECT_TRUE(pending["predicted_start"].is_null());
  EXPECT_EQ(pending["no_prediction"], "It does not start by waiting: see why, and the changes.");
}

TEST(Observation, APredictionIsABandWithItsBasis) {
  ClusterBuilder cluster;
  cluster.node("n1", 8);
  cluster.pod("trains-1", 8, "n1");
  cluster.pod("waits", 8);
  LearnedDurations learned;
  Pod ended = cluster.pod("trains-0", 8, "n1");
  cluster.objects.pods.erase("team/trains-0");
  ended.phase = PodPhase::succeeded;
  for (int i = 0; i < 30; ++i) {
    ended.ended = *ended.started + std::chrono::minutes{6 + i};
    learned.learn(ended);
  }
  Calibration calibration;
  const auto observation = observe(cluster.objects, learned, calibration);
  const auto& start = observation.pending.front().predicted_start;
  ASSERT_TRUE(start);
  EXPECT_LT(observation.at, start->low);
  EXPECT_LT(start->low, start->median);
  EXPECT_LT(start->median, start->high);
  EXPECT_NE(start->basis.find("30 ended pods"), std::string::npos);
  note_predictions(observation, calibration);
  calibration.started("team/waits", observation.at + std::chrono::minutes{10});
  EXPECT_EQ(calibration.starts_seen(), 1);
}

TEST(Observation, TimesAreWholeSecondsInUtc) {
  EXPECT_EQ(to_timestamp(Time{} + std::chrono::milliseconds{1'794'796'200'900}),
            "2026-11-16T02:30:00Z");
}

}  // namespace
}  // namespace weir::observe
