// SPDX-License-Identifier: Apache-2.0
//
// Parts that objects of several kinds share: metadata, conditions, selectors, what a pod's template asks for.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/kubernetes/json_fields.h"

namespace weir::engine::kubernetes {

observe::ObjectMeta read_meta(const JsonFields& object);

// status.conditions, by type. Nothing: there is none of that type.
struct Condition {
  std::string_view type;
  bool is_true = false;
  std::string_view reason;
  std::string_view message;
  std::optional<Time> since;
};
std::vector<Condition> read_conditions(const JsonFields& status);
const Condition* find_condition(const std::vector<Condition>& all, std::string_view type);

// matchLabels and matchExpressions. Nothing: `key` is absent.
std::optional<observe::LabelSelector> read_label_selector(const JsonFields& from,
                                                          std::string_view key);
std::vector<observe::MatchExpression> read_expressions(const JsonFields& from,
                                                       std::string_view key);
observe::NodeTerm read_node_term(const JsonFields& term);

// What a pod with that spec asks of a node, as kube-scheduler counts it: the sum of its containers and sidecars, or
// the largest step of its start where that is more; what is given for the whole pod takes their place; overhead.
observe::Resources effective_requests(const JsonFields& pod_spec);
// What each container asks for: first the init containers, then the others.
std::vector<observe::ContainerRequests> container_requests(const JsonFields& pod_spec);

}  // namespace weir::engine::kubernetes
