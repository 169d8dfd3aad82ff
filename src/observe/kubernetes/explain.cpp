// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "observe/kubernetes/change_search.h"
#include "observe/kubernetes/filters.h"
#include "observe/kubernetes/matching.h"
#include "observe/kubernetes/pending.h"
#include "observe/kubernetes/placing.h"
#include "observe/kubernetes/quota_check.h"
#include "observe/kubernetes/scheduler_model.h"

namespace weir::observe {
namespace {

constexpr std::size_t kExamples = 3;
constexpr std::string_view kKueueGate = "kueue.x-k8s.io/";

// An empty text: no reason of that kind.
struct Reason {
  Blocked blocked;
  std::string why;
  bool holds() const { return !why.empty(); }
};

// One node as the reason's search sees it.
struct Look {
  NodeIndex node = 0;
  FilterSet failing;
  bool can_hold = false;     // when empty
  bool has_devices = false;  // at least some of each device the pod asks for
  bool is_open = false;      // no static filter refuses
};

std::vector<Look> look_at_nodes(const ClusterModel& model, const PodFilters& filters) {
  std::vector<Look> looks;
  looks.reserve(model.node_count());
  for (NodeIndex i = 0; i < model.node_count(); ++i) {
    Look look{i, filters.failing(i), filters.too_small_in(i).empty(), true, true};
    for (const auto& [id, amount] : filters.amounts()) {
      if (is_extended(model.resources().name(id)) && model.node(i).offered_of(id) == 0)
        look.has_devices = false;
    }
    look.is_open =
        std::ranges::none_of(kStaticFilters, [&](Filter one) { return look.failing.has(one); });
    looks.push_back(look);
  }
  return looks;
}

// One workload's search for its reason.
class ReasonSearch {
 public:
  ReasonSearch(ClusterModel& model, const PendingWorkload& workload,
               const std::vector<PodPointer>& pods)
      : model_{model},
        workload_{workload},
        pods_{pods},
        filters_{model, *pods.front()},
        looks_{look_at_nodes(model, filters_)} {}

  Reason find() const {
    if (model_.node_count() == 0) return {{Constraint::no_nodes, ""}, "The cluster has no nodes."};
    const auto fits = count(looks_, [](const Look& look) { return look.failing.empty(); });
    if (fits > 0) return fitting_reason(fits);
    if (!any([](const Look& look) { return look.can_hold; })) return too_large();
    if (any([](const Look& look) { return look.can_hold && look.is_open; })) return busy();
    const auto closed = closed_reason();
    const bool is_own_wish = closed.blocked.constraint == Constraint::gpu_product ||
                             closed.blocked.constraint == Constraint::node_selector ||
                             closed.blocked.constraint == Constraint::node_affinity;
    const bool has_open_devices = asks_for_devices() && any([](const Look& look) {
                                    return look.is_open && look.has_devices;
                                  });
    return is_own_wish && has_open_devices ? too_large() : closed;
  }

  std::vector<RefusingNodes> refusing_nodes() const {
    std::map<Blocked, RefusingNodes> found;
    for (const auto& look : looks_) {
      if (look.failing.empty()) continue;
      const auto blocked = filters_.blocked(look.node, look.failing.first());
      auto& entry = found[blocked];
      entry.blocked = blocked;
      ++entry.nodes;
      if (entry.examples.size() < kExamples)
        entry.examples.push_back(model_.node(look.node).object->meta.name);
    }
    std::vector<RefusingNodes> all;
    for (auto& [blocked, entry] : found) all.push_back(std::move(entry));
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
    return all;
  }

 private:
  static std::size_t count(const std::vector<Look>& looks, const auto& holds) {
    return static_cast<std::size_t>(std::ranges::count_if(looks, holds));
  }
  bool any(const auto& holds) const { return std::ranges::any_of(looks_, holds); }
  bool asks_for_devices() const {
    return std::ranges::any_of(filters_.amounts(), [&](const auto& entry) {
      return is_extended(model_.resources().name(entry.first));
    });
  }
  std::string text_of(ResourceId id, Amount amount) const {
    return amount_text(model_.resources().name(id), amount);
  }
  Amount asked(ResourceId id) const {
    for (const auto& [resource, amount] : filters_.amounts()) {
      if (resource == id) return amount;
    }
    return 0;
  }
  std::string ask_text() const {
    std::string text;
    for (const auto& [id, amount] : filters_.amounts()) {
      if (id == kPods) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", text_of(id, amount),
                          model_.resources().name(id));
    }
    return text.empty() ? "no resources" : text;
  }

