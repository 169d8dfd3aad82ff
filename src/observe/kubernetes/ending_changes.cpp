// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "observe/kubernetes/change_candidates.h"
#include "observe/kubernetes/pending.h"
#include "observe/kubernetes/placing.h"

namespace weir::observe {
namespace {

// system-cluster-critical and above.
constexpr std::int32_t kSystemPriority = 2'000'000'000;

bool belongs_to_the_system(const Pod& pod) {
  return pod.meta.ns.starts_with("kube-") || pod.priority >= kSystemPriority ||
         (pod.meta.owner && pod.meta.owner->kind == "DaemonSet");
}

// What a pod's end costs its owner: the GPU hours it has run, since those are lost. More with a higher priority.
struct Loss {
  std::int32_t priority = 0;
  double gpu_hours = 0;
  std::size_t pods = 0;
  friend auto operator<=>(const Loss&, const Loss&) = default;
};
Loss loss_of(const Pod& pod, Time now) {
  const auto since = pod.started.value_or(pod.scheduled.value_or(pod.meta.created));
  const auto hours = std::max(0.0, to_seconds(now - since) / 3600);
  return {pod.priority, (gpus_in(pod.requests) + 0.01) * (hours + 0.1), 1};
}
Loss operator+(Loss a, Loss b) {
  return {std::max(a.priority, b.priority), a.gpu_hours + b.gpu_hours, a.pods + b.pods};
}

struct Victims {
  NodeIndex node = 0;
  std::vector<PodPointer> pods;
  Loss loss{std::numeric_limits<std::int32_t>::min(), 0, 0};
};

// Whether a pod stands in the way at all: takes something that is short, a port, or keeps the pod away.
bool may_matter(const Pod& victim, const PodFilters& filters, NodeIndex node,
                const ClusterModel& model) {
  const auto failing = filters.failing(node);
  if (failing.has(Filter::pod_anti_affinity) || failing.has(Filter::topology_spread)) return true;
  if (failing.has(Filter::host_port) && !victim.host_ports.empty()) return true;
  if (failing.has(Filter::device_share) && victim.requests.contains(kShareOfMemory)) return true;
  const auto missing = filters.short_of(node);
  const auto takes = model.amounts_of(victim);
  return std::ranges::any_of(takes, [&](const auto& entry) {
    return std::ranges::find(missing, entry.first) != missing.end();
  });
}

bool fits_there(const ClusterModel& model, const Pod& pod, NodeIndex node) {
  return PodFilters{model, pod}.passes(node);
}

// The cheapest pods of one node whose end makes room: added in order of loss until it fits, then those given back
// that were not needed. Nothing: no room even so.
std::optional<Victims> victims_on(const Wait& wait, const PodFilters& filters, NodeIndex node) {
  std::vector<PodPointer> ordered;
  for (const auto& pod : wait.model.node(node).pods) {
    if (!pod->meta.deleted && !belongs_to_the_system(*pod) &&
        may_matter(*pod, filters, node, wait.model)) {
      ordered.push_back(pod);
    }
  }
  const auto now = wait.objects.at;
  std::ranges::stable_sort(ordered, [&](const auto& a, const auto& b) {
    return std::pair{loss_of(*a, now), a->meta.full_name()} <
           std::pair{loss_of(*b, now), b->meta.full_name()};
  });
  Trial trial{wait.model};
  std::vector<PodPointer> ended;
  const bool depends_on_pods = filters.depends_on_pods();
  const auto fits = [&] {
    return depends_on_pods ? fits_there(wait.model, filters.pod(), node) : filters.passes(node);
  };
  for (std::size_t i = 0; i < ordered.size() && !fits(); ++i) {
    trial.remove(ordered[i], node);
    ended.push_back(ordered[i]);
  }
  if (!fits()) return std::nullopt;
  Victims victims{node, {}, {}};
  for (std::size_t i = ended.size(); i-- > 0;) {
    trial.place(ended[i], node);
    if (fits()) continue;
    trial.remove(ended[i], node);
    victims.pods.push_back(ended[i]);
    victims.loss = victims.loss + loss_of(*ended[i], now);
  }
  return victims;
}

constexpr std::size_t kNodesTried = 200;

std::optional<Victims> cheapest_victims(const Wait& wait, const Pod& pod) {
  const PodFilters filters{wait.model, pod};
  std::optional<Victims> best;
  std::size_t tried = 0;
  for (const auto& view : nodes_by_objections(wait.model, filters)) {
    const bool is_closed =
        std::ranges::any_of(kStaticFilters, [&](Filter one) { return view.failing.has(one); });
    if (is_closed || !filters.too_small_in(view.node).empty()) continue;
    if (++tried > kNodesTried) break;
    auto victims = victims_on(wait, filters, view.node);
    if (victims && !victims->pods.empty() && (!best || victims->loss < best->loss))
      best = std::move(victims);
  }
  return best;
}

// One pod after the other: placed where it fits, else where the cheapest victims make room.
std::optional<std::vector<PodPointer>> victims_for_all(const Wait& wait) {
  constexpr std::size_t kMostVictims = 64;
  std::vector<PodPointer> ended;
  Trial trial{wait.model};
  for (const auto& pod : wait.pods) {
    if (place_in_order(wait.model, trial, std::span{&pod, 1}) == 1) continue;
    const auto victims = cheapest_victims(wait, *pod);
    if (!victims || ended.size() + victims->pods.size() > kMostVictims) return std::nullopt;
    for (const auto& victim : victims->pods) {
      trial.remove(victim, victims->node);
      ended.push_back(victim);
    }
    if (place_in_order(wait.model, trial, std::span{&pod, 1}) == 0) return std::nullopt;
  }
  return ended;
}

// Pods of a job come back at once: the job itself must end.
ObjectName what_to_end(const Pod& pod, const ClusterObjects& objects) {
  if (pod.meta.owner && pod.meta.owner->kind == "Job" &&
      objects.jobs.contains(pod.meta.ns + "/" + pod.meta.owner->name)) {
    return {"Job", pod.meta.ns, pod.meta.owner->name};
  }
  return {"Pod", pod.meta.ns, pod.meta.name};
}

void end_pods(const Wait& wait, std::vector<Candidate>& all) {
  const auto ended = victims_for_all(wait);
  if (!ended || ended->empty()) return;
  Candidate candidate{ChangeRank::ends_a_pod, 0, "end", {}, {}};
  std::set<ObjectName> named;
  double gpus = 0;
  for (const auto& pod : *ended) {
    gpus += gpus_in(pod->requests);
    const auto object = what_to_end(*pod, wait.objects);
    if (!named.insert(object).second) continue;
    candidate.change.edits.push_back(removal_of(object));
    candidate.change.commands.push_back(command_for(candidate.change.edits.back()));
  }
  std::string names;
  for (const auto& object : named)
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", object.kind, object.full_name());
  candidate.cost = gpus + static_cast<double>(ended->size()) * 0.1;
  candidate.change.text = fmt::format(
      "Wait for {}, or end {}: {} on node {}{}.", names, named.size() == 1 ? "it" : "them",
      gpus > 0 ? fmt::format("{:g} GPUs", gpus) : fmt::format("{} pods", ended->size()),
      ended->front()->node, ended->size() > 1 ? " and others" : "");
  candidate.apply = [pods = *ended](Trial& trial, std::vector<PodPointer>&) {
    for (const auto& pod : pods) trial.remove(pod);
  };
  all.push_back(std::move(candidate));
}

// Pods that are being deleted and hold what is wanted: they go by themselves, or are pushed.
void finish_deletions(const Wait& wait, std::vector<Candidate>& all) {
  std::vector<PodPointer> going;
  for (const auto& node : wait.model.nodes()) {
    for (const auto& pod : node.pods) {
      if (pod->meta.deleted) going.push_back(pod);
    }
  }
  std::vector<PodPointer> needed;
  Trial trial{wait.model};
  for (const auto& pod : going) {
    trial.remove(pod);
    needed.push_back(pod);
    Trial placing{wait.model};
    if (place_in_order(wait.model, placing, wait.pods) == wait.pods.size()) break;
  }
  trial.undo_all();
  if (needed.empty()) return;
  // Only the last one made it fit; the earlier ones may have been needless.
  const auto fits_without = [&](const std::vector<PodPointer>& gone) {
    Trial check{wait.model};
    for (const auto& pod : gone) check.remove(pod);
    return place_in_order(wait.model, check, wait.pods) == wait.pods.size();
  };
  for (std::size_t i = needed.size(); i-- > 0 && needed.size() > 1;) {
    auto fewer = needed;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (fits_without(fewer)) needed = std::move(fewer);
  }
  Candidate candidate{ChangeRank::opens_a_node, 3, "deletion", {}, {}};
  std::string names;
  for (const auto& pod : needed) {
    names += (names.empty() ? "" : ", ") + pod->meta.full_name();
    candidate.change.edits.push_back(removal_of({"Pod", pod->meta.ns, pod->meta.name}));
    candidate.change.commands.push_back(command_for(candidate.change.edits.back()) +
                                        " --force --grace-period=0");
  }
  candidate.change.text =
      fmt::format("Wait until the deleted pod {} is gone from node {}, or end it by force.", names,
                  needed.front()->node);
  candidate.apply = [needed](Trial& then, std::vector<PodPointer>&) {
    for (const auto& pod : needed) then.remove(pod);
  };
  all.push_back(std::move(candidate));
}

}  // namespace

std::vector<Candidate> ending_changes(const Wait& wait, const PodFilters&) {
  std::vector<Candidate> all;
  finish_deletions(wait, all);
  end_pods(wait, all);
  return all;
}

}  // namespace weir::observe
