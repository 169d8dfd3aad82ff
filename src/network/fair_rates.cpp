// SPDX-License-Identifier: Apache-2.0
#include "network/fair_rates.h"

#include <algorithm>
#include <cassert>
#include <functional>

namespace weir::network {
namespace {

constexpr LinkIndex kNoCap = ~LinkIndex{0};
constexpr double kNewLevel = -1;  // of a flow before its first commit

constexpr std::uint32_t kLongestWait = 64;
// With this share of the flows exchanged at once everything is filled anew without looking.
constexpr std::size_t kManyEvents = 4;

}  // namespace

FairRates::FairRates(std::span<const double> capacities, RateMethod method,
                     std::uint64_t scan_budget)
    : graph_{capacities}, method_{method}, scan_budget_{scan_budget} {}

FlowIndex FairRates::add(std::span<const Hop> path, double cap) {
  LinkIndex limit = kNoCap;
  if (cap != kNoLimit) {
    // A link of its own says the same, and needs no rule of its own.
    if (free_caps_.empty()) {
      limit = graph_.add_link(cap);
    } else {
      limit = free_caps_.back();
      free_caps_.pop_back();
      graph_.links()[limit].capacity = cap;
      graph_.links()[limit].level = kNoLimit;
    }
    with_cap_.assign(path.begin(), path.end());
    with_cap_.push_back({limit, 1});
    path = with_cap_;
  }
  const FlowIndex flow = graph_.add(path);
  if (flow >= cap_of_.size()) cap_of_.resize(flow + 1, kNoCap);
  cap_of_[flow] = limit;
  graph_.flow(flow).changed = commit_;
  changes_.push_back({flow, kNewLevel});
  for (const Hop& hop : path) touch_rise(hop.link);
  ++events_;
  return flow;
}

void FairRates::remove(FlowIndex flow) {
  for (const FlowGraph::HopPlace& place : graph_.hops(flow)) touch_fall(place.link);
  graph_.remove(flow);
  if (cap_of_[flow] != kNoCap) free_caps_.push_back(cap_of_[flow]);
  graph_.flow(flow).level = kNewLevel;  // as if it had never come, if it came since the last commit
  ++events_;
}

void FairRates::set_weight(FlowIndex flow, double weight) {
  assert(cap_of_[flow] == kNoCap);
  graph_.set_weight(flow, weight);
  for (const FlowGraph::HopPlace& place : graph_.hops(flow)) touch_rise(place.link);
  ++events_;
}

void FairRates::set_capacity(LinkIndex link, double capacity) {
  assert(capacity >= 0);
  graph_.links()[link].capacity = capacity;
  touch_rise(link);
}

double FairRates::load(LinkIndex link) const {
  double sum = 0;
  for (const Member& member : graph_.links()[link].members) sum += member.weight * member.level;
  return sum;
}

void FairRates::touch_rise(LinkIndex index) {
  Link& link = graph_.links()[index];
  if (link.is_pending) return;
  link.is_pending = true;
  pending_.push_back(index);
}

void FairRates::touch_fall(LinkIndex index) {
  Link& link = graph_.links()[index];
  if (link.key != FlowGraph::kNoKey) {
    link.is_stale = true;
  } else if (link.level != kNoLimit) {
    push(index, link.level);
  }
}

void FairRates::push(LinkIndex index, double key) {
  graph_.links()[index].key = key;
  dirty_.push_back({key, index});
  std::push_heap(dirty_.begin(), dirty_.end(), std::greater{});
}

void FairRates::note_change(FlowIndex index) {
  FlowGraph::Flow& flow = graph_.flow(index);
  if (flow.changed == commit_) return;
  flow.changed = commit_;
  changes_.push_back({index, flow.level});
}

std::span<const FlowIndex> FairRates::commit() {
  level_ = 0;
  scanned_ = 0;
  if (method_ == RateMethod::full) {
    fill_all();
  } else if (method_ == RateMethod::propagate) {
    propagate(~std::uint64_t{0});
  } else if (method_ == RateMethod::hybrid && events_ * kManyEvents > graph_.alive()) {
    fill_above(0);
  } else if (method_ == RateMethod::hybrid && waiting_ == 0) {
    if (propagate(scan_budget_)) {
      wait_ = 0;
    } else {
      fill_above(level_);
      wait_ = std::min(kLongestWait, wait_ * 2 + 1);
      waiting_ = wait_;
    }
  } else {
    if (waiting_ > 0) --waiting_;
    look_at_pending(0);
    if (!dirty_.empty()) fill_above(dirty_.front().key);
  }
  changed_.clear();
  for (const Changed& change : changes_) {
    if (graph_.flow(change.flow).level != change.before) changed_.push_back(change.flow);
  }
  changes_.clear();
  events_ = 0;
  ++commit_;
  graph_.recycle();
  return changed_;
}

}  // namespace weir::network
