// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/read_objects.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "domain/seeded_rng.h"
#include "formats/time_text.h"

namespace weir::engine::kubernetes {
namespace {

using namespace observe;
using SortedJson = nlohmann::json;
using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Object>
std::shared_ptr<const Object> read(ResourceKind kind, const std::string& object) {
  ObjectReader reader{kind};
  const auto page =
      reader.page(fmt::format(R"({{"items":[{}],"metadata":{{"resourceVersion":"9"}}}})", object));
  if (!page || page->objects.size() != 1) {
    ADD_FAILURE() << (page ? page->mistake : page.error());
    return std::make_shared<const Object>();
  }
  return std::get<std::shared_ptr<const Object>>(page->objects.front());
}

std::string mistake_in(ResourceKind kind, const std::string& object) {
  ObjectReader reader{kind};
  const auto page =
      reader.page(fmt::format(R"({{"metadata":{{"resourceVersion":"9"}},"items":[{}]}})", object));
  if (!page) return page.error();
  EXPECT_EQ(page->objects.size() + page->mistakes, 1U);
  return page->mistake;
}

Time at(const char* text) {
  return *formats::parse_time(text);
}

const std::string kPod = R"({
  "metadata": {"name": "train-0", "namespace": "team-a", "uid": "u1", "resourceVersion": "77",
    "creationTimestamp": "2026-11-15T09:00:00Z", "deletionTimestamp": "2026-11-15T11:00:00Z",
    "labels": {"app": "train"}, "managedFields": [{"manager": "kubectl"}],
    "annotations": {"scheduling.k8s.io/group-name": "g", "kubectl.kubernetes.io/last-applied-configuration": "long",
                    "hami.io/vgpu-node": "n1", "ALIYUN_COM_GPU_MEM_IDX": "0"},
    "ownerReferences": [{"kind": "Other", "name": "o", "uid": "u8"},
                        {"kind": "Job", "name": "train", "uid": "u9", "controller": true}]},
  "spec": {"nodeName": "n1", "schedulerName": "mine", "priority": -5, "priorityClassName": "low",
    "preemptionPolicy": "Never", "activeDeadlineSeconds": 3600,
    "containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81}],
      "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "2", "nvidia.com/gpu": "1"}}}],
    "initContainers": [{"name": "s", "restartPolicy": "Always", "ports": [{"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]},
                       {"name": "i", "ports": [{"hostPort": 54}]}],
    "nodeSelector": {"disk": "ssd"},
    "affinity": {
      "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
          {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}, {"key": "gen", "operator": "Gt", "values": ["3"]}]},
          {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n7"]}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}}]},
      "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "train"}}, "namespaceSelector": {}}]},
      "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "host", "namespaces": ["x"], "matchLabelKeys": ["rev"]}],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": {"topologyKey": "zone"}}]}},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, {"key": "k", "value": "v"},
                    {"key": "new", "operator": "Gt", "value": "5"}, {"operator": "Exists"}],
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
      "labelSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}, "minDomains": 3,
      "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}, {"topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway"}],
    "schedulingGates": [{"name": "weir/hold"}],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}, {"name": "tmp", "emptyDir": {}},
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]},
  "status": {"phase": "Running", "startTime": "2026-11-15T09:00:05Z", "nominatedNodeName": "n2",
    "conditions": [{"type": "Ready", "status": "True"},
                   {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-15T09:00:03Z"}]}})";

TEST(ReadObjects, APodWithEverything) {
  const auto pod = read<Pod>(ResourceKind::pods, kPod);
  EXPECT_EQ(pod->meta.full_name(), "team-a/train-0");
  EXPECT_EQ(pod->meta.uid, "u1");
  EXPECT_EQ(pod->meta.version, "77");
  EXPECT_EQ(pod->meta.created, at("2026-11-15T09:00:00Z"));
  EXPECT_EQ(pod->meta.deleted, at("2026-11-15T11:00:00Z"));
  EXPECT_EQ(pod->meta.labels, (Labels{{"app", "train"}}));
  EXPECT_EQ(pod->meta.annotations, (Labels{{"scheduling.k8s.io/group-name", "g"},
                                           {"hami.io/vgpu-node", "n1"},
                                           {"ALIYUN_COM_GPU_MEM_IDX", "0"}}));
  EXPECT_EQ(pod->meta.owner, (ObjectMeta::Owner{"Job", "train", "u9"}));
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->scheduler, "mine");
  EXPECT_EQ(pod->priority, -5);
  EXPECT_EQ(pod->priority_class, "low");
  EXPECT_FALSE(pod->may_preempt);
  EXPECT_EQ(pod->active_deadline_seconds, 3600);
  EXPECT_EQ(pod->requests,
            (Resources{{"cpu", Quantity::of_milli(500)}, {"nvidia.com/gpu", Quantity::of(1)}}));
  EXPECT_THAT(pod->host_ports,
              ElementsAre(HostPort{"", "TCP", 8080}, HostPort{"10.0.0.1", "UDP", 53}));
  EXPECT_EQ(pod->node_selector, (Labels{{"disk", "ssd"}}));
  ASSERT_TRUE(pod->node_affinity);
  ASSERT_EQ(pod->node_affinity->size(), 2U);
  EXPECT_THAT((*pod->node_affinity)[0].expressions,
              ElementsAre(MatchExpression{"zone", MatchOperator::in, {"a", "b"}},
                          MatchExpression{"gen", MatchOperator::greater, {"3"}}));
  EXPECT_THAT((*pod->node_affinity)[1].fields,
              ElementsAre(MatchExpression{"metadata.name", MatchOperator::in, {"n7"}}));
  ASSERT_EQ(pod->preferred_nodes.size(), 1U);
  EXPECT_EQ(pod->preferred_nodes[0].weight, 10);
  ASSERT_EQ(pod->pod_affinity.size(), 1U);
  EXPECT_EQ(pod->pod_affinity[0].topology_key, "rack");
  EXPECT_EQ(pod->pod_affinity[0].selector->match_labels, (Labels{{"app", "train"}}));
  EXPECT_TRUE(pod->pod_affinity[0].namespace_selector) << "empty, but there: all namespaces";
  ASSERT_EQ(pod->pod_anti_affinity.size(), 1U);
  EXPECT_FALSE(pod->pod_anti_affinity[0].selector);
  EXPECT_FALSE(pod->pod_anti_affinity[0].namespace_selector);
  EXPECT_THAT(pod->pod_anti_affinity[0].namespaces, ElementsAre("x"));
  EXPECT_THAT(pod->pod_anti_affinity[0].match_label_keys, ElementsAre("rev"));
  ASSERT_EQ(pod->preferred_pods.size(), 1U);
  EXPECT_EQ(pod->preferred_pods[0].weight, -7);
  EXPECT_THAT(pod->tolerations,
              ElementsAre(Toleration{"gpu", true, "", TaintEffect::no_schedule},
                          Toleration{"k", false, "v", {}}, Toleration{"", true, "", {}}))
      << "what is not understood tolerates nothing";
  ASSERT_EQ(pod->spread.size(), 2U);
  EXPECT_EQ(pod->spread[0].max_skew, 2);
  EXPECT_EQ(pod->spread[0].min_domains, 3);
  EXPECT_TRUE(pod->spread[0].is_hard);
  EXPECT_FALSE(pod->spread[0].honours_affinity);
  EXPECT_TRUE(pod->spread[0].honours_taints);
  EXPECT_FALSE(pod->spread[1].is_hard);
  EXPECT_TRUE(pod->spread[1].honours_affinity);
  EXPECT_THAT(pod->gates, ElementsAre("weir/hold"));
  EXPECT_THAT(pod->claims, ElementsAre("claim", "train-0-scratch"));
  EXPECT_THAT(pod->resource_claims, ElementsAre("one-gpu"));
  EXPECT_EQ(pod->phase, PodPhase::running);
  EXPECT_EQ(pod->scheduled, at("2026-11-15T09:00:03Z"));
  EXPECT_EQ(pod->started, at("2026-11-15T09:00:05Z"));
  EXPECT_EQ(pod->nominated_node, "n2");
  EXPECT_FALSE(pod->ended);
}

TEST(ReadObjects, TheLeastAPodCanBe) {
  const auto pod = read<Pod>(ResourceKind::pods, R"({"metadata":{"name":"p"},"spec":null})");
  Pod expected;
  expected.meta.name = "p";
  EXPECT_EQ(*pod, expected);
}

TEST(ReadObjects, WhyAPodWaitsAndWhenItEnded) {
  const auto waiting = read<Pod>(
      ResourceKind::pods, R"({"metadata":{"name":"p"},"status":{"phase":"Pending","conditions":[
    {"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/5 nodes are available"}]}})");
  EXPECT_EQ(waiting->unschedulable, "0/5 nodes are available");
  EXPECT_FALSE(waiting->scheduled);
  const auto over =
      read<Pod>(ResourceKind::pods, R"({"metadata":{"name":"p"},"status":{"phase":"Succeeded",
    "conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-11-15T12:00:00Z"}],
    "containerStatuses":[{"state":{"terminated":{"finishedAt":"2026-11-15T10:00:00Z"}}},{"state":{"terminated":{"finishedAt":"2026-11-15T11:00:00Z"}}}]}})");
  EXPECT_EQ(over->ended, at("2026-11-15T11:00:00Z"));
  const auto evicted =
      read<Pod>(ResourceKind::pods, R"({"metadata":{"name":"p"},"status":{"phase":"Failed",
    "conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":"2026-11-15T12:00:00Z"}]}})");
  EXPECT_EQ(evicted->ended, at("2026-11-15T12:00:00Z"));
}

