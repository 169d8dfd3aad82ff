// SPDX-License-Identifier: Apache-2.0
#include "network/flow_run.h"

#include <algorithm>
#include <cassert>

namespace weir::network {
namespace {

// From this share of all ends on the heap is ordered anew instead of entry by entry.
constexpr std::size_t kManyMoved = 8;

}  // namespace

FlowRun::FlowRun(std::span<const double> capacities, RateMethod method)
    : rates_{capacities, method} {}

FlowIndex FlowRun::start(std::span<const Hop> path, double bytes, double cap) {
  assert(bytes >= 0);
  const FlowIndex flow = rates_.add(path, cap);
  if (flow >= progress_.size()) progress_.resize(flow + 1);
  progress_[flow] = {bytes, now_, 0};
  ++active_;
  ++events_;
  has_changes_ = true;
  return flow;
}

void FlowRun::cancel(FlowIndex flow) {
  finish_.erase(flow);
  rates_.remove(flow);
  --active_;
  ++events_;
  has_changes_ = true;
}

FlowIndex FlowRun::reroute(FlowIndex flow, std::span<const Hop> path, double cap) {
  const double left = remaining(flow);
  cancel(flow);
  return start(path, left, cap);
}

void FlowRun::set_capacity(LinkIndex link, double capacity) {
  rates_.set_capacity(link, capacity);
  has_changes_ = true;
}

double FlowRun::remaining(FlowIndex flow) const {
  const Progress& progress = progress_[flow];
  return std::max(0.0, progress.remaining - progress.rate * (now_ - progress.since));
}

void FlowRun::commit() {
  if (!has_changes_) return;
  has_changes_ = false;
  ++commits_;
  const auto changed = rates_.commit();
  const bool has_many = changed.size() * kManyMoved > finish_.size();
  for (const FlowIndex flow : changed) {
    Progress& progress = progress_[flow];
    progress.remaining =
        std::max(0.0, progress.remaining - progress.rate * (now_ - progress.since));
    progress.since = now_;
    progress.rate = rates_.level(flow);
    // Nothing left, or no limit: now. No rate: never.
    double at = now_;
    if (progress.remaining > 0 && progress.rate != kNoLimit)
      at += progress.remaining / progress.rate;
    if (has_many) {
      finish_.set_later(flow, at);
    } else {
      finish_.set(flow, at);
    }
  }
  if (has_many) finish_.order();
}

std::span<const FlowIndex> FlowRun::advance(double until) {
  commit();
  ended_.clear();
  if (finish_.empty() || finish_.first().at > until) {
    // Stalled flows never end.
    if (until != kNoLimit) now_ = std::max(now_, until);
    return ended_;
  }
  if (finish_.first().at == kNoLimit) return ended_;
  now_ = std::max(now_, finish_.first().at);
  while (!finish_.empty() && finish_.first().at <= now_ + kSameInstant) {
    const FlowIndex flow = finish_.first().flow;
    finish_.pop();
    rates_.remove(flow);
    ended_.push_back(flow);
  }
  active_ -= ended_.size();
  events_ += ended_.size();
  has_changes_ = true;
  return ended_;
}

}  // namespace weir::network
