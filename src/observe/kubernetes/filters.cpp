// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/filters.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "observe/kubernetes/matching.h"

namespace weir::observe {
namespace {

bool is_namespace_of_term(const PodTerm& term, const Pod& owner, const Pod& other,
                          const ClusterModel& model) {
  if (term.namespaces.empty() && !term.namespace_selector) return other.meta.ns == owner.meta.ns;
  if (std::ranges::find(term.namespaces, other.meta.ns) != term.namespaces.end()) return true;
  return term.namespace_selector &&
         matches(*term.namespace_selector, model.labels_of_namespace(other.meta.ns));
}

bool matches_all_terms(const Pod& owner, const Pod& other, const ClusterModel& model) {
  return !owner.pod_affinity.empty() &&
         std::ranges::all_of(owner.pod_affinity, [&](const auto& term) {
           return term_matches(term, owner, other, model);
         });
}

// A spread's selector with the pod's own values of matchLabelKeys.
bool spread_matches(const TopologySpread& spread, const Pod& pod, const Pod& other) {
  if (!spread.selector || !matches(*spread.selector, other.meta.labels)) return false;
  return std::ranges::all_of(spread.match_label_keys, [&](const auto& key) {
    const auto* own = pod.meta.labels.find(key);
    if (own == nullptr) return true;
    const auto* theirs = other.meta.labels.find(key);
    return theirs != nullptr && *theirs == *own;
  });
}

bool is_empty(const TopologySpread& spread) {
  return !spread.selector ||
         (spread.selector->match_labels.empty() && spread.selector->expressions.empty());
}

bool has_all_keys(const std::vector<const TopologySpread*>& spreads, const Node& node) {
  return std::ranges::all_of(
      spreads, [&](const auto* spread) { return node.meta.labels.contains(spread->topology_key); });
}

bool counts_for_spread(const TopologySpread& spread, const Pod& pod, const Node& node) {
  if (spread.honours_affinity && !accepts_node(pod, node)) return false;
  return !spread.honours_taints || first_untolerated(pod, node) == nullptr;
}

std::int64_t pods_that_match(const TopologySpread& spread, const Pod& pod, const ModelNode& node) {
  if (is_empty(spread)) return 0;
  return std::ranges::count_if(node.pods, [&](const auto& other) {
    return !other->meta.deleted && other->meta.ns == pod.meta.ns &&
           spread_matches(spread, pod, *other);
  });
}

bool ports_collide(const HostPort& one, const HostPort& other) {
  const auto is_any = [](const std::string& ip) { return ip.empty() || ip == "0.0.0.0"; };
  return one.port == other.port && one.protocol == other.protocol &&
         (one.ip == other.ip || is_any(one.ip) || is_any(other.ip));
}

const HostPort* taken_port(const Pod& pod, const ModelNode& node) {
  for (const auto& port : pod.host_ports) {
    for (const auto& other : node.pods) {
      for (const auto& taken : other->host_ports) {
        if (ports_collide(port, taken)) return &port;
      }
    }
  }
  return nullptr;
}

// Unbound claims wait for a pod where their class says so; then a free volume that fits the node, or a provisioner.
bool can_bind_on(const VolumeClaim& claim, const Node& node, const Storage& storage) {
  const auto at = storage.classes.find(claim.storage_class);
  if (at == storage.classes.end() || !at->second->waits_for_consumer) return false;
  if (at->second->can_provision) return true;
  return std::ranges::any_of(storage.volumes, [&](const auto& entry) {
    const auto& volume = *entry.second;
    return volume.is_free && volume.storage_class == claim.storage_class &&
           (!volume.node_affinity || matches_any(*volume.node_affinity, node));
  });
}

bool claim_allows(const std::string& full_name, const Node& node, const Storage& storage) {
  const auto at = storage.claims.find(full_name);
  if (at == storage.claims.end()) return false;
  const auto& claim = *at->second;
  if (!claim.is_bound) return can_bind_on(claim, node, storage);
  const auto volume = storage.volumes.find(claim.volume);
  return volume == storage.volumes.end() || !volume->second->node_affinity ||
         matches_any(*volume->second->node_affinity, node);
}

std::optional<std::size_t> device_index(const Pod& pod) {
  const auto* text = pod.meta.annotations.find(kShareIndex);
  if (text == nullptr) return std::nullopt;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), index);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return index;
}

}  // namespace