Resources requests_of(const std::string& spec) {
  return read<Pod>(ResourceKind::pods,
                   fmt::format(R"({{"metadata":{{"name":"p"}},"spec":{}}})", spec))
      ->requests;
}

TEST(EffectiveRequests, FollowTheRules) {
  const Resources two_containers = requests_of(
      R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"}}},{"resources":{"requests":{"cpu":"500m"}}}]})");
  EXPECT_EQ(two_containers,
            (Resources{{"cpu", Quantity::of_milli(1500)}, {"memory", Quantity::of(1 << 30)}}));
  // 3 at the start, 2 afterwards; overhead on top.
  const Resources start = requests_of(
      R"({"containers":[{"resources":{"requests":{"cpu":"2"}}}],"initContainers":[{"resources":{"requests":{"cpu":"3"}}}],"overhead":{"cpu":"250m"}})");
  EXPECT_EQ(start, (Resources{{"cpu", Quantity::of_milli(3250)}}));
  // What is given for the whole pod takes the place of the sum; GPUs cannot be given so.
  const Resources whole = requests_of(
      R"({"resources":{"requests":{"cpu":"9","nvidia.com/gpu":"5"}},"containers":[{"resources":{"limits":{"cpu":"2","nvidia.com/gpu":"1"}}}]})");
  EXPECT_EQ(whole, (Resources{{"cpu", Quantity::of(9)}, {"nvidia.com/gpu", Quantity::of(1)}}));
}

