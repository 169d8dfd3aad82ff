// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/matching.h"

#include <algorithm>
#include <charconv>

namespace weir::observe {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool compares(const MatchExpression& expression, const std::string* label) {
  if (label == nullptr || expression.values.size() != 1) return false;
  const auto have = whole_number(*label);
  const auto bound = whole_number(expression.values.front());
  if (!have || !bound) return false;
  return expression.op == MatchOperator::greater ? *have > *bound : *have < *bound;
}

bool holds(const MatchExpression& expression, const std::string* label) {
  const auto is_listed = [&] {
    return std::ranges::find(expression.values, *label) != expression.values.end();
  };
  switch (expression.op) {
    case MatchOperator::in:
      return label != nullptr && is_listed();
    case MatchOperator::not_in:
      return label == nullptr || !is_listed();
    case MatchOperator::exists:
      return label != nullptr;
    case MatchOperator::does_not_exist:
      return label == nullptr;
    case MatchOperator::greater:
    case MatchOperator::less:
      return compares(expression, label);
  }
  return false;
}

std::string joined(const std::vector<std::string>& values) {
  std::string all;
  for (const auto& value : values) all += (all.empty() ? "" : ", ") + value;
  return all;
}

}  // namespace

bool matches(const MatchExpression& expression, const Labels& labels) {
  return holds(expression, labels.find(expression.key));
}

bool matches(const LabelSelector& selector, const Labels& labels) {
  for (const auto& [key, value] : selector.match_labels) {
    const auto* label = labels.find(key);
    if (label == nullptr || *label != value) return false;
  }
  return std::ranges::all_of(selector.expressions,
                             [&](const auto& line) { return matches(line, labels); });
}

bool matches(const NodeTerm& term, const Node& node) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  const auto field_holds = [&](const MatchExpression& line) {
    return holds(line, line.key == "metadata.name" ? &node.meta.name : nullptr);
  };
  return std::ranges::all_of(term.expressions,
                             [&](const auto& line) { return matches(line, node.meta.labels); }) &&
         std::ranges::all_of(term.fields, field_holds);
}

bool matches_any(const std::vector<NodeTerm>& terms, const Node& node) {
  return std::ranges::any_of(terms, [&](const auto& term) { return matches(term, node); });
}

bool accepts_node(const Pod& pod, const Node& node) {
  for (const auto& [key, value] : pod.node_selector) {
    const auto* label = node.meta.labels.find(key);
    if (label == nullptr || *label != value) return false;
  }
  return !pod.node_affinity || matches_any(*pod.node_affinity, node);
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (toleration.effect && *toleration.effect != taint.effect) return false;
  if (toleration.key.empty()) return toleration.exists;
  if (toleration.key != taint.key) return false;
  return toleration.exists || toleration.value == taint.value;
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const auto& one) { return tolerates(one, taint); });
}

const Taint* first_untolerated(const Pod& pod, const Node& node) {
  for (const auto& taint : node.taints) {
    // Says once more that the node is cordoned.
    if (node.is_unschedulable && taint.key == kUnschedulableTaint) continue;
    if (taint.effect != TaintEffect::prefer_no_schedule && !tolerates(pod.tolerations, taint))
      return &taint;
  }
  return nullptr;
}

std::string_view name_of(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::no_schedule:
      return "NoSchedule";
    case TaintEffect::prefer_no_schedule:
      return "PreferNoSchedule";
    case TaintEffect::no_execute:
      return "NoExecute";
  }
  return "";
}

std::string to_string(const Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" +
         std::string{name_of(taint.effect)};
}

std::string to_string(const MatchExpression& expression) {
  switch (expression.op) {
    case MatchOperator::in:
      return expression.key + " in (" + joined(expression.values) + ")";
    case MatchOperator::not_in:
      return expression.key + " not in (" + joined(expression.values) + ")";
    case MatchOperator::exists:
      return expression.key + " exists";
    case MatchOperator::does_not_exist:
      return expression.key + " does not exist";
    case MatchOperator::greater:
      return expression.key + " > " + joined(expression.values);
    case MatchOperator::less:
      return expression.key + " < " + joined(expression.values);
  }
  return "";
}

std::string to_string(const NodeTerm& term) {
  std::string all;
  for (const auto* lines : {&term.expressions, &term.fields}) {
    for (const auto& line : *lines) all += (all.empty() ? "" : ", ") + to_string(line);
  }
  return all;
}

bool is_gpu_label(std::string_view key) {
  static constexpr std::string_view kParts[] = {
      "gpu.product", "gpu.family",  "gpu.model", "gpu-model",  "gpu-type",
      "gpu.memory",  "gpu-product", "gpu_model", "gpu_type",   "gpu.compute",
      "accelerator", "gpu-card",    "mig.",      "gpu.machine"};
  return std::ranges::any_of(kParts,
                             [&](auto part) { return key.find(part) != std::string_view::npos; });
}

}  // namespace weir::observe
