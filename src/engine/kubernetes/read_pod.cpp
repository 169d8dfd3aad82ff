// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/read_pod.h"

#include <algorithm>

#include "engine/kubernetes/read_meta.h"

namespace weir::engine::kubernetes {
namespace {

using observe::Pod;
using observe::PodPhase;

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

std::optional<observe::TaintEffect> effect_named(std::string_view name) {
  if (name == "NoSchedule") return observe::TaintEffect::no_schedule;
  if (name == "PreferNoSchedule") return observe::TaintEffect::prefer_no_schedule;
  if (name == "NoExecute") return observe::TaintEffect::no_execute;
  return std::nullopt;
}

// One that this version does not understand tolerates nothing.
void read_tolerations(const JsonFields& spec, Pod& pod) {
  for (const JsonFields& from : spec.objects("tolerations")) {
    const std::string_view op = from.view("operator");
    const std::string_view effect = from.view("effect");
    observe::Toleration toleration;
    toleration.key = from.text("key");
    toleration.exists = op == "Exists";
    toleration.value = from.text("value");
    toleration.effect = effect_named(effect);
    const bool is_known =
        (op.empty() || op == "Equal" || op == "Exists") && (effect.empty() || toleration.effect);
    if (is_known) pod.tolerations.push_back(std::move(toleration));
  }
}

void read_node_affinity(const JsonFields& affinity, Pod& pod) {
  const JsonFields required = affinity.object(kRequired);
  if (required.is_there()) {
    auto& terms = pod.node_affinity.emplace();
    for (const JsonFields& term : required.objects("nodeSelectorTerms")) {
      terms.push_back(read_node_term(term));
    }
  }
  for (const JsonFields& preferred : affinity.objects(kPreferred)) {
    pod.preferred_nodes.push_back({preferred.integer<std::int32_t>("weight").value_or(0),
                                   read_node_term(preferred.object("preference"))});
  }
}

observe::PodTerm read_pod_term(const JsonFields& from) {
  observe::PodTerm term;
  term.selector = read_label_selector(from, "labelSelector");
  term.namespaces = from.texts("namespaces");
  term.namespace_selector = read_label_selector(from, "namespaceSelector");
  term.topology_key = from.text("topologyKey");
  term.match_label_keys = from.texts("matchLabelKeys");
  term.mismatch_label_keys = from.texts("mismatchLabelKeys");
  return term;
}

void read_pod_affinity(const JsonFields& affinity, std::int32_t sign,
                       std::vector<observe::PodTerm>& required, Pod& pod) {
  for (const JsonFields& term : affinity.objects(kRequired)) {
    required.push_back(read_pod_term(term));
  }
  for (const JsonFields& preferred : affinity.objects(kPreferred)) {
    pod.preferred_pods.push_back({sign * preferred.integer<std::int16_t>("weight").value_or(0),
                                  read_pod_term(preferred.object("podAffinityTerm"))});
  }
}

void read_affinity(const JsonFields& spec, Pod& pod) {
  pod.node_selector = spec.labels("nodeSelector");
  const JsonFields affinity = spec.object("affinity");
  if (!affinity.is_there()) return;
  read_node_affinity(affinity.object("nodeAffinity"), pod);
  read_pod_affinity(affinity.object("podAffinity"), 1, pod.pod_affinity, pod);
  read_pod_affinity(affinity.object("podAntiAffinity"), -1, pod.pod_anti_affinity, pod);
}

void read_spread(const JsonFields& spec, Pod& pod) {
  for (const JsonFields& from : spec.objects("topologySpreadConstraints")) {
    observe::TopologySpread spread;
    spread.max_skew = from.integer<std::int32_t>("maxSkew").value_or(1);
    spread.topology_key = from.text("topologyKey");
    spread.is_hard = from.view("whenUnsatisfiable") != "ScheduleAnyway";
    spread.selector = read_label_selector(from, "labelSelector");
    spread.min_domains = from.integer<std::int32_t>("minDomains").value_or(1);
    spread.honours_affinity = from.view("nodeAffinityPolicy") != "Ignore";
    spread.honours_taints = from.view("nodeTaintsPolicy") == "Honor";
    spread.match_label_keys = from.texts("matchLabelKeys");
    pod.spread.push_back(std::move(spread));
  }
}

void read_ports(const JsonFields& container, std::int32_t number, bool uses_host, Pod& pod) {
  std::int32_t index = -1;
  for (const JsonFields& from : container.objects("ports")) {
    ++index;
    auto port = from.integer<std::int32_t>("hostPort").value_or(0);
    if (port == 0 && uses_host) port = from.integer<std::int32_t>("containerPort").value_or(0);
    if (port == 0) continue;
    const std::string_view protocol = from.view("protocol");
    pod.host_ports.push_back({from.text("hostIP"), std::string{protocol.empty() ? "TCP" : protocol},
                              port, number, index});
  }
}

void read_all_ports(const JsonFields& spec, Pod& pod) {
  const bool uses_host = spec.flag("hostNetwork");
  std::int32_t number = 0;
  for (const JsonFields& container : spec.objects("containers"))
    read_ports(container, number++, uses_host, pod);
  number = 0;
  for (const JsonFields& container : spec.objects("initContainers")) {
    if (container.view("restartPolicy") == "Always") read_ports(container, number, uses_host, pod);
    ++number;
  }
}

void read_claims(const JsonFields& spec, Pod& pod) {
  for (const JsonFields& volume : spec.objects("volumes")) {
    const JsonFields claim = volume.object("persistentVolumeClaim");
    if (claim.is_there()) pod.claims.push_back(claim.text("claimName"));
    // The claim of such a volume is made for the pod, under this name.
    if (volume.has("ephemeral")) pod.claims.push_back(pod.meta.name + "-" + volume.text("name"));
  }
  for (const JsonFields& claim : spec.objects("resourceClaims")) {
    std::string_view name = claim.view("resourceClaimName");
    if (name.empty()) name = claim.view("resourceClaimTemplateName");
    if (name.empty()) name = claim.view("name");
    pod.resource_claims.emplace_back(name);
  }
}

void read_spec(const JsonFields& spec, Pod& pod) {
  pod.node = spec.text("nodeName");
  if (spec.has("schedulerName")) pod.scheduler = spec.text("schedulerName");
  pod.priority = spec.integer<std::int32_t>("priority").value_or(0);
  pod.priority_class = spec.text("priorityClassName");
  pod.may_preempt = spec.view("preemptionPolicy") != "Never";
  pod.requests = effective_requests(spec);
  if (pod.node.empty()) pod.containers = container_requests(spec);
  pod.active_deadline_seconds = spec.integer<std::int64_t>("activeDeadlineSeconds");
  for (const JsonFields& gate : spec.objects("schedulingGates")) {
    pod.gates.push_back(gate.text("name"));
  }
  read_affinity(spec, pod);
  read_tolerations(spec, pod);
  read_spread(spec, pod);
  read_all_ports(spec, pod);
  read_claims(spec, pod);
}

PodPhase phase_named(std::string_view name) {
  if (name == "Running") return PodPhase::running;
  if (name == "Succeeded") return PodPhase::succeeded;
  if (name == "Failed") return PodPhase::failed;
  if (name == "Unknown") return PodPhase::unknown;
  return PodPhase::pending;
}

// Of a pod that is over: when its last container ended, else its last change that is known.
std::optional<Time> read_end(const JsonFields& status, const std::vector<Condition>& conditions) {
  std::optional<Time> end;
  const auto later = [&](std::optional<Time> time) {
    if (time && (!end || *end < *time)) end = time;
  };
  for (const JsonFields& container : status.objects("containerStatuses")) {
    later(container.object("state").object("terminated").time("finishedAt"));
  }
  if (end) return end;
  for (const Condition& condition : conditions) later(condition.since);
  return end;
}

void read_pod_status(const JsonFields& status, Pod& pod) {
  const std::vector<Condition> conditions = read_conditions(status);
  pod.phase = phase_named(status.view("phase"));
  pod.started = status.time("startTime");
  pod.nominated_node = status.text("nominatedNodeName");
  if (const Condition* scheduled = find_condition(conditions, "PodScheduled")) {
    if (scheduled->is_true) {
      pod.scheduled = scheduled->since;
    } else {
      pod.unschedulable = std::string{scheduled->message};
    }
  }
  if (pod.is_over()) pod.ended = read_end(status, conditions);
}

}  // namespace

Pod read_pod(const JsonFields& object) {
  Pod pod;
  pod.meta = read_meta(object);
  read_spec(object.object("spec"), pod);
  read_pod_status(object.object("status"), pod);
  return pod;
}

}  // namespace weir::engine::kubernetes