struct Step {
  bool is_sidecar = false;
  int cpu = 0;
};

// What runs at the same time, moment by moment.
int most_at_once(const std::vector<Step>& start, const std::vector<int>& containers) {
  int sidecars = 0;
  int most = 0;
  for (const Step& step : start) {
    if (step.is_sidecar) sidecars += step.cpu;
    most = std::max(most, step.is_sidecar ? sidecars : sidecars + step.cpu);
  }
  for (const int cpu : containers) sidecars += cpu;
  return std::max(most, sidecars);
}

RC_GTEST_PROP(EffectiveRequests, AreWhatRunsAtOnceAtMost, ()) {
  const auto cpus = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 50));
  const auto containers =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 50)));
  std::vector<Step> start;
  SortedJson spec{{"containers", SortedJson::array()}, {"initContainers", SortedJson::array()}};
  for (const int cpu : cpus) {
    start.push_back({cpu % 2 == 0, cpu});
    SortedJson container{{"resources", {{"requests", {{"cpu", std::to_string(cpu)}}}}}};
    if (cpu % 2 == 0) container["restartPolicy"] = "Always";
    spec["initContainers"].push_back(container);
  }
  for (const int cpu : containers)
    spec["containers"].push_back(
        {{"resources", {{"requests", {{"cpu", std::to_string(cpu) + "000m"}}}}}});
  RC_ASSERT(*requests_of(spec.dump()).find("cpu") == Quantity::of(most_at_once(start, containers)));
}

// Shuffles the members of every object.
Json shuffled(const Json& value, SeededRng& rng) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const auto& item : value) list.push_back(shuffled(item, rng));
    return list;
  }
  if (!value.is_object()) return value;
  std::vector<std::string> keys;
  for (const auto& [key, member] : value.items()) keys.push_back(key);
  rng.shuffle(keys);
  Json object = Json::object();
  for (const std::string& key : keys) object[key] = shuffled(value[key], rng);
  return object;
}

RC_GTEST_PROP(ReadObjects, TheOrderOfFieldsDoesNotMatter, (std::uint64_t seed)) {
  static const auto expected = read<Pod>(ResourceKind::pods, kPod);
  SeededRng rng{seed};
  RC_ASSERT(*read<Pod>(ResourceKind::pods, shuffled(Json::parse(kPod), rng).dump()) == *expected);
}

