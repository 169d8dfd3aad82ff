// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "domain/nearest_name.h"
#include "observe/kubernetes/change_candidates.h"
#include "observe/kubernetes/matching.h"
#include "observe/kubernetes/pending.h"
#include "observe/kubernetes/placing.h"

namespace weir::observe {
namespace {

constexpr std::string_view kNameField = "metadata.name";

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::size_t kValuesTried = 3;

std::string subject(const Wait& wait) {
  return wait.workload.name.kind + " " + wait.workload.name.full_name();
}

// Values of a label on nodes, the nearest in spelling first, then those that most nodes have.
std::vector<std::string> values_of(const ClusterModel& model, const std::string& key,
                                   const std::string& wrong) {
  std::map<std::string, std::size_t> counts;
  for (const auto& node : model.nodes()) {
    if (const auto* value = node.object->meta.labels.find(key)) ++counts[*value];
  }
  counts.erase(wrong);
  std::vector<std::string> values;
  for (const auto& [value, count] : counts) values.push_back(value);
  const auto near = nearest_name(wrong, values);
  const std::string nearest = near ? std::string{*near} : "";
  std::ranges::stable_sort(values, [&](const auto& a, const auto& b) {
    return std::pair{a != nearest, -static_cast<std::int64_t>(counts[a])} <
           std::pair{b != nearest, -static_cast<std::int64_t>(counts[b])};
  });
  return values;
}

bool some_node_has(const ClusterModel& model, const std::string& key, const std::string& value) {
  return std::ranges::any_of(model.nodes(), [&](const auto& node) {
    const auto* label = node.object->meta.labels.find(key);
    return label != nullptr && *label == value;
  });
}

Candidate own(const Wait& wait, std::string kind, ChangeRank rank, double cost, std::string text,
              const std::vector<PatchStep>& steps, std::function<void(Pod&)> edit) {
  Candidate candidate{rank, cost, std::move(kind), {std::move(text), {}, {}}, {}};
  patch_specs(candidate.change, wait, steps);
  candidate.apply = [edit = std::move(edit)](Trial&, std::vector<PodPointer>& pods) {
    edit_pods(pods, edit);
  };
  return candidate;
}

void without_label(Labels& labels, const std::string& key) {
  Labels rest;
  for (const auto& [name, value] : labels) {
    if (name != key) rest.set(name, value);
  }
  labels = std::move(rest);
}

// Another value for a line of the node selector, the line dropped, or a node labelled as it asks.
void change_selector(const Wait& wait, const Pod& pod, std::vector<Candidate>& all) {
  for (const auto& [key, wrong] : pod.node_selector) {
    const bool is_slip = !some_node_has(wait.model, key, wrong);
    const auto rank = is_slip ? ChangeRank::mends_a_slip : ChangeRank::asks_for_less;
    const auto path = "/nodeSelector/" + path_step(key);
    auto values = values_of(wait.model, key, wrong);
    if (values.size() > kValuesTried) values.resize(kValuesTried);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = values[i];
      all.push_back(own(wait, "selector", rank, static_cast<double>(i),
                        fmt::format("Select {}={} in {} instead of {}{}.", key, value,
                                    subject(wait), wrong, is_slip ? ", which no node has" : ""),
                        {{"replace", path, json_text(value)}},
                        [key = key, value](Pod& copy) { copy.node_selector.set(key, value); }));
    }
    all.push_back(
        own(wait, "selector", rank, 10,
            fmt::format("Remove the node selector {}={} from {}.", key, wrong, subject(wait)),
            {{"remove", path, ""}},
            [key = key](Pod& copy) { without_label(copy.node_selector, key); }));
  }
}

// A line that the node does not match, made to match it: its value listed, or no longer excluded, or a bound moved.
// Nothing: the line must go.
std::optional<MatchExpression> line_for(const MatchExpression& line, const std::string* label) {
  if (label == nullptr) return std::nullopt;
  MatchExpression changed = line;
  switch (line.op) {
    case MatchOperator::in:
      if (line.key == kNameField) changed.values.clear();  // the field takes one name only
      changed.values.push_back(*label);
      return changed;
    case MatchOperator::not_in:
      std::erase(changed.values, *label);
      if (changed.values.empty()) return std::nullopt;
      return changed;
    case MatchOperator::greater:
    case MatchOperator::less: {
      std::int64_t have = 0;
      const auto [end, error] = std::from_chars(label->data(), label->data() + label->size(), have);
      if (error != std::errc{} || end != label->data() + label->size()) return std::nullopt;
      changed.values = {std::to_string(line.op == MatchOperator::greater ? have - 1 : have + 1)};
      return changed;
    }
    case MatchOperator::exists:
    case MatchOperator::does_not_exist:
      break;
  }
  return std::nullopt;
}

struct TermChange {
  NodeTerm term;
  std::vector<PatchStep> steps;
  std::string text;
};

// Last lines first, so that indexes of earlier ones hold.
void fit_lines(std::vector<MatchExpression>& lines, const std::string& path, const auto& label_of,
               TermChange& change) {
  for (std::size_t i = lines.size(); i-- > 0;) {
    const auto* label = label_of(lines[i]);
    const NodeTerm alone{{lines[i]}, {}};
    Node stand_in;
    if (label != nullptr) stand_in.meta.labels.set(lines[i].key, *label);
    if (matches(alone, stand_in)) continue;
    const auto at = path + "/" + std::to_string(i);
    const auto fitted = line_for(lines[i], label);
    if (!change.text.empty()) change.text += " and ";
    if (fitted) {
      change.text += fmt::format("'{}' to '{}'", to_string(lines[i]), to_string(*fitted));
      change.steps.push_back({"replace", at + "/values", strings_json(fitted->values)});
      lines[i] = *fitted;
    } else {
      change.text += fmt::format("'{}' to nothing", to_string(lines[i]));
      change.steps.push_back({"remove", at, ""});
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

TermChange fit_term(const NodeTerm& term, std::size_t index, const Node& node) {
  TermChange change{term, {}, ""};
  const auto path = fmt::format("/affinity/nodeAffinity/{}/nodeSelectorTerms/{}", kRequired, index);
  fit_lines(
      change.term.expressions, path + "/matchExpressions",
      [&](const MatchExpression& line) { return node.meta.labels.find(line.key); }, change);
  fit_lines(
      change.term.fields, path + "/matchFields",
      [&](const MatchExpression& line) {
        return line.key == kNameField ? &node.meta.name : nullptr;
      },
      change);
  return change;
}

bool some_node_matches(const ClusterModel& model, const std::vector<NodeTerm>& terms) {
  return std::ranges::any_of(model.nodes(),
                             [&](const auto& node) { return matches_any(terms, *node.object); });
}

// The required node affinity made to accept a node that refuses for this alone, or dropped.
void change_node_affinity(const Wait& wait, const Pod& pod, const std::vector<NodeView>& views,
                          std::vector<Candidate>& all) {
  if (!pod.node_affinity) return;
  const auto rank = some_node_matches(wait.model, *pod.node_affinity) ? ChangeRank::asks_for_less
                                                                      : ChangeRank::mends_a_slip;
  std::set<std::string> seen;
  for (const auto& view : views) {
    if (seen.size() >= kValuesTried) break;
    const auto& node = *wait.model.node(view.node).object;
    if (matches_any(*pod.node_affinity, node)) continue;
    for (std::size_t i = 0; i < pod.node_affinity->size(); ++i) {
      const auto change = fit_term((*pod.node_affinity)[i], i, node);
      const bool is_empty = change.term.expressions.empty() && change.term.fields.empty();
      if (is_empty || !seen.insert(change.text).second) continue;
      all.push_back(own(
          wait, "affinity", rank, static_cast<double>(change.steps.size()),
          fmt::format("In the node affinity of {} change {}.", subject(wait), change.text),
          change.steps, [i, term = change.term](Pod& copy) { (*copy.node_affinity)[i] = term; }));
    }
  }
  all.push_back(own(wait, "affinity", rank, 20,
                    fmt::format("Remove the required node affinity from {}.", subject(wait)),
                    {{"remove", fmt::format("/affinity/nodeAffinity/{}", kRequired), ""}},
                    [](Pod& copy) { copy.node_affinity.reset(); }));
}

void drop_node_name(const Wait& wait, const Pod& pod, std::vector<Candidate>& all) {
  if (pod.node.empty()) return;
  all.push_back(
      own(wait, "node_name", ChangeRank::mends_a_slip, 0,
          fmt::format("Remove nodeName from {}: node {} does not exist.", subject(wait), pod.node),
          {{"remove", "/nodeName", ""}}, [](Pod& copy) { copy.node.clear(); }));
}

// Written by the server into every pod; not part of a manifest.
bool is_default(const Toleration& toleration) {
  return toleration.effect == TaintEffect::no_execute && toleration.exists &&
         (toleration.key == kNotReadyTaint || toleration.key == kUnreachableTaint);
}

std::vector<Taint> untolerated(const Pod& pod, const Node& node) {
  std::vector<Taint> taints;
  for (const auto& taint : node.taints) {
    if (node.is_unschedulable && taint.key == kUnschedulableTaint) continue;
    if (taint.effect != TaintEffect::prefer_no_schedule && !tolerates(pod.tolerations, taint))
      taints.push_back(taint);
  }
  return taints;
}

void tolerate_taints(const Wait& wait, const Pod& pod, const std::vector<NodeView>& views,
                     std::vector<Candidate>& all) {
  std::set<std::string> seen;
  for (const auto& view : views) {
    if (seen.size() >= 2) break;
    if (!view.failing.has(Filter::taint)) continue;
    std::string names;
    auto tolerations = pod.tolerations;
    bool is_down = false;
    for (const auto& taint : untolerated(pod, *wait.model.node(view.node).object)) {
      names += (names.empty() ? "" : " and ") + to_string(taint);
      tolerations.push_back({taint.key, false, taint.value, taint.effect});
      is_down = is_down || means_not_ready(taint);
    }
    if (!seen.insert(names).second) continue;
    auto written = tolerations;
    std::erase_if(written, is_default);
    all.push_back(own(wait, "toleration", ChangeRank::asks_for_less, is_down ? 50 : 1,
                      fmt::format("Let {} tolerate {}.", subject(wait), names),
                      {{"add", "/tolerations", tolerations_json(written)}},
                      [tolerations](Pod& copy) { copy.tolerations = tolerations; }));
  }
}

void relax_pod_terms(const Wait& wait, const Pod& pod, std::vector<Candidate>& all) {
  if (!pod.pod_affinity.empty()) {
    all.push_back(own(wait, "pod_affinity", ChangeRank::asks_for_less, 2,
                      fmt::format("Remove the required pod affinity from {}.", subject(wait)),
                      {{"remove", fmt::format("/affinity/podAffinity/{}", kRequired), ""}},
                      [](Pod& copy) { copy.pod_affinity.clear(); }));
  }
  if (!pod.pod_anti_affinity.empty()) {
    all.push_back(own(wait, "pod_anti_affinity", ChangeRank::asks_for_less, 2,
                      fmt::format("Remove the required pod anti-affinity from {}.", subject(wait)),
                      {{"remove", fmt::format("/affinity/podAntiAffinity/{}", kRequired), ""}},
                      [](Pod& copy) { copy.pod_anti_affinity.clear(); }));
  }
}

void relax_spread(const Wait& wait, const Pod& pod, std::vector<Candidate>& all) {
  std::vector<PatchStep> steps;
  std::string keys;
  for (std::size_t i = 0; i < pod.spread.size(); ++i) {
    if (!pod.spread[i].is_hard) continue;
    steps.push_back({"replace", fmt::format("/topologySpreadConstraints/{}/whenUnsatisfiable", i),
                     json_text("ScheduleAnyway")});
    if (pod.spread[i].min_domains > 1)
      steps.push_back({"remove", fmt::format("/topologySpreadConstraints/{}/minDomains", i), ""});
    keys += (keys.empty() ? "" : " and ") + pod.spread[i].topology_key;
  }
  if (steps.empty()) return;
  all.push_back(own(
      wait, "spread", ChangeRank::asks_for_less, 2,
      fmt::format("Let {} spread over {} where possible only (whenUnsatisfiable: ScheduleAnyway).",
                  subject(wait), keys),
      steps, [](Pod& copy) {
        for (auto& spread : copy.spread) spread.is_hard = false;
      }));
}

void drop_host_ports(const Wait& wait, const Pod& pod, std::vector<Candidate>& all) {
  if (pod.host_ports.empty()) return;
  std::vector<PatchStep> steps;
  std::string ports;
  for (const auto& port : pod.host_ports) {
    steps.push_back({"remove",
                     fmt::format("/containers/{}/ports/{}/hostPort", port.container, port.index),
                     ""});
    ports += (ports.empty() ? "" : ", ") + std::to_string(port.port);
  }
  all.push_back(own(wait, "host_port", ChangeRank::asks_for_less, 2,
                    fmt::format("Ask for no host port ({}) in {}.", ports, subject(wait)), steps,
                    [](Pod& copy) { copy.host_ports.clear(); }));
}

// Which container, by number among its kind, asks for all of a resource. Nothing: several do, overhead counts, or the
// containers are not known.
struct Asker {
  bool is_init = false;
  std::size_t index = 0;
  Resources requests;
};
std::optional<Asker> sole_asker(const Pod& pod, const std::string& resource) {
  std::optional<Asker> found;
  std::size_t numbers[2] = {0, 0};
  for (const auto& container : pod.containers) {
    const auto index = numbers[container.is_init ? 1 : 0]++;
    const auto* amount = container.requests.find(resource);
    if (amount == nullptr || amount->is_zero()) continue;
    if (found) return std::nullopt;
    found = Asker{container.is_init, index, container.requests};
  }
  const auto* total = pod.requests.find(resource);
  if (!found || total == nullptr || *found->requests.find(resource) != *total) return std::nullopt;
  return found;
}

std::vector<PatchStep> request_steps(const Asker& asker, const std::string& resource,
                                     Resources requests, const std::string& amount) {
  const auto at =
      fmt::format("/{}/{}/resources", asker.is_init ? "initContainers" : "containers", asker.index);
  std::vector<PatchStep> steps{{"add", at + "/requests", resources_json(requests)}};
  if (is_extended(resource))
    steps.push_back({"add", at + "/limits/" + path_step(resource), json_text(amount)});
  return steps;
}

void ask_for(const Wait& wait, const Pod& pod, const std::string& resource, Amount amount,
             double cost, std::vector<Candidate>& all) {
  const auto asker = sole_asker(pod, resource);
  if (!asker) return;
  auto requests = asker->requests;
  requests.set(resource, to_quantity(resource, amount));
  const auto text = amount_text(resource, amount);
  all.push_back(own(
      wait, "request", ChangeRank::asks_for_less, cost,
      fmt::format("Ask for {} {} instead of {} in {}.", text, resource,
                  amount_text(resource, requested_amount(resource, *pod.requests.find(resource))),
                  subject(wait)),
      request_steps(*asker, resource, requests, text), [resource, amount](Pod& copy) {
        copy.requests.set(resource, to_quantity(resource, amount));
      }));
}

// What is free of a short resource where nothing else stops it: all of it, then less, so that all pods may fit.
void lower_requests(const Wait& wait, const Pod& pod, const PodFilters& filters,
                    const std::vector<NodeView>& views, std::vector<Candidate>& all) {
  std::map<ResourceId, Amount> most_free;
  for (const auto& view : views) {
    // With one more objection it may still be half of a pair.
    if (!view.failing.has(Filter::resources) || view.failing.count() > 2) continue;
    const auto missing = filters.short_of(view.node);
    if (missing.size() != 1 || missing.front() == kPods || missing.front() == kUnknownResource)
      continue;
    auto& most = most_free[missing.front()];
    most = std::max(most, wait.model.node(view.node).free_of(missing.front()));
  }
  for (const auto& [id, most] : most_free) {
    double cost = 10;
    for (auto amount = most; amount > 0 && cost < 15; amount /= 2, ++cost) {
      ask_for(wait, pod, std::string{wait.model.resources().name(id)}, amount, cost, all);
    }
  }
  const auto* share = pod.requests.find(kShareOfMemory);
  Amount most_share = 0;
  for (const auto& view : views) {
    if (!view.failing.is_only(Filter::device_share)) continue;
    for (const auto free : free_device_shares(wait.model.node(view.node)))
      most_share = std::max(most_share, free);
  }
  if (share != nullptr && most_share > 0)
    ask_for(wait, pod, std::string{kShareOfMemory}, most_share, 10, all);
}

// A device that no node offers: another of its kind instead.
void ask_for_another_device(const Wait& wait, const Pod& pod, std::vector<Candidate>& all) {
  for (const auto& [resource, quantity] : pod.requests) {
    if (!is_extended(resource)) continue;
    const auto id = wait.model.resources().find(resource);
    const auto offers = [&](const ModelNode& node) { return id && node.offered_of(*id) > 0; };
    if (std::ranges::any_of(wait.model.nodes(), offers)) continue;
    std::map<std::string, Amount> others;
    for (const auto& node : wait.model.nodes()) {
      for (const auto& [name, offered] : node.object->allocatable) {
        if (is_extended(name) && is_gpu(name) == is_gpu(resource) && name != kShareDevices) {
          others[name] = std::max(others[name], node.free_of(*wait.model.resources().find(name)));
        }
      }
    }
    const auto asker = sole_asker(pod, resource);
    if (!asker) continue;
    for (const auto& [name, free] : others) {
      const auto amount = std::min(free, quantity.units_rounded_up());
      if (amount < 1) continue;
      Resources requests;
      for (const auto& [other, value] : asker->requests) {
        if (other != resource) requests.set(other, value);
      }
      requests.set(name, Quantity::of(amount));
      auto steps = request_steps(*asker, name, requests, std::to_string(amount));
      steps.push_back({"remove",
                       fmt::format("/{}/{}/resources/limits/{}",
                                   asker->is_init ? "initContainers" : "containers", asker->index,
                                   path_step(resource)),
                       ""});
      const auto near = nearest_name(resource, std::vector<std::string>{name});
      all.push_back(own(wait, "device", ChangeRank::mends_a_slip, near ? 0 : 1,
                        fmt::format("Ask for {} {} in {} instead of {}, which no node offers.",
                                    amount, name, subject(wait), resource),
                        steps, [requests, from = asker->requests](Pod& copy) {
                          Resources rest;
                          for (const auto& [other, value] : copy.requests) {
                            if (!from.contains(other)) rest.set(other, value);
                          }
                          for (const auto& [other, value] : requests) rest.set(other, value);
                          copy.requests = rest;
                        }));
    }
  }
}

void drop_claims(const Wait& wait, const Pod& pod, std::vector<Candidate>& all) {
  if (pod.resource_claims.empty()) return;
  all.push_back(
      own(wait, "resource_claim", ChangeRank::asks_for_less, 5,
          fmt::format("Remove resourceClaims from {}, in its containers too.", subject(wait)),
          {{"remove", "/resourceClaims", ""}}, [](Pod& copy) { copy.resource_claims.clear(); }));
}

// A job that runs in part may go on with as many pods as run; a gang may be content with fewer.
void run_fewer(const Wait& wait, std::vector<Candidate>& all) {
  const auto& job = wait.workload.job;
  const auto running = wait.workload.running.size();
  if (job && job->kind == WorkloadKind::job && running > 0 &&
      running < static_cast<std::size_t>(job->parallelism)) {
    Candidate fewer{ChangeRank::asks_for_less, 1, "parallelism", {}, {}};
    fewer.change.text =
        fmt::format("Let {} run {} pods at a time instead of {}; the others follow as these end.",
                    subject(wait), running, job->parallelism);
    fewer.change.edits.push_back(
        patch_of(wait.workload.name, {{"replace", "/spec/parallelism", std::to_string(running)}}));
    fewer.change.commands.push_back(command_in_place(fewer.change.edits.back()));
    fewer.apply = [](Trial&, std::vector<PodPointer>& pods) { pods.clear(); };
    all.push_back(std::move(fewer));
  }
  const auto& group = wait.workload.group;
  if (!group || group->min_member < 2) return;
  const auto fit = count_that_fit(wait.model, wait.pods) + running;
  if (fit == 0 || fit >= static_cast<std::size_t>(group->min_member)) return;
  // Behind what starts all of them.
  Candidate fewer{ChangeRank::ends_a_pod, 1e6, "min_member", {}, {}};
  fewer.change.text = fmt::format(
      "Lower minMember of PodGroup {} from {} to {}: so many fit at once, the rest waits.",
      group->meta.full_name(), group->min_member, fit);
  fewer.change.edits.push_back(patch_of({"PodGroup", group->meta.ns, group->meta.name},
                                        {{"replace", "/spec/minMember", std::to_string(fit)}}));
  fewer.change.commands.push_back(command_in_place(fewer.change.edits.back()));
  fewer.apply = [keep = fit - running](Trial&, std::vector<PodPointer>& pods) {
    pods.resize(std::min(pods.size(), keep));
  };
  all.push_back(std::move(fewer));
}

}  // namespace

void edit_pods(std::vector<PodPointer>& pods, const std::function<void(Pod&)>& edit) {
  for (auto& pod : pods) {
    auto copy = std::make_shared<Pod>(*pod);
    edit(*copy);
    pod = std::move(copy);
  }
}

void patch_specs(Change& change, const Wait& wait, const std::vector<PatchStep>& steps) {
  for (const auto& place : spec_places(wait.workload.pods, wait.objects)) {
    auto prefixed = steps;
    for (auto& step : prefixed) step.path = place.prefix + step.path;
    change.edits.push_back(patch_of(place.object, prefixed));
    change.commands.push_back(command_for(change.edits.back()));
  }
}

std::vector<NodeView> nodes_by_objections(const ClusterModel& model, const PodFilters& filters) {
  std::vector<NodeView> views;
  views.reserve(model.node_count());
  for (NodeIndex i = 0; i < model.node_count(); ++i) views.push_back({i, filters.failing(i)});
  std::ranges::stable_sort(views, {}, [](const NodeView& view) { return view.failing.count(); });
  return views;
}

std::vector<Candidate> own_changes(const Wait& wait, const PodFilters& filters) {
  std::vector<Candidate> all;
  if (wait.workload.pods.empty()) return all;
  const auto& pod = filters.pod();
  const auto views = nodes_by_objections(wait.model, filters);
  drop_node_name(wait, pod, all);
  change_selector(wait, pod, all);
  change_node_affinity(wait, pod, views, all);
  tolerate_taints(wait, pod, views, all);
  relax_pod_terms(wait, pod, all);
  relax_spread(wait, pod, all);
  drop_host_ports(wait, pod, all);
  lower_requests(wait, pod, filters, views, all);
  ask_for_another_device(wait, pod, all);
  drop_claims(wait, pod, all);
  run_fewer(wait, all);
  return all;
}

}  // namespace weir::observe
