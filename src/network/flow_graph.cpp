// SPDX-License-Identifier: Apache-2.0
#include "network/flow_graph.h"

#include <bit>
#include <cassert>

namespace weir::network {
namespace {

// Blocks of hops come in powers of two from this on, so that freed ones fit again.
constexpr std::size_t kLeastHopBlock = 4;

std::size_t hop_block_class(std::size_t count) {
  return std::bit_width((count + kLeastHopBlock - 1) / kLeastHopBlock - 1);
}

}  // namespace

FlowGraph::FlowGraph(std::span<const double> capacities) {
  links_.reserve(capacities.size());
  for (const double capacity : capacities) add_link(capacity);
}

LinkIndex FlowGraph::add_link(double capacity) {
  assert(capacity >= 0 && "a link cannot carry less than nothing");
  Link link;
  link.capacity = capacity;
  links_.push_back(std::move(link));
  return static_cast<LinkIndex>(links_.size() - 1);
}

std::uint32_t FlowGraph::take_hops(std::size_t count) {
  const std::size_t block = hop_block_class(count);
  if (block < free_hops_.size() && !free_hops_[block].empty()) {
    const std::uint32_t first = free_hops_[block].back();
    free_hops_[block].pop_back();
    return first;
  }
  const auto first = static_cast<std::uint32_t>(hops_.size());
  hops_.resize(hops_.size() + (kLeastHopBlock << block));
  return first;
}

void FlowGraph::give_hops(std::uint32_t first, std::size_t count) {
  const std::size_t block = hop_block_class(count);
  if (block >= free_hops_.size()) free_hops_.resize(block + 1);
  free_hops_[block].push_back(first);
}

FlowIndex FlowGraph::add(std::span<const Hop> path) {
  FlowIndex index = 0;
  if (free_flows_.empty()) {
    index = static_cast<FlowIndex>(flows_.size());
    flows_.emplace_back();
  } else {
    index = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& flow = flows_[index];
  flow.level = kNoLimit;
  flow.hops = static_cast<std::uint32_t>(path.size());
  flow.first_hop = path.empty() ? 0 : take_hops(path.size());
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    assert(path[i].weight > 0);
    const std::uint32_t hop = flow.first_hop + i;
    std::vector<Member>& members = links_[path[i].link].members;
    hops_[hop] = {path[i].link, static_cast<std::uint32_t>(members.size())};
    members.push_back({kNoLimit, path[i].weight, index, hop});
  }
  ++alive_;
  return index;
}

void FlowGraph::remove(FlowIndex index) {
  const Flow& flow = flows_[index];
  for (const HopPlace& place : hops(index)) {
    std::vector<Member>& members = links_[place.link].members;
    const Member last = members.back();
    members[place.position] = last;
    hops_[last.hop].position = place.position;
    members.pop_back();
  }
  if (flow.hops > 0) give_hops(flow.first_hop, flow.hops);
  removed_.push_back(index);
  --alive_;
}

void FlowGraph::recycle() {
  free_flows_.insert(free_flows_.end(), removed_.begin(), removed_.end());
  removed_.clear();
}

void FlowGraph::set_level(FlowIndex index, double level) {
  flows_[index].level = level;
  for (const HopPlace& place : hops(index))
    links_[place.link].members[place.position].level = level;
}

void FlowGraph::set_weight(FlowIndex index, double weight) {
  assert(weight > 0);
  for (const HopPlace& place : hops(index))
    links_[place.link].members[place.position].weight = weight;
}

}  // namespace weir::network
