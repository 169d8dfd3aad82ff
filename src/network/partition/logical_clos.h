// SPDX-License-Identifier: Apache-2.0
//
// Partitions of a leaf-spine fabric in which each job has its links to itself. A job that fits under
// one leaf needs no uplink. Any other job gets a small Clos network of its own: as many hosts under
// each of its leaves as it has spines, and every link between them, one per host; so it has full
// bisection inside and shares nothing outside.
//
// Jobs take whole nodes. With K nodes, the largest power of two z <= K is laid out as m leaves x q
// nodes, q a power of two; the K - z others stand under the same leaves, at most q per leaf, each
// paired with a node of those q: the collective gets one step before and one after, inside the leaf.
//
// Host i of each leaf sends through spine i of the job, whatever the destination. The collectives
// of docs/models/network.md then never put two flows on one link.
//
// Pure values: find() changes nothing, take() and release() are each other's undo, bit for bit.
// Sources: arXiv 2308.05692 (logical Clos); the search is weir's own (biclique_search.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "domain/diagnostics.h"
#include "network/partition/biclique_search.h"

namespace weir::network {

// A host is one GPU with a NIC of its own; a node has several.
struct ClosShape {
  int leaves = 0;          // 1..256
  int hosts_per_leaf = 0;  // a multiple of hosts_per_node
  int spines = 0;
  int links_per_pair = 1;  // parallel links between a leaf and a spine
  int hosts_per_node = 1;

  int nodes_per_leaf() const { return hosts_per_leaf / hosts_per_node; }
  int uplinks_per_leaf() const { return spines * links_per_pair; }  // 1..256
  int hosts() const { return leaves * hosts_per_leaf; }

  friend bool operator==(const ClosShape&, const ClosShape&) = default;
};

// Everything that is wrong with a shape; fields are named as the options of the command line.
Diagnostics check(const ClosShape& shape);

struct LeafShare {
  int leaf = 0;
  std::vector<int> nodes;  // under this leaf, counted from 0; the last `paired` are the extra ones
  int paired = 0;
  // The uplink of host i of the first nodes: spine * links_per_pair + which of the parallel links.
  // Empty when the job needs no spine.
  std::vector<int> uplinks;

  friend bool operator==(const LeafShare&, const LeafShare&) = default;
};

struct Partition {
  int hosts = 0;  // as asked; the nodes may have more
  std::vector<LeafShare> leaves;
  std::vector<int> spines;  // of host i in every leaf; empty when the job needs none

  friend bool operator==(const Partition&, const Partition&) = default;
};

enum class NoPartition : std::uint8_t {
  larger_than_fabric,
  too_few_free,      // hosts
  hosts_scattered,   // enough, but never q under each of m leaves
  links_taken,       // hosts would do; no set of leaves has enough spines in common
  not_found_in_time  // the search gave up: there may be one
};
std::string_view text_of(NoPartition reason);

class LogicalClos {
 public:
  // Requires: check(shape) is empty.
  explicit LogicalClos(const ClosShape& shape);

  const ClosShape& shape() const { return shape_; }
  int free_hosts() const { return free_nodes_ * shape_.hosts_per_node; }
  int free_nodes_of(int leaf) const { return leaves_[at(leaf)].free_nodes; }
  bool is_node_free(int leaf, int node) const { return has_column(leaves_[at(leaf)].nodes, node); }
  bool is_link_free(int leaf, int uplink) const {
    return has_column(leaves_[at(leaf)].links, uplink);
  }

  // The partition a job of so many hosts (1 or more) would get: under one leaf where it fits, else
  // under as few leaves as possible. Prefers leaves and spines that are mostly in use.
  tl::expected<Partition, NoPartition> find(int hosts) const;

  // The same nodes with other spines (perhaps the same again), for a job whose links are free now.
  std::optional<Partition> reroute(const Partition& partition) const;

  // Requires: all of it is free (take) or taken (release).
  void take(const Partition& partition);
  void release(const Partition& partition);
  void take_links(const Partition& partition);
  void release_links(const Partition& partition);
  // A link that no partition may use: broken, or somebody else's. Requires: it is free.
  void block_link(int leaf, int uplink);

  // Looks at rows that the exact search may spend on one request, before greed has its turn.
  void set_search_budget(std::int64_t looks) { search_budget_ = looks; }

  friend bool operator==(const LogicalClos&, const LogicalClos&) = default;

 private:
  struct Leaf {
    Columns nodes{};  // ones are free
    Columns links{};
    int free_nodes = 0;
    int free_links = 0;
    friend bool operator==(const Leaf&, const Leaf&) = default;
  };
  struct Layout;

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  Columns ranked_links(const Leaf& leaf) const;
  std::optional<Partition> find_under_one_leaf(int hosts, int nodes) const;
  int spare_nodes(const Layout& layout, int leaf) const;
  bool hosts_suffice(const Layout& layout) const;
  std::vector<int> candidates(const Layout& layout) const;
  BicliqueAnswer search_leaves(const Layout& layout, const std::vector<int>& candidates,
                               std::int64_t& budget) const;
  BicliqueAnswer search_spines(const Layout& layout, const std::vector<int>& candidates,
                               std::int64_t& budget) const;
  std::vector<int> choose_spines(const std::vector<int>& leaves, int count) const;
  Partition lay_out(const Layout& layout, const std::vector<int>& leaves) const;
  LeafShare share_of(int leaf, int nodes, const std::vector<int>& spines) const;
  void set_links(const Partition& partition, bool are_free);
  void set_nodes(const Partition& partition, bool are_free);

  ClosShape shape_;
  std::vector<Leaf> leaves_;
  std::vector<int> free_links_of_spine_;
  int free_nodes_ = 0;
  std::int64_t search_budget_ = 150'000;
};

// The largest power of two of hosts that would get a partition now; 0 when nothing is free.
int largest_job(const LogicalClos& clos);

// How far the largest job falls short of what the free hosts alone would allow: 0 (not at all) to 1.
double fragmentation(const LogicalClos& clos);

}  // namespace weir::network