Filter FilterSet::first() const {
  return static_cast<Filter>(std::countr_zero(bits_));
}

int FilterSet::count() const {
  return std::popcount(bits_);
}

FilterSet FilterSet::without(Filter filter) const {
  FilterSet rest = *this;
  rest.bits_ &= static_cast<std::uint16_t>(~bit(filter));
  return rest;
}

bool term_matches(const PodTerm& term, const Pod& owner, const Pod& other,
                  const ClusterModel& model) {
  return term.selector && matches(*term.selector, other.meta.labels) &&
         is_namespace_of_term(term, owner, other, model);
}

std::vector<Amount> free_device_shares(const ModelNode& node) {
  const auto* total = node.object->allocatable.find(kShareOfMemory);
  const auto* count = node.object->allocatable.find(kShareDevices);
  if (total == nullptr || count == nullptr || count->units_rounded_down() < 1) return {};
  const auto devices = static_cast<std::size_t>(count->units_rounded_down());
  std::vector<Amount> free(devices, total->units_rounded_down() / static_cast<Amount>(devices));
  bool is_known = false;
  for (const auto& pod : node.pods) {
    const auto* share = pod->requests.find(kShareOfMemory);
    const auto index = device_index(*pod);
    if (share == nullptr || !index || *index >= devices) continue;
    free[*index] -= share->units_rounded_up();
    is_known = true;
  }
  return is_known ? free : std::vector<Amount>{};
}

PodFilters::PodFilters(const ClusterModel& model, const Pod& pod)
    : model_{model}, pod_{pod}, amounts_{model.amounts_of(pod)} {
  for (const auto& spread : pod.spread) {
    if (spread.is_hard) hard_spread_.push_back(&spread);
  }
  count_spread();
  count_affinity();
  depends_on_pods_ = !hard_spread_.empty() || !pod.pod_affinity.empty() ||
                     !pod.pod_anti_affinity.empty() || !kept_away_.empty();
}

void PodFilters::count_spread() {
  for (const auto* spread : hard_spread_) {
    SpreadCounts counts;
    for (const auto& node : model_.nodes()) {
      if (!has_all_keys(hard_spread_, *node.object) ||
          !counts_for_spread(*spread, pod_, *node.object))
        continue;
      counts.by_domain[*node.object->meta.labels.find(spread->topology_key)] +=
          pods_that_match(*spread, pod_, node);
    }
    counts.least = counts.by_domain.empty() ? std::numeric_limits<std::int32_t>::max()
                                            : counts.by_domain.begin()->second;
    for (const auto& [domain, count] : counts.by_domain)
      counts.least = std::min(counts.least, count);
    if (counts.by_domain.size() < static_cast<std::size_t>(spread->min_domains)) counts.least = 0;
    counts.matches_itself = spread_matches(*spread, pod_, pod_);
    spread_.push_back(std::move(counts));
  }
}

void PodFilters::count_affinity() {
  const auto count = [](DomainCounts& counts, const Node& node, const std::string& key) {
    if (const auto* value = node.meta.labels.find(key)) ++counts[{key, *value}];
  };
  for (const auto& [other, index] : model_.pods_with_anti_affinity()) {
    for (const auto& term : other->pod_anti_affinity) {
      if (term_matches(term, *other, pod_, model_))
        count(kept_away_, *model_.node(index).object, term.topology_key);
    }
  }
  if (pod_.pod_affinity.empty() && pod_.pod_anti_affinity.empty()) return;
  for (const auto& node : model_.nodes()) {
    for (const auto& other : node.pods) {
      if (matches_all_terms(pod_, *other, model_)) {
        for (const auto& term : pod_.pod_affinity)
          count(affinity_, *node.object, term.topology_key);
      }
      for (const auto& term : pod_.pod_anti_affinity) {
        if (term_matches(term, pod_, *other, model_))
          count(anti_affinity_, *node.object, term.topology_key);
      }
    }
  }
  is_first_of_its_kind_ = affinity_.empty() && matches_all_terms(pod_, pod_, model_);
}

