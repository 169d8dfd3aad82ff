// SPDX-License-Identifier: Apache-2.0
#include "network/route_table.h"

#include <algorithm>
#include <utility>

namespace weir::network {
namespace {

constexpr std::uint32_t kUnreached = ~std::uint32_t{0};

bool forwards(const Vertex& vertex) {
  return vertex.kind != VertexKind::gpu && vertex.kind != VertexKind::node_switch;
}

}  // namespace

RouteTable::RouteTable(const Fabric& fabric, std::vector<bool> has_failed)
    : fabric_{&fabric},
      has_failed_{std::move(has_failed)},
      into_(fabric.vertices.size()),
      place_of_(fabric.vertices.size(), 0) {
  for (VertexIndex vertex = 0; vertex < fabric.vertices.size(); ++vertex) {
    if (forwards(fabric.vertices[vertex]))
      place_of_[vertex] = static_cast<std::uint32_t>(switches_++);
  }
  for (LinkIndex link = 0; link < fabric.links.size(); ++link) {
    const FabricLink& ends = fabric.links[link];
    if (!this->has_failed(link) && forwards(fabric.vertices[ends.from]) &&
        forwards(fabric.vertices[ends.to])) {
      into_[ends.to].push_back(link);
    }
  }
  first_.push_back(0);
  for (VertexIndex vertex = 0; vertex < fabric.vertices.size(); ++vertex) {
    if (forwards(fabric.vertices[vertex])) add_leaf(vertex);
  }
}

void RouteTable::add_leaf(VertexIndex leaf) {
  const std::size_t before = first_.size() - 1;
  // Only leaves are destinations; the others have an empty row.
  if (fabric_->vertices[leaf].kind != VertexKind::leaf) {
    const std::uint32_t end = first_.back();
    first_.resize(before + switches_ + 1, end);
    return;
  }
  std::vector<std::uint32_t> distance(switches_, kUnreached);
  std::vector<std::vector<LinkIndex>> links(switches_);
  std::vector<VertexIndex> reached{leaf};
  distance[place_of_[leaf]] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t here = distance[place_of_[reached[i]]];
    for (const LinkIndex link : into_[reached[i]]) {
      const VertexIndex from = fabric_->links[link].from;
      std::uint32_t& there = distance[place_of_[from]];
      if (there == kUnreached) {
        there = here + 1;
        reached.push_back(from);
      }
      if (there == here + 1) links[place_of_[from]].push_back(link);
    }
  }
  for (std::vector<LinkIndex>& found : links) {
    std::sort(found.begin(), found.end());
    next_.insert(next_.end(), found.begin(), found.end());
    first_.push_back(static_cast<std::uint32_t>(next_.size()));
  }
}

std::span<const LinkIndex> RouteTable::next_links(VertexIndex at, VertexIndex leaf) const {
  const std::size_t place = place_of_[leaf] * switches_ + place_of_[at];
  return {next_.data() + first_[place], next_.data() + first_[place + 1]};
}

}  // namespace weir::network
