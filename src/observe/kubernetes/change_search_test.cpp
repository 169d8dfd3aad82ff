// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/change_search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "observe/kubernetes/explain.h"
#include "observe/kubernetes/pending.h"
#include "observe/kubernetes/placing.h"
#include "observe/kubernetes/random_cluster_testing.h"

namespace weir::observe {
namespace {

using SortedJson = nlohmann::json;

// Carries edits out on objects, reading nothing but their JSON: what a program that applies them would do.
class Applier {
 public:
  explicit Applier(ClusterObjects objects) : objects_{std::move(objects)} {}

  void apply(const Edit& edit) {
    switch (edit.action) {
      case Edit::Action::remove:
        RC_ASSERT(objects_.pods.erase(edit.object.full_name()) == 1);
        return;
      case Edit::Action::create:
        create_node(SortedJson::parse(edit.json));
        return;
      case Edit::Action::patch:
        break;
    }
    for (const auto& step : SortedJson::parse(edit.json)) {
      if (edit.object.kind == "Node") {
        patch_node(edit.object.name, step);
      } else {
        patch_pod(edit.object.full_name(), step);
      }
    }
  }
  const ClusterObjects& objects() const { return objects_; }

 private:
  static Quantity quantity(const SortedJson& value) {
    return *read_quantity(value.get<std::string>());
  }

  void create_node(const SortedJson& manifest) {
    auto node = std::make_shared<Node>();
    node->meta.name = manifest["metadata"]["name"];
    for (const auto& [key, value] : manifest["metadata"]["labels"].items())
      node->meta.labels.set(key, value.get<std::string>());
    for (const auto& [key, value] : manifest["status"]["allocatable"].items())
      node->allocatable.set(key, quantity(value));
    for (const auto& taint : manifest["spec"].value("taints", SortedJson::array())) {
      node->taints.push_back({taint["key"], taint.value("value", ""), TaintEffect::no_schedule});
    }
    node->is_ready = true;
    objects_.nodes[node->meta.name] = node;
  }
  void patch_node(const std::string& name, const SortedJson& step) {
    auto node = std::make_shared<Node>(*objects_.nodes.at(name));
    const std::string path = step["path"];
    if (path == "/spec/unschedulable") {
      node->is_unschedulable = step["value"];
    } else {
      RC_ASSERT(path.starts_with("/spec/taints/"));
      RC_ASSERT(step["op"] == "remove");
      const auto index = std::stoul(path.substr(13));
      RC_ASSERT(index < node->taints.size());
      node->taints.erase(node->taints.begin() + static_cast<std::ptrdiff_t>(index));
    }
    objects_.nodes[name] = node;
  }
  void patch_pod(const std::string& name, const SortedJson& step) {
    auto pod = std::make_shared<Pod>(*objects_.pods.at(name));
    const std::string path = step["path"];
    if (path.starts_with("/spec/nodeSelector/")) {
      pod->node_selector = {};
      if (step["op"] == "replace")
        pod->node_selector.set(path.substr(19), step["value"].get<std::string>());
    } else if (path == "/spec/tolerations") {
      pod->tolerations.clear();
      for (const auto& one : step["value"]) {
        pod->tolerations.push_back(
            {one.value("key", ""), one["operator"] == "Exists", one.value("value", ""), {}});
      }
    } else if (path.ends_with("/values")) {
      pod->node_affinity->front().expressions.front().values =
          step["value"].get<std::vector<std::string>>();
    } else if (path.starts_with("/spec/affinity/nodeAffinity")) {
      pod->node_affinity.reset();
    } else if (path.starts_with("/spec/affinity/podAffinity")) {
      pod->pod_affinity.clear();
    } else if (path.starts_with("/spec/affinity/podAntiAffinity")) {
      pod->pod_anti_affinity.clear();
    } else if (path == "/spec/topologySpreadConstraints/0/whenUnsatisfiable") {
      pod->spread.front().is_hard = false;
    } else if (path == "/spec/containers/0/resources/requests") {
      pod->requests = {};
      for (const auto& [key, value] : step["value"].items())
        pod->requests.set(key, quantity(value));
    } else {
      RC_ASSERT(path.starts_with("/spec/containers/0/resources/limits/"));
    }
    objects_.pods[name] = pod;
  }

  ClusterObjects objects_;
};

// Whoever carries out a suggested change by its edits alone sees the pod start: with a new model, made of the edited
// objects.
RC_GTEST_PROP(Changes, EditsAloneStartThePod, ()) {
  const auto objects = testing::random_cluster(*rc::gen::arbitrary<std::uint64_t>());
  Explainer explainer{objects};
  for (const auto& workload : pending_workloads(objects)) {
    const auto explanation = explainer.explain(workload);
    RC_ASSERT(explanation.constraint == Constraint::not_seen_yet || !explanation.changes.empty());
    for (const auto& change : explanation.changes) {
      Applier applier{objects};
      for (const auto& edit : change.edits) applier.apply(edit);
      ClusterModel after{applier.objects()};
      const std::vector<PodPointer> pods{
          applier.objects().pods.at(workload.pods.front()->meta.full_name())};
      if (count_that_fit(after, pods) != 1)
        RC_FAIL(change.text + " does not start " + workload.name.full_name());
    }
  }
}

// Every node stands in exactly one line of the explanation, unless the pod fits there.
RC_GTEST_PROP(Explanations, CountEveryNodeOnce, ()) {
  const auto objects = testing::random_cluster(*rc::gen::arbitrary<std::uint64_t>());
  Explainer explainer{objects};
  for (const auto& workload : pending_workloads(objects)) {
    const auto explanation = explainer.explain(workload, false);
    std::size_t nodes = 0;
    for (const auto& entry : explanation.nodes) nodes += entry.nodes;
    const PodFilters filters{explainer.model(), *workload.pods.front()};
    for (NodeIndex i = 0; i < explainer.model().node_count(); ++i)
      nodes += filters.passes(i) ? 1 : 0;
    RC_ASSERT(nodes == objects.nodes.size());
  }
}

}  // namespace
}  // namespace weir::observe