bool PodFilters::fails_host_port(const ModelNode& node) const {
  return !pod_.host_ports.empty() && taken_port(pod_, node) != nullptr;
}

bool PodFilters::fails_resources(const ModelNode& node) const {
  return std::ranges::any_of(
      amounts_, [&](const auto& entry) { return entry.second > node.free_of(entry.first); });
}

bool PodFilters::fails_device_share(const ModelNode& node) const {
  const auto* share = pod_.requests.find(kShareOfMemory);
  if (share == nullptr || share->is_zero()) return false;
  const auto free = free_device_shares(node);
  return !free.empty() &&
         std::ranges::none_of(free, [&](Amount left) { return left >= share->units_rounded_up(); });
}

bool PodFilters::fails_volume(const ModelNode& node) const {
  return std::ranges::any_of(pod_.claims, [&](const auto& claim) {
    return !claim_allows(pod_.meta.ns + "/" + claim, *node.object, model_.storage());
  });
}

const TopologySpread* PodFilters::failing_spread(const Node& node) const {
  for (std::size_t i = 0; i < hard_spread_.size(); ++i) {
    const auto* domain = node.meta.labels.find(hard_spread_[i]->topology_key);
    if (domain == nullptr) return hard_spread_[i];
    const auto& counts = spread_[i];
    const auto at = counts.by_domain.find(*domain);
    const auto there = at != counts.by_domain.end() ? at->second : 0;
    if (there + (counts.matches_itself ? 1 : 0) - counts.least > hard_spread_[i]->max_skew)
      return hard_spread_[i];
  }
  return nullptr;
}

bool PodFilters::fails_pod_affinity(const Node& node) const {
  if (pod_.pod_affinity.empty()) return false;
  bool has_partners = true;
  for (const auto& term : pod_.pod_affinity) {
    const auto* value = node.meta.labels.find(term.topology_key);
    if (value == nullptr) return true;
    has_partners = has_partners && affinity_.contains(std::pair{term.topology_key, *value});
  }
  return !has_partners && !is_first_of_its_kind_;
}

bool PodFilters::fails_pod_anti_affinity(const Node& node) const {
  for (const auto& term : pod_.pod_anti_affinity) {
    const auto* value = node.meta.labels.find(term.topology_key);
    if (value != nullptr && anti_affinity_.contains(std::pair{term.topology_key, *value}))
      return true;
  }
  return std::ranges::any_of(kept_away_, [&](const auto& entry) {
    const auto* value = node.meta.labels.find(entry.first.first);
    return value != nullptr && *value == entry.first.second;
  });
}

FilterSet PodFilters::failing(NodeIndex index) const {
  const auto& node = model_.node(index);
  FilterSet failing;
  const Taint cordoned{std::string{kUnschedulableTaint}, "", TaintEffect::no_schedule};
  if (node.object->is_unschedulable && !tolerates(pod_.tolerations, cordoned))
    failing.add(Filter::unschedulable);
  if (!pod_.node.empty() && pod_.node != node.object->meta.name) failing.add(Filter::node_name);
  if (!node.object->taints.empty() && first_untolerated(pod_, *node.object) != nullptr)
    failing.add(Filter::taint);
  if (!accepts_node(pod_, *node.object)) failing.add(Filter::node_affinity);
  if (fails_host_port(node)) failing.add(Filter::host_port);
  if (fails_resources(node)) failing.add(Filter::resources);
  if (fails_device_share(node)) failing.add(Filter::device_share);
  if (!pod_.claims.empty() && fails_volume(node)) failing.add(Filter::volume);
  if (failing_spread(*node.object) != nullptr) failing.add(Filter::topology_spread);
  if (fails_pod_affinity(*node.object)) failing.add(Filter::pod_affinity);
  if (fails_pod_anti_affinity(*node.object)) failing.add(Filter::pod_anti_affinity);
  return failing;
}

std::vector<ResourceId> PodFilters::short_of(NodeIndex index) const {
  std::vector<ResourceId> missing;
  for (const auto& [id, amount] : amounts_) {
    if (amount > model_.node(index).free_of(id)) missing.push_back(id);
  }
  return missing;
}