// Puts something of another type at a random place.
void spoil(Json& value, SeededRng& rng) {
  if (value.is_structured() && !value.empty() && rng.below(8) != 0) {
    auto at = value.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(rng.below(value.size())));
    spoil(*at, rng);
    return;
  }
  const std::vector<Json> others{
      nullptr, true, 3.5, -1, "text", Json::array({1}), Json::object({{"a", 1}}), 1e300, ""};
  value = others[rng.below(others.size())];
}

RC_GTEST_PROP(ReadObjects, ASpoiledObjectIsReadOrLeftOutWithAReason, (std::uint64_t seed)) {
  SeededRng rng{seed};
  Json pod = Json::parse(kPod);
  spoil(pod, rng);
  for (const ResourceKindInfo& info : resource_kinds()) {
    ObjectReader reader{info.kind};
    const auto page = reader.page(R"({"metadata":{"resourceVersion":"9"},"items":[)" + pod.dump() +
                                  "," + kPod + "]}");
    RC_ASSERT(page.has_value());
    RC_ASSERT(page->objects.size() + page->mistakes == 2U);
    RC_ASSERT(page->mistakes == 0 || !page->mistake.empty());
  }
}

TEST(ReadObjects, AMistakeNamesObjectAndField) {
  EXPECT_EQ(
      mistake_in(
          ResourceKind::pods,
          R"({"metadata":{"name":"p","namespace":"a"},"spec":{"containers":[{},{"resources":{"requests":{"cpu":"much"}}}]}})"),
      "pods a/p: spec.containers[1].resources.requests.cpu is \"much\", expected a quantity such "
      "as \"500m\" or \"16Gi\"");
  EXPECT_EQ(
      mistake_in(ResourceKind::pods, R"({"metadata":{"name":"p"},"spec":{"priority":5000000000}})"),
      "pods p: spec.priority is 5000000000, expected an integer from -2147483648 to 2147483647");
  EXPECT_EQ(mistake_in(ResourceKind::nodes,
                       R"({"metadata":{"name":"n","creationTimestamp":"yesterday"}})"),
            "nodes n: metadata.creationTimestamp is \"yesterday\", expected a time such as "
            "2026-11-15T09:00:00Z");
  EXPECT_EQ(mistake_in(ResourceKind::pods, "{}"),
            "pods : metadata.name is missing, expected a name");
  EXPECT_EQ(mistake_in(ResourceKind::pods, "7"),
            "pods : the object is a number, expected an object");
}

TEST(ReadObjects, ABadListIsNoList) {
  ObjectReader reader{ResourceKind::pods};
  for (const char* text : {"", "{", "[]", "{}", R"({"metadata":{}})",
                           R"({"metadata":{"resourceVersion":"1"},"items":7})",
                           R"({"metadata":{"resourceVersion":"1"},"items":[)", "\xff"}) {
    EXPECT_FALSE(reader.page(text)) << text;
  }
  const auto empty = reader.page(R"({"metadata":{"resourceVersion":"1"},"items":null})");
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->objects.empty());
}

TEST(ReadObjects, Nodes) {
  const auto node = read<Node>(ResourceKind::nodes,
                               R"({"metadata":{"name":"n1"},"spec":{"unschedulable":true,"taints":[
    {"key":"a","effect":"NoSchedule"},{"key":"b","value":"v","effect":"NoExecute"},{"key":"c","effect":"PreferNoSchedule"}]},
    "status":{"capacity":{"cpu":"9"},"allocatable":{"cpu":"7800m","nvidia.com/gpu":8,"memory":"16Gi"},"conditions":[{"type":"Ready","status":"True"}]}})");
  EXPECT_TRUE(node->is_unschedulable);
  EXPECT_TRUE(node->is_ready);
  EXPECT_THAT(node->taints, ElementsAre(Taint{"a", "", TaintEffect::no_schedule},
                                        Taint{"b", "v", TaintEffect::no_execute},
                                        Taint{"c", "", TaintEffect::prefer_no_schedule}));
  EXPECT_EQ(node->allocatable, (Resources{{"cpu", Quantity::of_milli(7800)},
                                          {"memory", Quantity::of(std::int64_t{16} << 30)},
                                          {"nvidia.com/gpu", Quantity::of(8)}}));
  EXPECT_FALSE(
      read<Node>(
          ResourceKind::nodes,
          R"({"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})")
          ->is_ready);
  EXPECT_FALSE(read<Node>(ResourceKind::nodes, R"({"metadata":{"name":"n"}})")->is_ready);
}