  // The first pod fits: all of them do not, or a scheduler has not come to it.
  Reason fitting_reason(std::size_t fits) const {
    const auto placed = count_that_fit(model_, pods_);
    if (placed == pods_.size()) {
      return {{Constraint::not_seen_yet, ""},
              fmt::format("It fits on {} of {} nodes now: the scheduler has not placed it yet.",
                          fits, looks_.size())};
    }
    // Look again at the moment when the first ones are placed.
    Trial trial{model_};
    place_in_order(model_, trial, pods_);
    const std::vector<PodPointer> rest(pods_.begin() + static_cast<std::ptrdiff_t>(placed),
                                       pods_.end());
    auto reason = ReasonSearch{model_, workload_, rest}.find();
    reason.why = fmt::format("{} of its {} waiting pods would fit now, the others would not. {}",
                             placed, pods_.size(), reason.why);
    return reason;
  }

  // The resource of which even the best node has too little.
  Reason too_large() const {
    std::map<ResourceId, std::pair<std::size_t, Amount>>
        found;  // nodes that are too small, the most any offers
    for (const auto& look : looks_) {
      for (const auto& [id, amount] : filters_.amounts()) {
        auto& [nodes, most] = found[id];
        const auto offered = model_.node(look.node).offered_of(id);
        most = std::max(most, offered);
        const bool counts = look.has_devices || is_extended(model_.resources().name(id));
        if (counts && offered < amount) ++nodes;
      }
    }
    // A device before cpu and memory, then what most nodes lack.
    std::optional<ResourceId> worst;
    const auto weight = [&](ResourceId id) {
      const bool lacks_everywhere = found[id].second < asked(id);
      return std::tuple{lacks_everywhere,
                        lacks_everywhere && is_extended(model_.resources().name(id)),
                        found[id].first};
    };
    for (const auto& [id, entry] : found) {
      if (!worst || weight(id) > weight(*worst)) worst = id;
    }
    const auto name = std::string{model_.resources().name(*worst)};
    const auto most = found[*worst].second;
    auto why = most == 0 ? fmt::format("No node offers {}.", name)
                         : fmt::format("It asks for {} {}; the largest node has {}.",
                                       text_of(*worst, asked(*worst)), name, text_of(*worst, most));
    if (most >= asked(*worst)) {
      why = fmt::format("It asks for {}; no node has all of that, even empty.", ask_text());
    }
    return {{Constraint::too_large, name}, why};
  }

  // Nodes that could hold it are open: what else runs there stops it.
  Reason busy() const {
    std::map<Filter, std::size_t> only;
    std::map<Filter, std::size_t> first;
    for (const auto& look : looks_) {
      if (!look.can_hold || !look.is_open) continue;
      ++first[look.failing.first()];
      if (look.failing.count() == 1) ++only[look.failing.first()];
    }
    const auto filter = most_of(only.empty() ? first : only);
    if (filter == Filter::resources) return busy_resources();
    const auto node = std::ranges::find_if(looks_, [&](const Look& look) {
      return look.can_hold && look.is_open && look.failing.has(filter);
    });
    const auto blocked = filters_.blocked(node->node, filter);
    return {blocked, text_for(blocked, filter)};
  }