std::vector<ResourceId> PodFilters::too_small_in(NodeIndex index) const {
  std::vector<ResourceId> missing;
  for (const auto& [id, amount] : amounts_) {
    if (amount > model_.node(index).offered_of(id)) missing.push_back(id);
  }
  return missing;
}

Blocked PodFilters::blocked_by_affinity(const Node& node) const {
  for (const auto& [key, value] : pod_.node_selector) {
    const auto* label = node.meta.labels.find(key);
    if (label != nullptr && *label == value) continue;
    return {is_gpu_label(key) ? Constraint::gpu_product : Constraint::node_selector,
            key + "=" + value};
  }
  std::string detail;
  bool is_gpu_product = !pod_.node_affinity->empty();
  for (const auto& term : *pod_.node_affinity) {
    detail += (detail.empty() ? "" : " or ") + to_string(term);
    is_gpu_product = is_gpu_product && std::ranges::any_of(term.expressions, [&](const auto& line) {
                       return is_gpu_label(line.key) && !matches(line, node.meta.labels);
                     });
  }
  return {is_gpu_product ? Constraint::gpu_product : Constraint::node_affinity, detail};
}

Blocked PodFilters::blocked_by_resources(NodeIndex index) const {
  auto missing = short_of(index);
  // The scarcest kind names the trouble: devices before cpu and memory.
  const auto is_device = [&](ResourceId id) { return is_extended(model_.resources().name(id)); };
  const auto device = std::ranges::find_if(missing, is_device);
  const auto id = device != missing.end() ? *device : missing.front();
  if (missing.size() == 1 && id == kPods) return {Constraint::pod_count, "pods"};
  const auto first = id == kPods ? missing[1] : id;
  const auto too_small = too_small_in(index);
  const bool never_fits = std::ranges::find(too_small, first) != too_small.end();
  return {never_fits ? Constraint::too_large : Constraint::insufficient,
          std::string{model_.resources().name(first)}};
}

std::string PodFilters::volume_detail(const ModelNode& node) const {
  for (const auto& claim : pod_.claims) {
    const auto name = pod_.meta.ns + "/" + claim;
    if (!claim_allows(name, *node.object, model_.storage())) return claim;
  }
  return "";
}

Blocked PodFilters::blocked(NodeIndex index, Filter filter) const {
  const auto& node = model_.node(index);
  switch (filter) {
    case Filter::unschedulable:
      return {Constraint::unschedulable, ""};
    case Filter::node_name:
      return {Constraint::node_name, pod_.node};
    case Filter::taint: {
      const auto* taint = first_untolerated(pod_, *node.object);
      return {means_not_ready(*taint) ? Constraint::not_ready : Constraint::taint,
              to_string(*taint)};
    }
    case Filter::node_affinity:
      return blocked_by_affinity(*node.object);
    case Filter::host_port:
      return {Constraint::host_port, std::to_string(taken_port(pod_, node)->port)};
    case Filter::resources:
      return blocked_by_resources(index);
    case Filter::device_share:
      return {Constraint::fragmented, std::string{kShareOfMemory}};
    case Filter::volume:
      return {Constraint::volume, volume_detail(node)};
    case Filter::topology_spread:
      return {Constraint::topology_spread, failing_spread(*node.object)->topology_key};
    case Filter::pod_affinity:
      return {Constraint::pod_affinity, pod_.pod_affinity.front().topology_key};
    case Filter::pod_anti_affinity: {
      const auto own = std::ranges::find_if(pod_.pod_anti_affinity, [&](const auto& term) {
        const auto* value = node.object->meta.labels.find(term.topology_key);
        return value != nullptr && anti_affinity_.contains(std::pair{term.topology_key, *value});
      });
      if (own != pod_.pod_anti_affinity.end())
        return {Constraint::pod_anti_affinity, own->topology_key};
      const auto kept = std::ranges::find_if(kept_away_, [&](const auto& entry) {
        const auto* value = node.object->meta.labels.find(entry.first.first);
        return value != nullptr && *value == entry.first.second;
      });
      return {Constraint::pod_anti_affinity, kept->first.first};
    }
  }
  return {};
}

std::optional<Blocked> PodFilters::why_not(NodeIndex node) const {
  const auto all = failing(node);
  if (all.empty()) return std::nullopt;
  return blocked(node, all.first());
}

}  // namespace weir::observe
