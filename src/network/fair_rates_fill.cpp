// SPDX-License-Identifier: Apache-2.0
//
// How FairRates fills links anew: the link with the smallest share fixes its flows there, they are
// taken off their other links, and so on.
#include <algorithm>
#include <functional>

#include "network/fair_rates.h"

namespace weir::network {

void FairRates::collect(LinkIndex index) {
  Link& link = graph_.links()[index];
  if (link.visited == commit_) return;
  link.visited = commit_;
  collected_.push_back(index);
}

void FairRates::fill_above(double from) {
  collected_.clear();
  for (const LinkIndex index : pending_) {
    graph_.links()[index].is_pending = false;
    collect(index);
  }
  for (const KeyedLink& dirty : dirty_) {
    // Others are there with a key they no longer have: they have been settled.
    if (graph_.links()[dirty.link].key != FlowGraph::kNoKey) collect(dirty.link);
  }
  pending_.clear();
  dirty_.clear();
  fill_collected(from);
}

void FairRates::fill_all() {
  collected_.clear();
  for (LinkIndex index = 0; index < graph_.links().size(); ++index) {
    graph_.links()[index].is_pending = false;
    collect(index);
  }
  pending_.clear();
  dirty_.clear();
  fill_collected(0);
}

void FairRates::fill_collected(double from) {
  std::vector<Link>& links = graph_.links();
  const double least = from * (1 - kEqualLevels);
  filling_.clear();
  for (std::size_t i = 0; i < collected_.size(); ++i) {
    Link& link = links[collected_[i]];
    link.key = FlowGraph::kNoKey;
    link.is_stale = false;
    link.level = kNoLimit;
    double fixed = 0;
    link.open = 0;
    link.open_weight = 0;
    for (Member& member : link.members) {
      if (member.level < least) {
        fixed += member.weight * member.level;
        continue;
      }
      member.level = kNoLimit;
      ++link.open;
      link.open_weight += member.weight;
      FlowGraph::Flow& flow = graph_.flow(member.flow);
      if (flow.visited == commit_) continue;
      flow.visited = commit_;
      note_change(member.flow);
      flow.level = kNoLimit;
      for (const FlowGraph::HopPlace& place : graph_.hops(member.flow)) collect(place.link);
    }
    link.spare = std::max(0.0, link.capacity - fixed);
    if (link.open > 0) filling_.push_back({link.spare / link.open_weight, collected_[i]});
  }
  std::make_heap(filling_.begin(), filling_.end(), std::greater{});
  double level = from;
  while (!filling_.empty()) {
    std::pop_heap(filling_.begin(), filling_.end(), std::greater{});
    KeyedLink& next = filling_.back();
    Link& link = links[next.link];
    if (link.open == 0) {
      filling_.pop_back();
      continue;
    }
    // Shares only grow while others are fixed, so a key is too low at worst.
    const double share = link.spare / link.open_weight;
    if (filling_.size() > 1 && share > filling_.front().key) {
      next.key = share;
      std::push_heap(filling_.begin(), filling_.end(), std::greater{});
      continue;
    }
    const LinkIndex index = next.link;
    filling_.pop_back();
    level = std::max(level, share);
    link.level = level;
    for (Member& member : link.members) {
      if (member.level != kNoLimit) continue;
      member.level = level;
      graph_.flow(member.flow).level = level;
      for (const FlowGraph::HopPlace& place : graph_.hops(member.flow)) {
        if (place.link == index) continue;
        Link& other = links[place.link];
        Member& there = other.members[place.position];
        there.level = level;
        other.spare = std::max(0.0, other.spare - there.weight * level);
        other.open_weight -= there.weight;
        if (--other.open == 0 && other.spare <= other.capacity * kFull) other.level = level;
      }
    }
    link.open = 0;
  }
}

}  // namespace weir::network
