// SPDX-License-Identifier: Apache-2.0
//
// Selectors, node terms, taints and tolerations: what matches what, as Kubernetes defines it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "observe/kubernetes/objects.h"

namespace weir::observe {

// One line of a selector against labels. `not_in` also holds where the label is absent. Greater and less compare
// whole numbers; anything that is no number matches nothing.
bool matches(const MatchExpression& expression, const Labels& labels);

// Everything holds. An empty selector matches everything.
bool matches(const LabelSelector& selector, const Labels& labels);

// A term without any line matches nothing.
bool matches(const NodeTerm& term, const Node& node);
bool matches_any(const std::vector<NodeTerm>& terms, const Node& node);

// The pod's own nodeSelector and required node affinity.
bool accepts_node(const Pod& pod, const Node& node);

bool tolerates(const Toleration& toleration, const Taint& taint);
bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
inline constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";
inline constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";
inline constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";
// The node's controller took it away from schedulers because the node does not answer or is not well.
inline bool means_not_ready(const Taint& taint) {
  return taint.key == kNotReadyTaint || taint.key == kUnreachableTaint;
}
// The first taint that keeps the pod away: effect NoSchedule or NoExecute, and not tolerated. Without the one that
// repeats that a node is cordoned.
const Taint* first_untolerated(const Pod& pod, const Node& node);

// "key=value:NoSchedule", as kubectl writes it; without "=value" where there is none.
std::string to_string(const Taint& taint);
std::string_view name_of(TaintEffect effect);
// "key in (a, b)"
std::string to_string(const MatchExpression& expression);
std::string to_string(const NodeTerm& term);

// Whether a label names the product, family or size of a GPU: nvidia.com/gpu.product and its kin.
bool is_gpu_label(std::string_view key);

}  // namespace weir::observe
