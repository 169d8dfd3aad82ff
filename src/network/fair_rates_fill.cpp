// SPDX-License-Identifier: Apache-2.0
//
// How FairRates fills links anew: the link with the smallest share fixes its flows there, they are
// taken off their other links, and so on.
#include <algorithm>

#include "network/fair_rates.h"

namespace weir::network {
namespace {

// A heap of links, lowest key first. A link that is looked at again mostly stays near the top, so
// sinking from there beats taking it out and putting it in.
constexpr std::size_t kBranches = 4;

template <class Keyed>
void sink(std::vector<Keyed>& heap, std::size_t place) {
  if (place >= heap.size()) return;
  const Keyed moved = heap[place];
  for (;;) {
    const std::size_t first = place * kBranches + 1;
    if (first >= heap.size()) break;
    const std::size_t end = std::min(first + kBranches, heap.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (heap[child].key < heap[least].key) least = child;
    }
    if (!(heap[least].key < moved.key)) break;
    heap[place] = heap[least];
    place = least;
  }
  heap[place] = moved;
}

}  // namespace

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

double FairRates::open_above(LinkIndex index, double least) {
  Link& link = graph_.links()[index];
  link.key = FlowGraph::kNoKey;
  link.is_stale = false;
  link.level = kNoLimit;
  double fixed = 0;
  double open_weight = 0;
  std::uint32_t open = 0;
  for (Member& member : link.members) {
    if (member.level < least) {
      fixed += member.weight * member.level;
      continue;
    }
    member.level = kNoLimit;
    ++open;
    open_weight += member.weight;
    FlowGraph::Flow& flow = graph_.flow(member.flow);
    if (flow.visited == commit_) continue;
    flow.visited = commit_;
    note_change(member.flow);
    flow.level = kNoLimit;
    if (collected_.size() == graph_.links().size()) continue;
    for (const FlowGraph::HopPlace& place : graph_.hops(member.flow)) collect(place.link);
  }
  link.open = open;
  link.open_weight = open_weight;
  link.spare = std::max(0.0, link.capacity - fixed);
  return open > 0 ? link.spare / open_weight : kNoLimit;
}

void FairRates::fix_members(LinkIndex index, double level) {
  std::vector<Link>& links = graph_.links();
  Link& link = links[index];
  link.level = level;
  link.open = 0;
  for (Member& member : link.members) {
    if (member.level != kNoLimit) continue;
    member.level = level;
    graph_.flow(member.flow).level = level;
    for (const FlowGraph::HopPlace& place : graph_.hops(member.flow)) {
      if (place.link == index) continue;
      Link& other = links[place.link];
      Member& there = other.members[place.position];
      there.level = level;
      other.spare -= there.weight * level;
      other.open_weight -= there.weight;
      if (--other.open == 0 && other.spare <= other.capacity * kFull) other.level = level;
    }
  }
}

void FairRates::fill_collected(double from) {
  const double least = from * (1 - kEqualLevels);
  filling_.clear();
  for (std::size_t i = 0; i < collected_.size(); ++i) {
    const double share = open_above(collected_[i], least);
    if (share != kNoLimit) filling_.push_back({share, collected_[i]});
  }
  for (std::size_t place = filling_.size() / kBranches + 1; place-- > 0;) sink(filling_, place);
  double level = from;
  while (!filling_.empty()) {
    KeyedLink& next = filling_.front();
    const Link& link = graph_.links()[next.link];
    // Shares only grow while others are fixed, so a key is too low at worst.
    const double share = link.open > 0 ? link.spare / link.open_weight : kNoLimit;
    if (link.open > 0 && share <= next.key) {
      level = std::max(level, share);
      fix_members(next.link, level);
    } else if (link.open > 0) {
      next.key = share;
      sink(filling_, 0);
      continue;
    }
    next = filling_.back();
    filling_.pop_back();
    sink(filling_, 0);
  }
}

}  // namespace weir::network
