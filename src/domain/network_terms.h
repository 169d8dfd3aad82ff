// SPDX-License-Identifier: Apache-2.0
//
// What joins the nodes of a cluster, what jobs send over it, and whether they share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "domain/fabric_spec.h"
#include "domain/ids.h"
#include "domain/time.h"

namespace weir {

enum class NetworkPlacement : std::uint8_t {
  shared,                // links are everybody's; jobs that meet there take turns
  isolated,              // links of its own for each job, or it waits
  isolated_optical,      // the same with circuits that are made for it
  isolated_where_worth,  // links of its own where sharing costs more than they do
};

// By placement.
inline constexpr std::string_view kNetworkPlacementNames[] = {
    "shared", "isolated", "isolated-optical", "isolate-where-worth"};

// Leaves and spines around the nodes of a pool, which fill leaf after leaf in the order of their row.
// Fixed links: every leaf has `links_per_pair` to every spine. Optical: leaves have one port on each of
// as many circuit switches as there are GPUs under a leaf, spines have `spine_ports` on each.
struct PoolFabric {
  PoolIndex pool;
  std::int32_t leaves = 0;
  std::int32_t nodes_per_leaf = 0;
  std::int32_t spines = 0;
  std::int32_t links_per_pair = 1;
  std::int32_t spine_ports = 0;  // 0: fixed links

  bool is_optical() const { return spine_ports > 0; }
  std::int32_t uplinks() const { return spines * links_per_pair; }  // of a leaf; fixed links
  friend bool operator==(const PoolFabric&, const PoolFabric&) = default;
};

// What jobs of a model exchange, in millionths of an iteration at line rate.
struct KindTraffic {
  std::string model;  // empty: of all that are not named
  std::int32_t all_reduce = 0;
  std::int32_t all_to_all = 0;
  std::int32_t all_gather = 0;
  bool halves_and_doubles = false;  // its all-reduce; else a ring
  friend bool operator==(const KindTraffic&, const KindTraffic&) = default;
};

struct NetworkTerms {
  std::vector<PoolFabric> fabrics;  // none: nobody asks
  NetworkPlacement placement = NetworkPlacement::shared;
  std::vector<KindTraffic> kinds;
  std::uint64_t hash_seed = 1;  // of the switches
  friend bool operator==(const NetworkTerms&, const NetworkTerms&) = default;
};

inline constexpr std::int32_t kMostLeaves = 4096;
inline constexpr std::int32_t kMostUplinks = 1024;  // of a leaf, and spines, and ports

// Whether a scheduler can work with them: each pool once, sizes in range, optical circuits exactly where
// they are asked for, no job that exchanges more than it runs.
bool is_well_formed(const NetworkTerms& terms);

enum class LinkUse : std::uint8_t { shared, own, circuits };

// What a job may use between its leaves. A job under one leaf needs nothing.
struct LinkGrant {
  LinkUse use = LinkUse::shared;
  std::vector<std::int32_t> uplinks;     // own: these of each of its leaves, and nobody else
  std::vector<OpticalCircuit> circuits;  // by switch and leaf
  Duration shift{0};                     // shared: its iterations begin so much later

  friend bool operator==(const LinkGrant&, const LinkGrant&) = default;
};

}  // namespace weir