TEST(ReadObjects, Jobs) {
  const auto job = read<Workload>(
      ResourceKind::jobs,
      R"({"metadata":{"name":"j","namespace":"a","labels":{"kueue.x-k8s.io/queue-name":"q"}},
    "spec":{"parallelism":4,"completions":8,"suspend":true,"template":{"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"2"}}}]}}},
    "status":{"active":1,"succeeded":2,"failed":3,"startTime":"2026-11-15T09:00:00Z","conditions":[{"type":"Suspended","status":"True","message":"Job suspended"}]}})");
  EXPECT_EQ(job->kind, WorkloadKind::job);
  EXPECT_TRUE(job->is_suspended);
  EXPECT_EQ(job->parallelism, 4);
  EXPECT_EQ(job->completions, 8);
  EXPECT_EQ(job->active, 1);
  EXPECT_EQ(job->succeeded, 2);
  EXPECT_EQ(job->failed, 3);
  EXPECT_EQ(job->queue, "q");
  EXPECT_EQ(job->message, "Job suspended");
  EXPECT_FALSE(job->is_over);
  EXPECT_EQ(job->pod_requests, (Resources{{"nvidia.com/gpu", Quantity::of(2)}}))
      << "of a template: limits are not copied there";
  const auto failed = read<Workload>(
      ResourceKind::jobs,
      R"({"metadata":{"name":"j"},"status":{"conditions":[{"type":"Failed","status":"True","message":"too often","lastTransitionTime":"2026-11-15T10:00:00Z"}]}})");
  EXPECT_TRUE(failed->is_over);
  EXPECT_EQ(failed->ended, at("2026-11-15T10:00:00Z"));
  EXPECT_EQ(failed->parallelism, 1);
}

TEST(ReadObjects, JobSets) {
  const auto set = read<Workload>(
      ResourceKind::job_sets,
      R"({"metadata":{"name":"s","namespace":"a"},"spec":{"suspend":true,"replicatedJobs":[
    {"name":"w","replicas":2,"template":{"spec":{"parallelism":3,"template":{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}}}},
    {"name":"d","template":{"spec":{}}}]},
    "status":{"conditions":[{"type":"Completed","status":"True","lastTransitionTime":"2026-11-15T10:00:00Z"}],"replicatedJobsStatus":[{"name":"w","active":1,"succeeded":1}]}})");
  EXPECT_EQ(set->kind, WorkloadKind::job_set);
  EXPECT_EQ(set->parallelism, 7);
  EXPECT_TRUE(set->is_suspended);
  EXPECT_TRUE(set->is_over);
  EXPECT_EQ(set->active, 1);
  EXPECT_EQ(set->pod_requests, (Resources{{"cpu", Quantity::of(1)}}));
}

TEST(ReadObjects, PodGroups) {
  const auto plain = read<Workload>(
      ResourceKind::pod_groups,
      R"({"metadata":{"name":"g","namespace":"a"},"spec":{"minMember":4,"scheduleTimeoutSeconds":10},"status":{"phase":"Scheduling","running":1}})");
  EXPECT_EQ(plain->kind, WorkloadKind::pod_group);
  EXPECT_EQ(plain->min_member, 4);
  EXPECT_EQ(plain->active, 1);
  EXPECT_FALSE(plain->is_over);
  const auto volcano = read<Workload>(
      ResourceKind::volcano_pod_groups,
      R"({"metadata":{"name":"g","namespace":"a"},"spec":{"minMember":2,"queue":"research"},
    "status":{"phase":"Pending","conditions":[{"type":"Unschedulable","status":"True","message":"2/2 tasks in gang unschedulable"}]}})");
  EXPECT_EQ(volcano->queue, "research");
  EXPECT_EQ(volcano->message, "2/2 tasks in gang unschedulable");
}

