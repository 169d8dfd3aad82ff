// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/pool_network.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace weir::schedule {
namespace {

std::uint64_t scrambled(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

std::uint64_t flow_hash(std::uint64_t seed, int from, int to) {
  return scrambled(scrambled(seed) + static_cast<std::uint64_t>(from) * 1'000'003 +
                   static_cast<std::uint64_t>(to));
}

constexpr double kMillion = 1e6;

}  // namespace

std::uint32_t PoolNetwork::hosts_under(GpuBlock block, int leaf) const {
  const auto from = static_cast<std::uint32_t>(leaf) * hosts_per_leaf();
  const std::uint32_t first = std::max(block.first, from);
  const std::uint32_t end = std::min(block.end(), from + hosts_per_leaf());
  return end > first ? end - first : 0;
}

std::uint32_t PoolNetwork::crossing(GpuBlock block, int leaf) const {
  const std::uint32_t here = hosts_under(block, leaf);
  return std::min(here, block.size - here);
}

int PoolNetwork::uplinks_for(GpuBlock block) const {
  const LeafRange leaves = leaves_of(block);
  std::uint32_t most = 0;
  for (int leaf = leaves.first; leaf <= leaves.last; ++leaf)
    most = std::max(most, crossing(block, leaf));
  return static_cast<int>(std::min(most, static_cast<std::uint32_t>(fabric.uplinks())));
}

network::FabricSize PoolNetwork::size() const {
  return {fabric.leaves, static_cast<int>(hosts_per_leaf()), fabric.uplinks()};
}

bool can_have(const PoolNetwork& network, GpuBlock block, const LinkGrant& links) {
  if (!network.needs_links(block)) return false;
  const LeafRange leaves = network.leaves_of(block);
  if (leaves.last >= network.fabric.leaves) return false;
  const auto is_leaf = [&](std::int32_t leaf) {
    return leaves.first <= leaf && leaf <= leaves.last;
  };
  switch (links.use) {
    case LinkUse::shared:
      return links.uplinks.empty() && links.circuits.empty() && !network.fabric.is_optical() &&
             links.shift >= Duration{0};
    case LinkUse::own: {
      if (network.fabric.is_optical() || links.uplinks.empty() || !links.circuits.empty())
        return false;
      const std::set<std::int32_t> distinct(links.uplinks.begin(), links.uplinks.end());
      return distinct.size() == links.uplinks.size() && *distinct.begin() >= 0 &&
             *distinct.rbegin() < network.fabric.uplinks();
    }
    case LinkUse::circuits:
      break;
  }
  if (!network.fabric.is_optical() || !links.uplinks.empty() || links.circuits.empty())
    return false;
  const auto switches = static_cast<std::int32_t>(network.hosts_per_leaf());
  std::set<std::pair<std::int32_t, std::int32_t>> leaf_ports;
  std::map<std::pair<std::int32_t, std::int32_t>, int> spine_ports;
  for (const OpticalCircuit& circuit : links.circuits) {
    if (circuit.optical_switch < 0 || circuit.optical_switch >= switches || !is_leaf(circuit.leaf))
      return false;
    if (!leaf_ports.emplace(circuit.optical_switch, circuit.leaf).second) return false;
    if (circuit.is_direct) {
      if (!is_leaf(circuit.end) || circuit.end == circuit.leaf ||
          !leaf_ports.emplace(circuit.optical_switch, circuit.end).second)
        return false;
      continue;
    }
    if (circuit.end < 0 || circuit.end >= network.fabric.spines) return false;
    if (++spine_ports[{circuit.optical_switch, circuit.end}] > network.fabric.spine_ports)
      return false;
  }
  return true;
}

std::optional<std::vector<std::int32_t>> LinkOwners::find(LeafRange leaves, int count) const {
  std::vector<std::int32_t> free;
  for (int uplink = 0; uplink < uplinks_; ++uplink) {
    bool is_open = true;
    for (int leaf = leaves.first; leaf <= leaves.last && is_open; ++leaf)
      is_open = is_free(leaf, uplink);
    if (is_open) free.push_back(uplink);
  }
  if (std::ssize(free) < count) return std::nullopt;
  std::stable_sort(free.begin(), free.end(), [&](std::int32_t a, std::int32_t b) {
    return owned_[static_cast<std::size_t>(a)] > owned_[static_cast<std::size_t>(b)];
  });
  free.resize(static_cast<std::size_t>(count));
  std::sort(free.begin(), free.end());
  return free;
}

std::vector<int> LinkOwners::open_between(int leaf, int other) const {
  std::vector<int> open;
  for (int uplink = 0; uplink < uplinks_; ++uplink) {
    if (is_free(leaf, uplink) && is_free(other, uplink)) open.push_back(uplink);
  }
  return open;
}

bool LinkOwners::are_connected(LeafRange leaves) const {
  if (!has_any()) return true;
  for (int leaf = leaves.first; leaf <= leaves.last; ++leaf) {
    for (int other = leaf + 1; other <= leaves.last; ++other) {
      if (open_between(leaf, other).empty()) return false;
    }
  }
  return true;
}

void LinkOwners::take(JobId job, LeafRange leaves, const std::vector<std::int32_t>& uplinks) {
  for (const std::int32_t uplink : uplinks) {
    for (int leaf = leaves.first; leaf <= leaves.last; ++leaf) {
      assert(is_free(leaf, uplink) && "a link has one owner");
      owners_[at(leaf, uplink)] = job;
    }
    owned_[static_cast<std::size_t>(uplink)] += leaves.count();
    links_ += leaves.count();
  }
}

void LinkOwners::release(JobId job, LeafRange leaves, const std::vector<std::int32_t>& uplinks) {
  for (const std::int32_t uplink : uplinks) {
    for (int leaf = leaves.first; leaf <= leaves.last; ++leaf) {
      assert(owner(leaf, uplink) == job && "only its owner gives a link back");
      static_cast<void>(job);
      owners_[at(leaf, uplink)] = JobId{0};
    }
    owned_[static_cast<std::size_t>(uplink)] -= leaves.count();
    links_ -= leaves.count();
  }
}

network::JobIteration iteration_of(const NetworkTerms& terms, const std::string& model,
                                   double iteration_seconds) {
  network::JobIteration iteration{.iteration_seconds = iteration_seconds};
  const KindTraffic* found = nullptr;
  for (const KindTraffic& kind : terms.kinds) {
    if (kind.model == model || (kind.model.empty() && found == nullptr)) found = &kind;
    if (kind.model == model) break;
  }
  if (found == nullptr) return iteration;
  iteration.halves_and_doubles = found->halves_and_doubles;
  iteration.all_reduce = found->all_reduce / kMillion;
  iteration.all_to_all = found->all_to_all / kMillion;
  iteration.all_gather = found->all_gather / kMillion;
  return iteration;
}

network::RoutedTraffic traffic_of(const PoolNetwork& network, const LinkOwners& owners,
                                  GpuBlock block, const LinkGrant& links,
                                  const network::JobIteration& iteration) {
  if (links.use == LinkUse::circuits || !network.needs_links(block)) {
    network::RoutedTraffic quiet;
    quiet.traffic.quiet_seconds = iteration.iteration_seconds;
    return quiet;
  }
  std::vector<int> hosts(block.size);
  std::iota(hosts.begin(), hosts.end(), static_cast<int>(block.first));
  const network::FabricSize size = network.size();
  const int per_leaf = size.hosts_per_leaf;
  const auto first = static_cast<int>(block.first);
  if (links.use == LinkUse::own) {
    const auto count = static_cast<int>(links.uplinks.size());
    return route_traffic(iteration, hosts, size, [&](int from, int) {
      const int leaf_begins = std::max(first, from / per_leaf * per_leaf);
      return links.uplinks[static_cast<std::size_t>((from - leaf_begins) % count)];
    });
  }
  if (!owners.has_any()) {
    return route_traffic(iteration, hosts, size, [&](int from, int to) {
      return static_cast<int>(flow_hash(network.hash_seed, from, to) %
                              static_cast<std::uint64_t>(size.spines));
    });
  }
  std::map<std::pair<int, int>, std::vector<int>> open;
  return route_traffic(iteration, hosts, size, [&](int from, int to) {
    const std::pair leaves{from / per_leaf, to / per_leaf};
    const auto [known, is_new] = open.try_emplace(leaves);
    if (is_new) known->second = owners.open_between(leaves.first, leaves.second);
    if (known->second.empty()) return -1;
    return known->second[flow_hash(network.hash_seed, from, to) % known->second.size()];
  });
}

}  // namespace weir::schedule
