// SPDX-License-Identifier: Apache-2.0
#include "domain/network_terms.h"

#include <algorithm>
#include <set>

namespace weir {
namespace {

bool is_between(std::int32_t value, std::int32_t least, std::int32_t most) {
  return least <= value && value <= most;
}

bool is_sound(const PoolFabric& fabric) {
  return is_between(fabric.leaves, 1, kMostLeaves) &&
         is_between(fabric.nodes_per_leaf, 1, kMostUplinks) &&
         is_between(fabric.spines, 1, kMostUplinks) &&
         is_between(fabric.links_per_pair, 1, kMostUplinks) &&
         is_between(fabric.spine_ports, 0, kMostUplinks) && fabric.uplinks() <= kMostUplinks;
}

bool is_sound(const KindTraffic& kind) {
  constexpr std::int32_t kAll = 1'000'000;
  return is_between(kind.all_reduce, 0, kAll) && is_between(kind.all_to_all, 0, kAll) &&
         is_between(kind.all_gather, 0, kAll) &&
         kind.all_reduce + kind.all_to_all + kind.all_gather <= kAll;
}

}  // namespace

bool is_well_formed(const NetworkTerms& terms) {
  std::set<PoolIndex> pools;
  const bool wants_circuits = terms.placement == NetworkPlacement::isolated_optical;
  for (const PoolFabric& fabric : terms.fabrics) {
    if (!is_sound(fabric) || fabric.is_optical() != wants_circuits) return false;
    if (!pools.insert(fabric.pool).second) return false;
  }
  std::set<std::string_view> models;
  return std::all_of(terms.kinds.begin(), terms.kinds.end(), [&](const KindTraffic& kind) {
    return is_sound(kind) && models.insert(kind.model).second;
  });
}

}  // namespace weir
