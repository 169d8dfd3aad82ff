// SPDX-License-Identifier: Apache-2.0
//
// Links for jobs whose GPUs an allocation policy has chosen, whichever it is: it runs after the policy and
// before anything is recorded. Jobs that keep their GPUs keep their links. Where a job that gets GPUs
// cannot have the links it should have, it is put elsewhere, or stays where it is, or waits.
//
// Blocks are aligned powers of two, so where a leaf has a power of two of GPUs a block that needs links
// has whole leaves: the links of these leaves are free, and nobody ever waits for fixed ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "domain/ids.h"
#include "domain/network_terms.h"
#include "domain/timeline.h"
#include "schedule/place/block_map.h"
#include "schedule/place/pool_network.h"

namespace weir::schedule {

struct NetworkWish {
  JobId job;
  GpuBlock present;
  std::shared_ptr<const LinkGrant> links;  // that it has now
  GpuBlock wanted;
  network::JobIteration iteration;  // on the GPUs it wants
  double left_seconds = 0;          // of running there
};

struct NetworkPlace {
  GpuBlock block;                          // none: it waits
  std::shared_ptr<const LinkGrant> links;  // null: it needs none
  bool is_held_back = false;               // it would have GPUs but for its links
  bool is_rewired = false;                 // its circuits moved for another job
  double slowdown = 0;                     // of a job that shares, by itself
};

// One place for each wish, in order. `closed`: GPUs that nobody may have. `behind`: jobs that wait and
// got nothing from the policy. Requires: wanted blocks are disjoint and open, links fit (can_have) and
// belong to one job each.
std::vector<NetworkPlace> place_on_network(const PoolNetwork& network, NetworkPlacement placement,
                                           const BlockMap& closed,
                                           std::span<const NetworkWish> wishes,
                                           std::int64_t behind);

}  // namespace weir::schedule