  static Filter most_of(const std::map<Filter, std::size_t>& counts) {
    return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })
        ->first;
  }

  Reason busy_resources() const {
    std::map<ResourceId, std::size_t> alone;
    std::map<ResourceId, std::size_t> listed;
    std::map<ResourceId, Amount> free;
    std::map<ResourceId, Amount> most;
    std::size_t nodes = 0;
    for (const auto& look : looks_) {
      if (!look.is_open || !look.has_devices) continue;
      ++nodes;
      for (const auto& [id, amount] : filters_.amounts()) {
        const auto left = std::max<Amount>(0, model_.node(look.node).free_of(id));
        free[id] += left;
        most[id] = std::max(most[id], left);
      }
      if (!look.can_hold) continue;
      const auto missing = filters_.short_of(look.node);
      for (const auto id : missing) ++(missing.size() == 1 ? alone : listed)[id];
    }
    const auto& counts = alone.empty() ? listed : alone;
    // Devices first among equals: they are what people wait for.
    const auto worst =
        std::ranges::max_element(counts, {}, [&](const auto& entry) {
          return std::pair{entry.second, is_extended(model_.resources().name(entry.first))};
        })->first;
    const auto name = std::string{model_.resources().name(worst)};
    if (worst == kPods) {
      return {{Constraint::pod_count, "pods"},
              "The nodes that have room hold as many pods as they may."};
    }
    const bool is_device = is_extended(name) || !asks_for_devices();
    const bool is_split = is_device && nodes > 1 && free[worst] >= asked(worst);
    const auto why =
        is_split
            ? fmt::format(
                  "It asks for {} {} on one node; {} are free on {} nodes together, at most {} on "
                  "one.",
                  text_of(worst, asked(worst)), name, text_of(worst, free[worst]), nodes,
                  text_of(worst, most[worst]))
            : fmt::format(
                  "It asks for {} {}; at most {} are free on one of the {} nodes that could hold "
                  "it.",
                  text_of(worst, asked(worst)), name, text_of(worst, most[worst]),
                  count(looks_, [](const Look& look) { return look.can_hold && look.is_open; }));
    return {{is_split ? Constraint::fragmented : Constraint::insufficient, name}, why};
  }

  // Every node that could hold it refuses for what it is. Nodes where that is all count most; then volumes, which
  // nobody can give up, then the order of the filters.
  Reason closed_reason() const {
    std::map<std::pair<Blocked, Filter>, std::pair<std::size_t, std::size_t>>
        counts;  // alone, first
    for (const auto& look : looks_) {
      if (!look.can_hold) continue;
      const auto filter = look.failing.first();
      auto& [alone, first] = counts[{filters_.blocked(look.node, filter), filter}];
      ++first;
      if (look.failing.count() == 1) ++alone;
    }
    const auto best = std::ranges::max_element(counts, {}, [](const auto& entry) {
      return std::tuple{entry.second, entry.first.second == Filter::volume,
                        -static_cast<int>(entry.first.second)};
    });
    return {best->first.first, text_for(best->first.first, best->first.second)};
  }

  std::string text_for(const Blocked& blocked, Filter filter) const {
    const auto capable = count(looks_, [](const Look& look) { return look.can_hold; });
    const auto refusing =
        count(looks_, [&](const Look& look) { return look.can_hold && look.failing.has(filter); });
    const auto share = fmt::format("{} of the {} nodes that could hold it", refusing, capable);
    switch (blocked.constraint) {
      case Constraint::unschedulable:
        return fmt::format("Cordoned: {}.", share);
      case Constraint::not_ready:
        return fmt::format("Not ready: {}.", share);
      case Constraint::taint:
        return fmt::format("It does not tolerate the taint {}, which is on {}.", blocked.detail,
                           share);
      case Constraint::gpu_product:
        return fmt::format("It asks for GPUs by {}; {} are others.", blocked.detail, share);
      case Constraint::node_selector:
        return fmt::format("It selects nodes by {}; {} do not match.", blocked.detail, share);
      case Constraint::node_affinity:
        return fmt::format("Its node affinity ({}) does not match {}.", blocked.detail, share);
      case Constraint::node_name:
        return fmt::format("It names node {}.", blocked.detail);
      case Constraint::host_port:
        return fmt::format("Its host port {} is taken on {}.", blocked.detail, share);
      case Constraint::volume:
        return volume_text(blocked.detail, share);
      case Constraint::topology_spread:
        return fmt::format("Its spread over {} would be too uneven on {}, or they lack that label.",
                           blocked.detail, share);
      case Constraint::pod_affinity:
        return fmt::format(
            "It wants to run beside pods ({}) that are on none of the nodes it could use.",
            blocked.detail);
      case Constraint::pod_anti_affinity:
        return fmt::format("Anti-affinity by {} keeps it away from {}.", blocked.detail, share);
      case Constraint::fragmented:
        return fmt::format("Nodes have enough {} in total, but no single GPU has: {}.",
                           blocked.detail, share);
      default:
        return fmt::format("{} refuse it.", share);
    }
  }

  std::string volume_text(const std::string& claim, const std::string& share) const {
    const auto& claims = model_.storage().claims;
    const auto at = claims.find(workload_.name.ns + "/" + claim);
    if (at == claims.end()) return fmt::format("The volume claim {} does not exist.", claim);
    if (!at->second->is_bound) {
      return fmt::format(
          "The volume claim {} has no volume: none of class \"{}\" is free, and nobody makes one.",
          claim, at->second->storage_class);
    }
    return fmt::format("The volume of the claim {} cannot be reached from {}.", claim, share);
  }

  ClusterModel& model_;
  const PendingWorkload& workload_;
  const std::vector<PodPointer>& pods_;
  PodFilters filters_;
  std::vector<Look> looks_;
};

