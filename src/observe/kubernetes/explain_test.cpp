// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/explain.h"

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "observe/kubernetes/cluster_testing.h"
#include "observe/kubernetes/pending.h"

namespace weir::observe {
namespace {

using testing::ClusterBuilder;
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kProduct = "nvidia.com/gpu.product";

// A cluster in which team/waits waits, and what an operator would answer.
struct Situation {
  std::string name;
  std::function<void(ClusterBuilder&)> make;
  Constraint constraint;
  std::string detail;        // a part of it
  std::string first_change;  // a part of its text
};

void PrintTo(const Situation& situation, std::ostream* out) {
  *out << situation.name;
}

LabelSelector app(const std::string& name) {
  return {{{"app", name}}, {}};
}

std::vector<Situation> situations() {
  return {
      {"gpu_busy",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("first", 8, "n1");
         c.pod("waits", 4);
       },
       Constraint::insufficient, "nvidia.com/gpu", "Add a node like n1"},
      {"gpu_partly_busy",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("first", 5, "n1");
         c.pod("waits", 4);
       },
       Constraint::insufficient, "nvidia.com/gpu", "Ask for 3 nvidia.com/gpu instead of 4"},
      {"too_large",
       [](auto& c) {
         c.node("n1", 8);
         c.node("n2", 8);
         c.pod("waits", 16);
       },
       Constraint::too_large, "nvidia.com/gpu", "Ask for 8 nvidia.com/gpu instead of 16"},
      {"fragmented",
       [](auto& c) {
         c.node("n1", 8);
         c.node("n2", 8);
         c.pod("a", 4, "n1");
         c.pod("b", 4, "n2");
         c.pod("waits", 8);
       },
       Constraint::fragmented, "nvidia.com/gpu", "Ask for 4"},
      {"cpu_beside_free_gpus",
       [](auto& c) {
         c.node("n1", 8, 64);
         c.pod("a", 4, "n1", 16);
         c.pod("b", 0, "n1", 40);
         c.pod("waits", 4, "", 16);
       },
       Constraint::insufficient, "cpu", "Ask for 8 cpu"},
      {"taint_hidden_by_cpu_nodes",
       [](auto& c) {
         c.node("n1", 8).taints = {{"dedicated", "infra", TaintEffect::no_schedule}};
         for (int i = 0; i < 5; ++i) c.node("cpu-" + std::to_string(i), 0);
         c.pod("waits", 2);
       },
       Constraint::taint, "dedicated=infra:NoSchedule",
       "Remove the taint dedicated=infra:NoSchedule from node n1"},
      {"one_of_two_taints",
       [](auto& c) {
         c.node("n1", 8).taints = {{"gpu", "yes", TaintEffect::no_schedule},
                                   {"team", "vision", TaintEffect::no_execute}};
         c.pod("waits", 2).tolerations = {{"gpu", true, "", {}}};
       },
       Constraint::taint, "team=vision:NoExecute", "Remove the taint team=vision:NoExecute"},
      {"cordoned",
       [](auto& c) {
         auto& node = c.node("n1", 8);
         node.is_unschedulable = true;
         node.taints = {{"node.kubernetes.io/unschedulable", "", TaintEffect::no_schedule}};
         c.node("n2", 2);
         c.pod("waits", 4);
       },
       Constraint::unschedulable, "", "Uncordon node n1"},
      {"not_ready",
       [](auto& c) {
         auto& node = c.node("n1", 8);
         node.is_ready = false;
         node.taints = {{"node.kubernetes.io/not-ready", "", TaintEffect::no_schedule}};
         c.node("cpu-1", 0);
         c.pod("waits", 4);
       },
       Constraint::not_ready, "", "Bring node n1 back"},
      {"selector_typo",
       [](auto& c) {
         c.node("n1", 8).meta.labels.set("disktype", "ssd");
         c.pod("waits", 1).node_selector = {{"disktype", "sdd"}};
       },
       Constraint::node_selector, "disktype=sdd", "Select disktype=ssd"},
      {"product_selector",
       [](auto& c) {
         c.node("n1", 8).meta.labels.set(kProduct, "A100");
         c.node("cpu-1", 0);
         c.pod("waits", 1).node_selector = {{kProduct, "H200"}};
       },
       Constraint::gpu_product, "H200", "Select nvidia.com/gpu.product=A100"},
      {"product_affinity_in",
       [](auto& c) {
         c.node("n1", 8).meta.labels.set(kProduct, "A100");
         c.pod("waits", 1).node_affinity = {
             {{{kProduct, MatchOperator::in, {"H100", "H200"}}}, {}}};
       },
       Constraint::gpu_product, "H100", "A100"},
      {"product_affinity_not_in",
       [](auto& c) {
         c.node("n1", 8).meta.labels.set(kProduct, "A100");
         c.node("cpu-1", 0);
         c.pod("waits", 1).node_affinity = {{{{kProduct, MatchOperator::not_in, {"A100"}}}, {}}};
       },
       Constraint::gpu_product, "A100", "Remove the required node affinity"},
      {"product_busy_and_another_free",
       [](auto& c) {
         c.node("n1", 8).meta.labels.set(kProduct, "H100");
         c.node("n2", 8).meta.labels.set(kProduct, "A100");
         c.pod("first", 8, "n1");
         c.pod("waits", 8).node_selector = {{kProduct, "H100"}};
       },
       Constraint::insufficient, "nvidia.com/gpu", "Select nvidia.com/gpu.product=A100"},
      {"affinity_greater",
       [](auto& c) {
         c.node("n1", 8).meta.labels.set("cpu-generation", "4");
         c.pod("waits", 1).node_affinity = {
             {{{"cpu-generation", MatchOperator::greater, {"4"}}}, {}}};
       },
       Constraint::node_affinity, "cpu-generation", "'cpu-generation > 4' to 'cpu-generation > 3'"},
      {"affinity_match_fields",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("waits", 1).node_affinity = {{{}, {{"metadata.name", MatchOperator::in, {"n9"}}}}};
       },
       Constraint::node_affinity, "metadata.name", "metadata.name in (n1)"},
      {"node_name_missing",
       [](auto& c) {
         c.node("n1", 8);
         auto& pod = c.pod("waits", 1);
         pod.node = "n9";
       },
       Constraint::node_name, "n9", "Remove nodeName"},
      {"pod_affinity_without_partner",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("waits", 1).pod_affinity = {
             {app("cache"), {}, {}, "kubernetes.io/hostname", {}, {}}};
       },
       Constraint::pod_affinity, "", "Remove the required pod affinity"},
      {"anti_affinity_in_zones",
       [](auto& c) {
         c.node("n1", 8).meta.labels.set(kZone, "a");
         c.node("n2", 8).meta.labels.set(kZone, "a");
         c.pod("first", 1, "n1").meta.labels = {{"app", "server"}};
         auto& pod = c.pod("waits", 1);
         pod.meta.labels = {{"app", "server"}};
         pod.pod_anti_affinity = {{app("server"), {}, {}, kZone, {}, {}}};
       },
       Constraint::pod_anti_affinity, kZone, "Remove the required pod anti-affinity"},
      {"anti_affinity_of_others",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("alone", 1, "n1").pod_anti_affinity = {
             {app("loud"), {}, {}, "kubernetes.io/hostname", {}, {}}};
         c.pod("waits", 1).meta.labels = {{"app", "loud"}};
       },
       Constraint::pod_anti_affinity, "kubernetes.io/hostname", "Add a node like n1"},
      {"spread_over_too_few_zones",
       [](auto& c) {
         c.node("n1", 8).meta.labels.set(kZone, "a");
         c.node("n2", 8).meta.labels.set(kZone, "b");
         c.pod("first", 1, "n1").meta.labels = {{"app", "server"}};
         c.pod("second", 1, "n2").meta.labels = {{"app", "server"}};
         auto& pod = c.pod("waits", 1);
         pod.meta.labels = {{"app", "server"}};
         pod.spread = {{1, kZone, true, app("server"), 3, true, false, {}}};
       },
       Constraint::topology_spread, kZone, "ScheduleAnyway"},
      {"spread_without_labels",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("waits", 1).spread = {{1, "rack", true, app("server"), 1, true, false, {}}};
       },
       Constraint::topology_spread, "rack", "ScheduleAnyway"},
      {"host_port",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("first", 0, "n1").host_ports = {{"", "TCP", 8080, 0, 0}};
         c.pod("waits", 1).host_ports = {{"", "TCP", 8080, 0, 0}};
       },
       Constraint::host_port, "8080", "Ask for no host port (8080)"},
      {"pod_count",
       [](auto& c) {
         c.node("n1", 8).allocatable.set("pods", Quantity::of(1));
         c.pod("first", 1, "n1");
         c.pod("waits", 1);
       },
       Constraint::pod_count, "pods", "Add a node"},
      {"slice_nobody_has",
       [](auto& c) {
         c.node("n1", 8);
         auto& pod = c.pod("waits", 0);
         pod.requests.set("nvidia.com/mig-1g.10gb", Quantity::of(1));
         pod.containers = {{false, pod.requests}};
       },
       Constraint::too_large, "nvidia.com/mig-1g.10gb", "Ask for 1 nvidia.com/gpu"},
      {"shares_busy",
       [](auto& c) {
         c.node("n1", 10).allocatable.set("nvidia.com/gpumem", Quantity::of(80000));
         c.pod("first", 1, "n1").requests.set("nvidia.com/gpumem", Quantity::of(60000));
         c.pod("waits", 1).requests.set("nvidia.com/gpumem", Quantity::of(40000));
       },
       Constraint::insufficient, "nvidia.com/gpumem", "Add a node"},
      {"shares_fragmented_on_a_node",
       [](auto& c) {
         auto& node = c.node("n1", 0);
         node.allocatable.set(std::string{"aliyun.com/gpu-mem"}, Quantity::of(32));
         node.allocatable.set(std::string{"aliyun.com/gpu-count"}, Quantity::of(2));
         for (const auto* index : {"0", "1"}) {
           auto& pod = c.pod(std::string{"small-"} + index, 0, "n1");
           pod.requests.set("aliyun.com/gpu-mem", Quantity::of(10));
           pod.meta.annotations = {{"ALIYUN_COM_GPU_MEM_IDX", index}};
         }
         c.pod("waits", 0).requests.set("aliyun.com/gpu-mem", Quantity::of(8));
       },
       Constraint::fragmented, "aliyun.com/gpu-mem", "Add a node like n1"},
      {"terminating_pod_holds",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("stuck", 8, "n1").meta.deleted = testing::kNow;
         c.pod("waits", 2);
       },
       Constraint::insufficient, "nvidia.com/gpu", "Wait until the deleted pod team/stuck is gone"},
      {"volume_claim_missing",
       [](auto& c) {
         c.node("n1", 8);
         auto volume = std::make_shared<Volume>();
         volume->meta.name = "volume-1";
         volume->storage_class = "local";
         volume->is_free = true;
         c.objects.volumes["volume-1"] = volume;
         c.pod("waits", 1).claims = {"data"};
       },
       Constraint::volume, "data",
       "Create the volume claim team/data for the free volume volume-1"},
      {"volume_in_another_zone",
       [](auto& c) {
         c.node("n1", 8).meta.labels.set(kZone, "a");
         auto volume = std::make_shared<Volume>();
         volume->meta.name = "volume-1";
         volume->node_affinity = {{{{kZone, MatchOperator::in, {"b"}}}, {}}};
         c.objects.volumes["volume-1"] = volume;
         auto claim = std::make_shared<VolumeClaim>();
         claim->meta.ns = "team";
         claim->meta.name = "data";
         claim->is_bound = true;
         claim->volume = "volume-1";
         c.objects.volume_claims["team/data"] = claim;
         c.pod("waits", 1).claims = {"data"};
       },
       Constraint::volume, "data", "Add a node"},
      {"volume_unbound",
       [](auto& c) {
         c.node("n1", 8);
         auto storage = std::make_shared<StorageClass>();
         storage->meta.name = "local";
         c.objects.storage_classes["local"] = storage;
         auto claim = std::make_shared<VolumeClaim>();
         claim->meta.ns = "team";
         claim->meta.name = "data";
         claim->storage_class = "local";
         c.objects.volume_claims["team/data"] = claim;
         c.pod("waits", 1).claims = {"data"};
       },
       Constraint::volume, "data", "Create a volume of class \"local\""},
      {"scheduling_gate",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("waits", 1).gates = {"example.com/approval"};
       },
       Constraint::scheduling_gate, "example.com/approval",
       "Remove the scheduling gate example.com/approval"},
      {"gate_and_taint",
       [](auto& c) {
         c.node("n1", 8).taints = {{"dedicated", "infra", TaintEffect::no_schedule}};
         c.pod("waits", 1).gates = {"example.com/approval"};
       },
       Constraint::scheduling_gate, "example.com/approval", "Remove the taint"},
      {"scheduler_unknown",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("waits", 1).scheduler = "fancy";
       },
       Constraint::scheduler_name, "fancy", "Set schedulerName to default-scheduler"},
      {"resource_claim",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("waits", 1).resource_claims = {"fabric-1"};
       },
       Constraint::resource_claim, "fabric-1", "Remove resourceClaims"},
      {"no_nodes", [](auto& c) { c.pod("waits", 1); }, Constraint::no_nodes, "", "Add a node with"},
      {"not_seen_yet",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("waits", 1);
       },
       Constraint::not_seen_yet, "", ""},
      {"suspended",
       [](auto& c) {
         c.node("n1", 8);
         c.job("waits", 1, 1).is_suspended = true;
       },
       Constraint::suspended, "", "Resume Job team/waits"},
      {"quota",
       [](auto& c) {
         c.node("n1", 8);
         c.pod("first", 4, "n1");
         c.job("waits", 2, 2);
         auto quota = std::make_shared<Quota>();
         quota->meta.ns = "team";
         quota->meta.name = "gpus";
         quota->hard = {{"requests.nvidia.com/gpu", Quantity::of(4)}};
         quota->used = {{"requests.nvidia.com/gpu", Quantity::of(4)}};
         c.objects.quotas["team/gpus"] = quota;
       },
       Constraint::quota, "requests.nvidia.com/gpu", "from 4 to 8"},
      {"kueue",
       [](auto& c) {
         c.node("n1", 8);
         c.job("waits", 1, 4).is_suspended = true;
         auto& first = c.pod("first-x", 4, "n1");
         c.owned_by(first, "Job", "first");
         c.job("first", 1, 4).active = 1;
         for (const auto* name : {"first", "waits"}) {
           auto workload = std::make_shared<Workload>();
           workload->kind = WorkloadKind::kueue_workload;
           workload->meta.ns = "team";
           workload->meta.name = std::string{"job-"} + name;
           workload->meta.owner = ObjectMeta::Owner{"Job", name, ""};
           workload->queue = "research";
           workload->is_admitted = name == std::string{"first"};
           c.objects.kueue_workloads["team/job-" + std::string{name}] = workload;
         }
       },
       Constraint::kueue, "research", "Job team/first"},
      {"gang_too_big",
       [](auto& c) {
         for (int i = 1; i <= 3; ++i) c.node("n" + std::to_string(i), 8);
         c.pod("other", 4, "n3").scheduler = "gangs";
         auto group = std::make_shared<Workload>();
         group->kind = WorkloadKind::pod_group;
         group->meta.ns = "team";
         group->meta.name = "waits";
         group->min_member = 3;
         c.objects.pod_groups["team/waits"] = group;
         for (int i = 0; i < 3; ++i) {
           auto& pod = c.pod("waits-" + std::to_string(i), 8);
           pod.meta.labels = {{std::string{kCoschedulingGroup}, "waits"}};
           pod.scheduler = "gangs";
         }
       },
       Constraint::gang, "waits", "Ask for 4 nvidia.com/gpu instead of 8"},
      {"job_wider_than_the_room",
       [](auto& c) {
         c.node("n1", 8);
         c.job("waits", 4, 4).active = 4;
         for (int i = 0; i < 4; ++i)
           c.owned_by(c.pod("waits-" + std::to_string(i), 4, i < 2 ? "n1" : ""), "Job", "waits");
       },
       Constraint::insufficient, "nvidia.com/gpu", "run 2 pods at a time instead of 4"},
      {"busy_with_pods_of_the_system",
       [](auto& c) {
         c.node("n1", 8);
         auto& pod = c.pod("system", 8, "n1");
         pod.priority = 2'000'001'000;
         c.pod("waits", 8);
       },
       Constraint::insufficient, "nvidia.com/gpu", "Add a node like n1"},
  };
}

