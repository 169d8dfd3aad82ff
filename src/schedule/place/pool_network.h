// SPDX-License-Identifier: Apache-2.0
//
// The leaf-spine fabric around a pool's row of GPUs: which leaves a block has, who owns which links, and
// what a job sends over them. GPU s of the row is host s of the fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/ids.h"
#include "domain/network_terms.h"
#include "domain/timeline.h"
#include "network/job_traffic.h"

namespace weir::schedule {

struct LeafRange {
  int first = 0;
  int last = 0;  // itself one of them

  bool is_one() const { return first == last; }
  int count() const { return last - first + 1; }
  bool overlaps(const LeafRange& other) const { return first <= other.last && other.first <= last; }
};

struct PoolNetwork {
  PoolFabric fabric;
  std::uint32_t stride = 1;  // GPUs of a node, as in the row
  std::uint64_t hash_seed = 1;

  std::uint32_t hosts_per_leaf() const {
    return static_cast<std::uint32_t>(fabric.nodes_per_leaf) * stride;
  }
  // Requires: the block is not empty.
  LeafRange leaves_of(GpuBlock block) const {
    return {static_cast<int>(block.first / hosts_per_leaf()),
            static_cast<int>((block.end() - 1) / hosts_per_leaf())};
  }
  // No other job has GPUs on its leaves: their links are of no use to anybody else.
  bool has_whole_leaves(GpuBlock block) const {
    return block.first % hosts_per_leaf() == 0 && block.size % hosts_per_leaf() == 0;
  }
  bool needs_links(GpuBlock block) const { return !block.is_none() && !leaves_of(block).is_one(); }
  std::uint32_t hosts_under(GpuBlock block, int leaf) const;
  // How many flows of a leaf can leave it at once in a permutation of the block: no more than it has
  // hosts, and no more than there are elsewhere.
  std::uint32_t crossing(GpuBlock block, int leaf) const;
  // Uplinks of its own that a block needs at each of its leaves, as far as a leaf has so many.
  int uplinks_for(GpuBlock block) const;
  network::FabricSize size() const;
};

// Whether a job with that block can have these links on that fabric.
bool can_have(const PoolNetwork& network, GpuBlock block, const LinkGrant& links);

// Who owns which links between leaves and spines.
class LinkOwners {
 public:
  LinkOwners(int leaves, int uplinks)
      : uplinks_{uplinks},
        owners_(static_cast<std::size_t>(leaves) * static_cast<std::size_t>(uplinks)),
        owned_(static_cast<std::size_t>(uplinks)) {}

  bool is_free(int leaf, int uplink) const { return owner(leaf, uplink) == JobId{0}; }
  JobId owner(int leaf, int uplink) const { return owners_[at(leaf, uplink)]; }
  bool has_any() const { return links_ > 0; }
  std::int64_t links() const { return links_; }

  // So many uplinks that are free at all of these leaves, those of which others are used first; nothing
  // when there are fewer.
  std::optional<std::vector<std::int32_t>> find(LeafRange leaves, int count) const;
  // Those that are free at both.
  std::vector<int> open_between(int leaf, int other) const;
  bool are_connected(LeafRange leaves) const;

  // Requires: all of them are free (take) or the job's (release).
  void take(JobId job, LeafRange leaves, const std::vector<std::int32_t>& uplinks);
  void release(JobId job, LeafRange leaves, const std::vector<std::int32_t>& uplinks);

  friend bool operator==(const LinkOwners&, const LinkOwners&) = default;

 private:
  std::size_t at(int leaf, int uplink) const {
    return static_cast<std::size_t>(leaf) * static_cast<std::size_t>(uplinks_) +
           static_cast<std::size_t>(uplink);
  }

  int uplinks_;
  std::vector<JobId> owners_;  // 0: nobody
  std::vector<int> owned_;     // leaves, by uplink
  std::int64_t links_ = 0;
};

// What a job exchanges, by its model. `iteration_seconds`: at line rate.
network::JobIteration iteration_of(const NetworkTerms& terms, const std::string& model,
                                   double iteration_seconds);

// What a job with these links puts on the fabric. Own links: host i of a leaf sends through the i-th of
// them. Shared: by hash, over links that nobody owns. Circuits meet nobody: all is quiet.
network::RoutedTraffic traffic_of(const PoolNetwork& network, const LinkOwners& owners,
                                  GpuBlock block, const LinkGrant& links,
                                  const network::JobIteration& iteration);

}  // namespace weir::schedule
