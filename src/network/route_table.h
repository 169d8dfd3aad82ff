// SPDX-License-Identifier: Apache-2.0
//
// From every switch towards every leaf: the links that lie on a shortest path. Which of them a flow
// takes is for the routing to pick (routes.h). Links that have failed are left out.
#pragma once

#include <span>
#include <vector>

#include "network/fabric.h"

namespace weir::network {

class RouteTable {
 public:
  // `has_failed` by link; empty for none. Requires: the fabric outlives the table.
  explicit RouteTable(const Fabric& fabric, std::vector<bool> has_failed = {});

  const Fabric& fabric() const { return *fabric_; }
  bool has_failed(LinkIndex link) const { return !has_failed_.empty() && has_failed_[link]; }

  // In the order of their numbers; none when the leaf cannot be reached from there.
  std::span<const LinkIndex> next_links(VertexIndex at, VertexIndex leaf) const;

  // The links from one GPU to another: pick(switch, candidates, stage) gives the place of one among
  // the candidates; stages count the switches that have a choice. Returns whether there is a path;
  // `path` is then complete. Requires: two different GPUs.
  template <class Pick>
  bool find_path(GpuIndex from, GpuIndex to, std::vector<LinkIndex>& path, Pick pick) const {
    path.clear();
    const GpuPort& start = fabric_->ports[from];
    const GpuPort& end = fabric_->ports[to];
    if (fabric_->is_local(from, to)) {
      path = {start.local_out, end.local_in};
      return !has_failed(start.local_out) && !has_failed(end.local_in);
    }
    if (has_failed(start.out) || has_failed(end.in)) return false;
    path.push_back(start.out);
    std::size_t stage = 0;
    for (VertexIndex at = start.leaf; at != end.leaf;) {
      const auto candidates = next_links(at, end.leaf);
      if (candidates.empty()) return false;
      const LinkIndex link =
          candidates.size() == 1 ? candidates[0] : candidates[pick(at, candidates, stage++)];
      path.push_back(link);
      at = fabric_->links[link].to;
    }
    path.push_back(end.in);
    return true;
  }

 private:
  void add_leaf(VertexIndex leaf);

  const Fabric* fabric_;
  std::vector<bool> has_failed_;
  std::vector<std::vector<LinkIndex>> into_;  // links between switches, by the switch they end at
  std::vector<std::uint32_t> place_of_;       // of a switch or leaf in what follows
  std::size_t switches_ = 0;
  // By leaf, then by switch: where its links begin; one more for the end.
  std::vector<std::uint32_t> first_;
  std::vector<LinkIndex> next_;
};

}  // namespace weir::network