TEST(ReadObjects, KueueWorkloads) {
  const auto waiting = read<Workload>(
      ResourceKind::kueue_workloads,
      R"({"metadata":{"name":"w","namespace":"a","ownerReferences":[{"kind":"Job","name":"j","uid":"u","controller":true}]},
    "spec":{"queueName":"q","active":true,"podSets":[{"name":"main","count":4,"template":{"spec":{"containers":[{"resources":{"requests":{"nvidia.com/gpu":"8"}}}]}}}]},
    "status":{"conditions":[{"type":"QuotaReserved","status":"False","reason":"Pending","message":"couldn't assign flavors"}]}})");
  EXPECT_EQ(waiting->kind, WorkloadKind::kueue_workload);
  EXPECT_EQ(waiting->queue, "q");
  EXPECT_EQ(waiting->parallelism, 4);
  EXPECT_EQ(waiting->message, "couldn't assign flavors");
  EXPECT_FALSE(waiting->is_admitted);
  EXPECT_FALSE(waiting->is_suspended);
  EXPECT_EQ(waiting->meta.owner->name, "j");
  EXPECT_EQ(waiting->pod_requests, (Resources{{"nvidia.com/gpu", Quantity::of(8)}}));
  const auto admitted = read<Workload>(ResourceKind::kueue_workloads,
                                       R"({"metadata":{"name":"w"},"spec":{"active":false},
    "status":{"conditions":[{"type":"QuotaReserved","status":"True"},{"type":"Admitted","status":"True","lastTransitionTime":"2026-11-15T10:00:00Z"},{"type":"Finished","status":"True"}]}})");
  EXPECT_TRUE(admitted->is_admitted);
  EXPECT_TRUE(admitted->is_over);
  EXPECT_TRUE(admitted->is_suspended);
  EXPECT_EQ(admitted->started, at("2026-11-15T10:00:00Z"));
}

TEST(ReadObjects, WhatSurroundsPods) {
  const auto quota = read<Quota>(
      ResourceKind::quotas,
      R"({"metadata":{"name":"q","namespace":"a"},"spec":{"hard":{"pods":"9"},"scopes":["BestEffort"]},"status":{"hard":{"pods":"8"},"used":{"pods":"3"}}})");
  EXPECT_EQ(quota->hard, (Resources{{"pods", Quantity::of(8)}})) << "what is enforced";
  EXPECT_EQ(quota->used, (Resources{{"pods", Quantity::of(3)}}));
  EXPECT_TRUE(quota->has_scopes);
  const auto priority =
      read<PriorityClass>(ResourceKind::priority_classes,
                          R"({"metadata":{"name":"high"},"value":1000,"globalDefault":true})");
  EXPECT_EQ(priority->value, 1000);
  EXPECT_TRUE(priority->is_default);
  EXPECT_EQ(read<NamespaceObject>(ResourceKind::namespaces,
                                  R"({"metadata":{"name":"a","labels":{"team":"x"}}})")
                ->meta.labels,
            (Labels{{"team", "x"}}));
  const auto claim = read<VolumeClaim>(
      ResourceKind::volume_claims,
      R"({"metadata":{"name":"c","namespace":"a"},"spec":{"volumeName":"v","storageClassName":"fast"},"status":{"phase":"Bound"}})");
  EXPECT_TRUE(claim->is_bound);
  EXPECT_EQ(claim->volume, "v");
  EXPECT_EQ(claim->storage_class, "fast");
  const auto volume = read<Volume>(
      ResourceKind::volumes,
      R"({"metadata":{"name":"v"},"spec":{"storageClassName":"fast","nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"z","operator":"In","values":["a"]}]}]}}}})");
  EXPECT_TRUE(volume->is_free);
  ASSERT_TRUE(volume->node_affinity);
  EXPECT_EQ(volume->node_affinity->size(), 1U);
  const auto storage = read<StorageClass>(
      ResourceKind::storage_classes,
      R"({"metadata":{"name":"fast","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"ebs.csi.aws.com","volumeBindingMode":"WaitForFirstConsumer"})");
  EXPECT_TRUE(storage->waits_for_consumer);
  EXPECT_TRUE(storage->can_provision);
  EXPECT_TRUE(storage->meta.annotations.contains("storageclass.kubernetes.io/is-default-class"));
  EXPECT_FALSE(read<StorageClass>(
                   ResourceKind::storage_classes,
                   R"({"metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner"})")
                   ->can_provision);
}

TEST(ReadObjects, StatusesOfAnyShapeCanBeShown) {
  EXPECT_EQ(read_status(R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no\nway"})")
                .message,
            "no way");
  EXPECT_EQ(read_status("404 page not found\n").message, "404 page not found");
  EXPECT_EQ(read_status("").message, "");
  EXPECT_EQ(read_status(std::string(5000, 'x')).message.size(), 300U);
}

}  // namespace
}  // namespace weir::engine::kubernetes