class Explained : public ::testing::TestWithParam<Situation> {};

TEST_P(Explained, NamesTheConstraintAndAChangeThatStartsIt) {
  ClusterBuilder cluster;
  GetParam().make(cluster);
  const auto pending = pending_workloads(cluster.objects);
  ASSERT_EQ(pending.size(), 1);
  Explainer explainer{cluster.objects};
  const auto explanation = explainer.explain(pending.front());
  EXPECT_EQ(name_of(explanation.constraint), name_of(GetParam().constraint)) << explanation.why;
  EXPECT_NE(explanation.detail.find(GetParam().detail), std::string::npos) << explanation.detail;
  EXPECT_FALSE(explanation.why.empty());
  std::size_t nodes = 0;
  for (const auto& entry : explanation.nodes) nodes += entry.nodes;
  EXPECT_LE(nodes, cluster.objects.nodes.size());
  if (GetParam().first_change.empty()) return;
  ASSERT_FALSE(explanation.changes.empty());
  EXPECT_NE(explanation.changes.front().text.find(GetParam().first_change), std::string::npos)
      << explanation.changes.front().text;
  for (const auto& change : explanation.changes) {
    EXPECT_FALSE(change.edits.empty()) << change.text;
    for (const auto& edit : change.edits) {
      EXPECT_TRUE(edit.json.empty() || nlohmann::json::accept(edit.json)) << edit.json;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Situations, Explained, ::testing::ValuesIn(situations()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace weir::observe