// Pods as the job would make them, where there are none yet.
std::vector<PodPointer> pods_of(const PendingWorkload& workload) {
  if (!workload.pods.empty()) return workload.pods;
  std::vector<PodPointer> pods;
  if (!workload.job) return pods;
  for (std::int32_t i = 0; i < workload.missing_pods; ++i) {
    auto pod = std::make_shared<Pod>();
    pod->meta.ns = workload.name.ns;
    pod->meta.name = fmt::format("{}-{}", workload.name.name, i);
    pod->requests = workload.job->pod_requests;
    pods.push_back(std::move(pod));
  }
  return pods;
}

Reason reason_of_kueue(const PendingWorkload& workload) {
  if (!workload.kueue || workload.kueue->is_admitted) return {};
  auto why = fmt::format("Kueue has not admitted it from the queue {}.", workload.kueue->queue);
  if (!workload.kueue->message.empty()) why += fmt::format(" It says: {}", workload.kueue->message);
  return {{Constraint::kueue, workload.kueue->queue}, why};
}

Reason reason_of_job(const PendingWorkload& workload, const ClusterObjects& objects) {
  if (!workload.job) return {};
  if (workload.job->is_suspended) {
    return {{Constraint::suspended, ""}, fmt::format("The {} is suspended.", workload.name.kind)};
  }
  if (!workload.pods.empty()) return {};
  const auto exceeded = exceeded_quotas(workload, objects);
  if (!exceeded.empty()) {
    const auto& one = exceeded.front();
    return {{Constraint::quota, one.resource},
            fmt::format("Its pods are not made: ResourceQuota {} allows {} of {}, and {} are used.",
                        one.quota.name, to_string(one.hard, one.resource.ends_with("memory")),
                        one.resource, to_string(one.used, one.resource.ends_with("memory")))};
  }
  auto why = fmt::format("{} of its pods are not made yet.", workload.missing_pods);
  if (!workload.job->message.empty()) why += " " + workload.job->message;
  return {{Constraint::not_seen_yet, ""}, why};
}

Reason reason_of_gang(const PendingWorkload& workload, ClusterModel& model) {
  if (!workload.group || workload.group->min_member < 2) return {};
  const auto needed = static_cast<std::size_t>(workload.group->min_member);
  const auto there = workload.running.size();
  if (there >= needed) return {};
  if (there + workload.pods.size() < needed) {
    return {{Constraint::gang, workload.group->meta.name},
            fmt::format("The group needs {} pods at once; {} exist.", needed,
                        there + workload.pods.size())};
  }
  const auto fit = count_that_fit(model, workload.pods);
  if (there + fit >= needed || fit == 0) return {};
  return {
      {Constraint::gang, workload.group->meta.name},
      fmt::format("The group needs {} pods at once; there is room for {}.", needed, there + fit)};
}

