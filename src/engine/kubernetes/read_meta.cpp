// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/read_meta.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::engine::kubernetes {
namespace {

using observe::MatchExpression;
using observe::MatchOperator;
using observe::Quantity;
using observe::Resources;

// GPUs, groups, queues, volumes. Others can be long and decide nothing.
bool is_kept_annotation(std::string_view name) {
  constexpr std::array<std::string_view, 10> kPrefixes{"scheduling.k8s.io/group-name",
                                                       "scheduling.volcano.sh/",
                                                       "scheduling.x-k8s.io/",
                                                       "kueue.x-k8s.io/",
                                                       "ALIYUN_COM_GPU_",
                                                       "hami.io/",
                                                       "nvidia.com/",
                                                       "weir",
                                                       "volume.kubernetes.io/selected-node",
                                                       "storageclass.kubernetes.io/is-default"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::optional<observe::ObjectMeta::Owner> read_controller(const JsonFields& meta) {
  for (const JsonFields& reference : meta.objects("ownerReferences")) {
    if (!reference.flag("controller")) continue;
    return observe::ObjectMeta::Owner{reference.text("kind"), reference.text("name"),
                                      reference.text("uid")};
  }
  return std::nullopt;
}

std::optional<MatchOperator> operator_named(std::string_view name) {
  if (name == "In") return MatchOperator::in;
  if (name == "NotIn") return MatchOperator::not_in;
  if (name == "Exists") return MatchOperator::exists;
  if (name == "DoesNotExist") return MatchOperator::does_not_exist;
  if (name == "Gt") return MatchOperator::greater;
  if (name == "Lt") return MatchOperator::less;
  return std::nullopt;
}

void add_to(Resources& sum, const Resources& more) {
  for (const auto& [name, amount] : more) {
    const Quantity* now = sum.find(name);
    sum.set(name, now == nullptr ? amount : *now + amount);
  }
}

void raise_to(Resources& most, const Resources& other) {
  for (const auto& [name, amount] : other) {
    const Quantity* now = most.find(name);
    if (now == nullptr || *now < amount) most.set(name, amount);
  }
}

// A limit without a request is a request: the server writes it so into pods, but not into templates.
Resources read_requests(const JsonFields& with_resources) {
  const JsonFields resources = with_resources.object("resources");
  Resources requests = resources.resources("requests");
  for (const auto& [name, limit] : resources.resources("limits")) {
    if (!requests.contains(name)) requests.set(name, limit);
  }
  return requests;
}

// What can be given for a whole pod; GPUs cannot.
bool is_pod_level(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

}  // namespace

observe::ObjectMeta read_meta(const JsonFields& object) {
  const JsonFields from = object.object("metadata");
  observe::ObjectMeta meta;
  meta.ns = from.text("namespace");
  meta.name = from.text("name");
  meta.uid = from.text("uid");
  meta.version = from.text("resourceVersion");
  meta.labels = from.labels("labels");
  meta.annotations = from.labels("annotations", is_kept_annotation);
  meta.created = from.time("creationTimestamp").value_or(Time{});
  meta.deleted = from.time("deletionTimestamp");
  meta.owner = read_controller(from);
  if (meta.name.empty()) from.reject("name", "missing", "a name");
  return meta;
}

std::vector<Condition> read_conditions(const JsonFields& status) {
  std::vector<Condition> all;
  for (const JsonFields& from : status.objects("conditions")) {
    all.push_back(Condition{from.view("type"), from.view("status") == "True", from.view("reason"),
                            from.view("message"), from.time("lastTransitionTime")});
  }
  return all;
}

const Condition* find_condition(const std::vector<Condition>& all, std::string_view type) {
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const Condition& condition) { return condition.type == type; });
  return at == all.end() ? nullptr : &*at;
}

std::vector<MatchExpression> read_expressions(const JsonFields& from, std::string_view key) {
  std::vector<MatchExpression> all;
  for (const JsonFields& item : from.objects(key)) {
    const auto op = operator_named(item.view("operator"));
    if (!op) {
      item.reject("operator", fmt::format("\"{}\"", item.view("operator")),
                  "one of In, NotIn, Exists, DoesNotExist, Gt, Lt");
      return all;
    }
    all.push_back(MatchExpression{item.text("key"), *op, item.texts("values")});
  }
  return all;
}

std::optional<observe::LabelSelector> read_label_selector(const JsonFields& from,
                                                          std::string_view key) {
  const JsonFields selector = from.object(key);
  if (!selector.is_there()) return std::nullopt;
  return observe::LabelSelector{selector.labels("matchLabels"),
                                read_expressions(selector, "matchExpressions")};
}

observe::NodeTerm read_node_term(const JsonFields& term) {
  return {read_expressions(term, "matchExpressions"), read_expressions(term, "matchFields")};
}

Resources effective_requests(const JsonFields& pod_spec) {
  Resources sum;
  for (const JsonFields& container : pod_spec.objects("containers")) {
    add_to(sum, read_requests(container));
  }
  Resources sidecars;    // those that have started so far
  Resources start_most;  // the largest step of the start
  for (const JsonFields& container : pod_spec.objects("initContainers")) {
    Resources step = read_requests(container);
    if (container.view("restartPolicy") == "Always") {
      add_to(sum, step);
      add_to(sidecars, step);
      step = sidecars;
    } else {
      add_to(step, sidecars);
    }
    raise_to(start_most, step);
  }
  raise_to(sum, start_most);
  for (const auto& [name, amount] : read_requests(pod_spec)) {
    if (is_pod_level(name)) sum.set(name, amount);
  }
  add_to(sum, pod_spec.resources("overhead"));
  return sum;
}

std::vector<observe::ContainerRequests> container_requests(const JsonFields& pod_spec) {
  std::vector<observe::ContainerRequests> all;
  for (const JsonFields& container : pod_spec.objects("initContainers"))
    all.push_back({true, read_requests(container)});
  for (const JsonFields& container : pod_spec.objects("containers"))
    all.push_back({false, read_requests(container)});
  return all;
}

}  // namespace weir::engine::kubernetes
