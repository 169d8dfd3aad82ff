// SPDX-License-Identifier: Apache-2.0
//
// How FairRates follows a change from link to link.
#include <algorithm>
#include <functional>

#include "network/fair_rates.h"

namespace weir::network {

double FairRates::filling_level(const Link& link, double from) {
  // The load at level s, sum of weight * min(level, s), is concave in s: from below, each step of
  // Newton's method stays below the solution, and the last one meets it.
  double s = from;
  for (;;) {
    double fixed = 0;
    double open = 0;
    double next_level = kNoLimit;
    for (const Member& member : link.members) {
      if (member.level <= s) {
        fixed += member.weight * member.level;
      } else {
        open += member.weight;
        next_level = std::min(next_level, member.level);
      }
    }
    scanned_ += link.members.size();
    if (open == 0) return kNoLimit;
    const double next = (link.capacity - fixed) / open;
    if (next <= next_level) return std::max(next, s);
    s = next;
  }
}

void FairRates::look_at_pending(double from) {
  for (const LinkIndex index : pending_) {
    Link& link = graph_.links()[index];
    link.is_pending = false;
    link.is_stale = false;
    const double filled = filling_level(link, from);
    const double key = filled < link.level * (1 - kEqualLevels) ? filled : link.level;
    if (key == kNoLimit) {
      link.key = FlowGraph::kNoKey;
    } else if (key != link.key) {
      push(index, key);
    }
  }
  pending_.clear();
}

bool FairRates::is_full_at(const Link& link, double level) {
  double load = 0;
  for (const Member& member : link.members) load += member.weight * std::min(member.level, level);
  scanned_ += link.members.size();
  return load >= link.capacity * (1 - kFull);
}

void FairRates::settle(LinkIndex index, double level) {
  graph_.links()[index].level = level;
  const double limit = level * (1 + kEqualLevels);
  // A cut writes to members, never moves them.
  for (Member& member : graph_.links()[index].members) {
    if (member.level <= limit) continue;
    note_change(member.flow);
    graph_.set_level(member.flow, level);
    for (const FlowGraph::HopPlace& place : graph_.hops(member.flow)) {
      if (place.link != index) touch_fall(place.link);
    }
  }
  scanned_ += graph_.links()[index].members.size();
}

bool FairRates::is_held_elsewhere(FlowIndex flow, LinkIndex but, double level) const {
  const double limit = level * (1 + kEqualLevels);
  for (const FlowGraph::HopPlace& place : graph_.hops(flow)) {
    if (place.link != but && graph_.links()[place.link].level <= limit) return true;
  }
  return false;
}

void FairRates::release(LinkIndex index, double level) {
  graph_.links()[index].level = kNoLimit;
  const double least = level * (1 - kEqualLevels);
  for (Member& member : graph_.links()[index].members) {
    if (member.level < least || member.level == kNoLimit ||
        is_held_elsewhere(member.flow, index, level)) {
      continue;
    }
    note_change(member.flow);
    graph_.set_level(member.flow, kNoLimit);
    for (const FlowGraph::HopPlace& place : graph_.hops(member.flow)) touch_rise(place.link);
  }
  scanned_ += graph_.links()[index].members.size();
  touch_rise(index);
}

bool FairRates::propagate(std::uint64_t budget) {
  for (;;) {
    look_at_pending(level_);
    if (dirty_.empty()) return true;
    if (scanned_ > budget) return false;
    std::pop_heap(dirty_.begin(), dirty_.end(), std::greater{});
    const KeyedLink next = dirty_.back();
    dirty_.pop_back();
    Link& link = graph_.links()[next.link];
    if (link.key != next.key) continue;
    link.key = FlowGraph::kNoKey;
    level_ = std::max(level_, next.key);
    if (next.key == link.level) {
      // Here it was full before.
      link.is_stale = false;
      if (is_full_at(link, link.level)) {
        settle(next.link, link.level);
      } else {
        release(next.link, link.level);
      }
    } else if (link.is_stale) {
      touch_rise(next.link);
    } else {
      settle(next.link, next.key);
    }
  }
}

}  // namespace weir::network
