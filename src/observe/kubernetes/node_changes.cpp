// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "observe/kubernetes/change_candidates.h"
#include "observe/kubernetes/matching.h"
#include "observe/kubernetes/placing.h"

namespace weir::observe {
namespace {

// One edit of one node.
struct NodeMending {
  NodePointer mended;
  Edit edit;
  std::string command;
  std::string text;
};

// Opens as many of the nodes as it takes for all pods, in order: 1, 2, 3, ... Then one candidate.
constexpr std::size_t kMostNodesOpened = 16;

void open_nodes(const Wait& wait, std::string kind, double cost,
                const std::vector<NodeIndex>& nodes, const auto& mend,
                std::vector<Candidate>& all) {
  Candidate candidate{ChangeRank::opens_a_node, cost, std::move(kind), {}, {}};
  std::vector<std::pair<NodeIndex, NodePointer>> mended;
  const auto apply_to = [&mended](Trial& trial) {
    for (const auto& [index, node] : mended) trial.replace_node(index, node);
  };
  for (const auto index : nodes) {
    if (mended.size() >= kMostNodesOpened) break;
    const NodeMending mending = mend(*wait.model.node(index).object);
    mended.emplace_back(index, mending.mended);
    candidate.change.text += (candidate.change.text.empty() ? "" : " ") + mending.text;
    candidate.change.edits.push_back(mending.edit);
    candidate.change.commands.push_back(mending.command);
    Trial trial{wait.model};
    apply_to(trial);
    if (place_in_order(wait.model, trial, wait.pods) == wait.pods.size()) break;
  }
  if (mended.empty()) return;
  candidate.apply = [mended](Trial& trial, std::vector<PodPointer>&) {
    for (const auto& [index, node] : mended) trial.replace_node(index, node);
  };
  all.push_back(std::move(candidate));
}

NodeMending uncordon(const Node& node) {
  auto copy = std::make_shared<Node>(node);
  copy->is_unschedulable = false;
  std::erase_if(copy->taints, [](const Taint& taint) { return taint.key == kUnschedulableTaint; });
  return {copy, patch_of({"Node", "", node.meta.name}, {{"add", "/spec/unschedulable", "false"}}),
          "kubectl uncordon " + node.meta.name, fmt::format("Uncordon node {}.", node.meta.name)};
}

NodeMending untaint(const Node& node, const Pod& pod) {
  auto copy = std::make_shared<Node>(node);
  std::vector<PatchStep> steps;
  std::string names;
  std::string command = "kubectl taint node " + node.meta.name;
  for (std::size_t i = node.taints.size(); i-- > 0;) {
    const auto& taint = node.taints[i];
    if (taint.effect == TaintEffect::prefer_no_schedule || tolerates(pod.tolerations, taint))
      continue;
    if (node.is_unschedulable && taint.key == kUnschedulableTaint) continue;
    steps.push_back({"remove", fmt::format("/spec/taints/{}", i), ""});
    names = to_string(taint) + (names.empty() ? "" : " and ") + names;
    command += " " + to_string(taint) + "-";
    copy->taints.erase(copy->taints.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return {copy, patch_of({"Node", "", node.meta.name}, steps), command,
          fmt::format("Remove the taint {} from node {}.", names, node.meta.name)};
}

NodeMending repair(const Node& node) {
  auto copy = std::make_shared<Node>(node);
  copy->is_ready = true;
  std::erase_if(copy->taints, means_not_ready);
  static constexpr std::string_view kReady =
      R"([{"type":"Ready","status":"True","reason":"KubeletReady","message":"repaired"}])";
  return {
      copy,
      patch_of({"Node", "", node.meta.name}, {{"add", "/status/conditions", std::string{kReady}}}),
      "kubectl describe node " + node.meta.name,
      fmt::format("Bring node {} back: its kubelet is down or says it is not ready.",
                  node.meta.name)};
}

std::vector<NodeIndex> failing_with(const std::vector<NodeView>& views, Filter filter,
                                    const auto& keep) {
  std::vector<NodeIndex> nodes;
  for (const auto& view : views) {
    if (view.failing.has(filter) && keep(view.node)) nodes.push_back(view.node);
  }
  return nodes;
}

void open_closed_nodes(const Wait& wait, const PodFilters& filters,
                       const std::vector<NodeView>& views, std::vector<Candidate>& all) {
  const auto& pod = filters.pod();
  const auto can_hold = [&](NodeIndex node) { return filters.too_small_in(node).empty(); };
  open_nodes(wait, "uncordon", 0, failing_with(views, Filter::unschedulable, can_hold), uncordon,
             all);
  const auto is_down = [&](NodeIndex node) {
    const auto* taint = first_untolerated(pod, *wait.model.node(node).object);
    return can_hold(node) && taint != nullptr && means_not_ready(*taint);
  };
  const auto is_tainted = [&](NodeIndex node) { return can_hold(node) && !is_down(node); };
  open_nodes(
      wait, "untaint", 1, failing_with(views, Filter::taint, is_tainted),
      [&](const Node& node) { return untaint(node, pod); }, all);
  open_nodes(wait, "repair", 2, failing_with(views, Filter::taint, is_down), repair, all);
}

// Labels that a required term asks for: the first value of `in`, anything where it must exist.
void label_for(const std::vector<NodeTerm>& terms, Node& node) {
  if (terms.empty() || matches_any(terms, node)) return;
  for (const auto& line : terms.front().expressions) {
    if (line.op == MatchOperator::in && !line.values.empty())
      node.meta.labels.set(line.key, line.values.front());
    if (line.op == MatchOperator::exists && !node.meta.labels.contains(line.key))
      node.meta.labels.set(line.key, "");
    if (line.op == MatchOperator::greater && !line.values.empty()) {
      node.meta.labels.set(
          line.key, std::to_string(std::strtoll(line.values.front().c_str(), nullptr, 10) + 1));
    }
  }
}

void fit_to_volumes(const Pod& pod, const Storage& storage, Node& node) {
  for (const auto& name : pod.claims) {
    const auto claim = storage.claims.find(pod.meta.ns + "/" + name);
    if (claim == storage.claims.end()) continue;
    const auto volume = storage.volumes.find(claim->second->volume);
    if (volume != storage.volumes.end() && volume->second->node_affinity) {
      label_for(*volume->second->node_affinity, node);
    }
  }
}

// The node to add more of: one that would take the pod when empty and open, the one with the fewest GPUs; else the one
// with the most GPUs, made large enough.
struct Template {
  std::string name;
  Node node;
  bool is_larger = false;  // or labelled otherwise than any node there is
};
Template template_for(const Wait& wait, const PodFilters& filters) {
  const auto& pod = filters.pod();
  const Node* best = nullptr;
  const Node* largest = nullptr;
  for (NodeIndex i = 0; i < wait.model.node_count(); ++i) {
    const auto& node = *wait.model.node(i).object;
    if (largest == nullptr || gpus_in(node.allocatable) > gpus_in(largest->allocatable))
      largest = &node;
    if (!filters.too_small_in(i).empty() || !accepts_node(pod, node)) continue;
    if (best == nullptr || gpus_in(node.allocatable) < gpus_in(best->allocatable)) best = &node;
  }
  Template found;
  if (best == nullptr && largest == nullptr) {
    found.node.allocatable = {{"cpu", Quantity::of(8)},
                              {"memory", Quantity::of(std::int64_t{64} << 30)},
                              {"pods", Quantity::of(110)}};
  } else {
    found.node = best != nullptr ? *best : *largest;
  }
  found.name = found.node.meta.name;
  found.is_larger = best == nullptr;
  return found;
}

void make_room(const Pod& pod, Node& node) {
  for (const auto& [resource, quantity] : pod.requests) {
    const auto* offered = node.allocatable.find(resource);
    if (offered == nullptr || *offered < quantity) node.allocatable.set(resource, quantity);
  }
  for (const auto& [key, value] : pod.node_selector) node.meta.labels.set(key, value);
  if (pod.node_affinity) label_for(*pod.node_affinity, node);
}

NodePointer fresh_copy(const Wait& wait, const Node& pattern, std::size_t number) {
  auto node = std::make_shared<Node>(pattern);
  const auto stem = pattern.meta.name.empty() ? std::string{"node"} : pattern.meta.name + "-more";
  node->meta.name = fmt::format("{}-{}", stem, number);
  while (wait.model.find_node(node->meta.name)) node->meta.name += "x";
  node->meta.labels.set("kubernetes.io/hostname", node->meta.name);
  node->is_ready = true;
  node->is_unschedulable = false;
  return node;
}

std::string offer_text(const Pod& pod, const Node& node) {
  std::string text;
  for (const auto& [resource, quantity] : pod.requests) {
    const auto* offered = node.allocatable.find(resource);
    if (offered == nullptr || quantity.is_zero()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        amount_text(resource, offered_amount(resource, *offered)), resource);
  }
  return text;
}

constexpr std::size_t kMostNodesAdded = 64;

// Keys by which pods are kept apart, or spread: its own and those of pods that keep it away.
std::set<std::string> keys_of_separation(const Wait& wait, const Pod& pod) {
  std::set<std::string> keys;
  for (const auto& term : pod.pod_anti_affinity) keys.insert(term.topology_key);
  for (const auto& spread : pod.spread) keys.insert(spread.topology_key);
  for (const auto& [other, node] : wait.model.pods_with_anti_affinity()) {
    for (const auto& term : other->pod_anti_affinity) {
      if (term_matches(term, *other, pod, wait.model)) keys.insert(term.topology_key);
    }
  }
  keys.erase("kubernetes.io/hostname");
  return keys;
}

void add_nodes(const Wait& wait, const PodFilters& filters, bool in_new_domain,
               std::vector<Candidate>& all) {
  const auto& pod = filters.pod();
  auto pattern = template_for(wait, filters);
  std::erase_if(pattern.node.taints,
                [&](const Taint& taint) { return !tolerates(pod.tolerations, taint); });
  if (pattern.is_larger) make_room(pod, pattern.node);
  fit_to_volumes(pod, wait.model.storage(), pattern.node);
  std::string domains;
  if (in_new_domain) {
    for (const auto& key : keys_of_separation(wait, pod)) {
      if (pod.node_selector.contains(key)) continue;
      pattern.node.meta.labels.set(key, "new-1");
      domains += (domains.empty() ? ", in a new " : " and ") + key;
    }
    if (domains.empty()) return;
  }
  std::vector<NodePointer> added;
  bool is_enough = false;
  Trial trial{wait.model};
  while (!is_enough && added.size() < std::min(kMostNodesAdded, wait.pods.size())) {
    added.push_back(fresh_copy(wait, pattern.node, added.size() + 1));
    trial.add_node(added.back());
    // Doubling keeps large gangs cheap.
    if (added.size() > 4 && (added.size() & (added.size() - 1)) != 0 &&
        added.size() != wait.pods.size())
      continue;
    Trial placing{wait.model};
    is_enough = place_in_order(wait.model, placing, wait.pods) == wait.pods.size();
  }
  Candidate candidate{ChangeRank::adds_a_node,
                      static_cast<double>(added.size()) + (pattern.is_larger ? 0.5 : 0) +
                          (in_new_domain ? 0.25 : 0),
                      "add_node",
                      {},
                      {}};
  const auto count =
      added.size() == 1 ? std::string{"a node"} : fmt::format("{} nodes", added.size());
  candidate.change.text =
      pattern.is_larger || pattern.name.empty()
          ? fmt::format("Add {} with {}{}{}.", count, offer_text(pod, pattern.node),
                        added.size() == 1 ? "" : " each", domains)
          : fmt::format("Add {} like {} ({}{}){}.", count, pattern.name,
                        offer_text(pod, pattern.node), added.size() == 1 ? "" : " each", domains);
  for (const auto& node : added) {
    candidate.change.edits.push_back(
        {Edit::Action::create, {"Node", "", node->meta.name}, node_manifest(*node)});
  }
  candidate.apply = [added](Trial& then, std::vector<PodPointer>&) {
    for (const auto& node : added) then.add_node(node);
  };
  all.push_back(std::move(candidate));
}

// A claim made, or a volume for one that waits.
void provide_volumes(const Wait& wait, const Pod& pod, std::vector<Candidate>& all) {
  auto storage = std::make_shared<Storage>(wait.model.storage());
  Candidate candidate{ChangeRank::opens_a_node, 0, "volume", {}, {}};
  std::set<std::string> taken;
  for (const auto& name : pod.claims) {
    const auto full_name = pod.meta.ns + "/" + name;
    const auto at = storage->claims.find(full_name);
    if (at != storage->claims.end() && at->second->is_bound) continue;
    auto claim =
        std::make_shared<VolumeClaim>(at != storage->claims.end() ? *at->second : VolumeClaim{});
    const bool is_new = at == storage->claims.end();
    claim->meta.ns = pod.meta.ns;
    claim->meta.name = name;
    const auto free = std::ranges::find_if(storage->volumes, [&](const auto& entry) {
      return entry.second->is_free && !taken.contains(entry.first) &&
             (is_new || entry.second->storage_class == claim->storage_class);
    });
    const auto provisioned = std::ranges::find_if(
        storage->classes, [](const auto& entry) { return entry.second->can_provision; });
    if (is_new) {
      if (free != storage->volumes.end()) {
        claim->storage_class = free->second->storage_class;
        claim->volume = free->first;
        claim->is_bound = true;
        taken.insert(free->first);
      } else if (provisioned != storage->classes.end()) {
        claim->storage_class = provisioned->first;
        claim->is_bound = true;
      } else {
        claim->storage_class = "";
      }
      candidate.change.text += fmt::format(
          "{}Create the volume claim {}{}.", candidate.change.text.empty() ? "" : " ", full_name,
          claim->volume.empty() ? "" : " for the free volume " + claim->volume);
      candidate.change.edits.push_back({Edit::Action::create,
                                        {"PersistentVolumeClaim", claim->meta.ns, claim->meta.name},
                                        volume_claim_manifest(*claim)});
    }
    if (!claim->is_bound) {
      const auto volume = "volume-for-" + name;
      claim->volume = volume;
      claim->is_bound = true;
      candidate.change.text +=
          fmt::format("{}Create a volume of class \"{}\" for the claim {}.",
                      candidate.change.text.empty() ? "" : " ", claim->storage_class, full_name);
      candidate.change.edits.push_back({Edit::Action::create,
                                        {"PersistentVolume", "", volume},
                                        volume_manifest(volume, claim->storage_class)});
    }
    storage->claims[full_name] = claim;
  }
  if (candidate.change.edits.empty()) return;
  for (const auto& edit : candidate.change.edits)
    candidate.change.commands.push_back(command_for(edit));
  candidate.apply = [storage](Trial& trial, std::vector<PodPointer>&) {
    trial.set_storage(storage);
  };
  all.push_back(std::move(candidate));
}

}  // namespace

std::vector<Candidate> node_changes(const Wait& wait, const PodFilters& filters) {
  std::vector<Candidate> all;
  const auto views = nodes_by_objections(wait.model, filters);
  open_closed_nodes(wait, filters, views, all);
  provide_volumes(wait, filters.pod(), all);
  add_nodes(wait, filters, false, all);
  add_nodes(wait, filters, true, all);
  return all;
}

}  // namespace weir::observe