Reason reason_of_pod(const Pod& pod, const std::set<std::string, std::less<>>& schedulers,
                     const ClusterModel& model) {
  if (!pod.gates.empty()) {
    const bool is_kueues = pod.gates.front().starts_with(kKueueGate);
    return {{is_kueues ? Constraint::kueue : Constraint::scheduling_gate, pod.gates.front()},
            fmt::format("The scheduling gate {} holds it: no scheduler looks at it.",
                        pod.gates.front())};
  }
  if (!schedulers.contains(pod.scheduler)) {
    return {
        {Constraint::scheduler_name, pod.scheduler},
        fmt::format("It asks for the scheduler {}, which has placed no pod here.", pod.scheduler)};
  }
  if (!pod.node.empty() && !model.find_node(pod.node)) {
    return {{Constraint::node_name, pod.node},
            fmt::format("It names node {}, which does not exist.", pod.node)};
  }
  if (!pod.resource_claims.empty()) {
    return {
        {Constraint::resource_claim, pod.resource_claims.front()},
        fmt::format("It asks for devices through the resource claim {}, which is not allocated.{}",
                    pod.resource_claims.front(),
                    pod.unschedulable.empty() ? "" : " Its scheduler says: " + pod.unschedulable)};
  }
  return {};
}

Reason reason_before_nodes(const PendingWorkload& workload, const ClusterObjects& objects,
                           const std::set<std::string, std::less<>>& schedulers,
                           ClusterModel& model) {
  if (auto reason = reason_of_kueue(workload); reason.holds()) return reason;
  if (auto reason = reason_of_job(workload, objects); reason.holds()) return reason;
  if (auto reason = reason_of_gang(workload, model); reason.holds()) return reason;
  if (workload.pods.empty()) return {};
  return reason_of_pod(*workload.pods.front(), schedulers, model);
}

// Whether the answer depends on the shape alone, so that pods alike share it.
bool is_told_by_shape(const Pod& pod, const ClusterModel& model) {
  return pod.host_ports.empty() && pod.spread.empty() && pod.pod_affinity.empty() &&
         pod.pod_anti_affinity.empty() && pod.node.empty() &&
         model.pods_with_anti_affinity().empty();
}

}  // namespace

Explainer::Explainer(const ClusterObjects& objects)
    : objects_{objects}, model_{objects}, schedulers_{known_schedulers(objects)} {}

struct Explainer::Answer {
  Reason reason;
  std::vector<RefusingNodes> nodes;
};

Explainer::~Explainer() = default;

const Explainer::Answer& Explainer::answer_for_shape(const PendingWorkload& workload,
                                                     const std::vector<PodPointer>& pods) {
  const bool is_alike = pods.size() == 1 && is_told_by_shape(*pods.front(), model_);
  const auto key = is_alike ? shape_key(*pods.front())
                            : "only " + workload.name.kind + " " + workload.name.full_name();
  auto& answer = answers_[key];
  if (!answer) {
    const ReasonSearch search{model_, workload, pods};
    answer = std::make_shared<Answer>(Answer{search.find(), search.refusing_nodes()});
  }
  return *answer;
}

Explanation Explainer::explain(const PendingWorkload& workload, bool with_changes) {
  Explanation explanation;
  const auto pods = pods_of(workload);
  const auto say = [&](const Reason& reason) {
    explanation.constraint = reason.blocked.constraint;
    explanation.detail = reason.blocked.detail;
    explanation.why = reason.why;
  };
  if (!pods.empty()) {
    const auto& answer = answer_for_shape(workload, pods);
    explanation.nodes = answer.nodes;
    say(answer.reason);
  } else {
    explanation.why = "Nothing is known of its pods yet.";
  }
  if (const auto before = reason_before_nodes(workload, objects_, schedulers_, model_);
      before.holds())
    say(before);
  if (!with_changes || pods.empty() || explanation.constraint == Constraint::not_seen_yet)
    return explanation;
  const Wait wait{objects_, model_, workload, pods, schedulers_};
  explanation.changes = smallest_changes(wait);
  return explanation;
}

}  // namespace weir::observe
