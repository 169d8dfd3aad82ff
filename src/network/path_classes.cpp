// SPDX-License-Identifier: Apache-2.0
#include "network/path_classes.h"

#include <algorithm>
#include <cassert>

#include "network/flow_run.h"

namespace weir::network {

PathClasses::PathClasses(std::span<const double> capacities, RateMethod method)
    : rates_{capacities, method} {}

PathClasses::PathIndex PathClasses::add_path(std::span<const LinkIndex> links) {
  assert(!links.empty());
  PathClass made;
  for (const LinkIndex link : links) made.path.push_back({link, 1});
  classes_.push_back(std::move(made));
  return static_cast<PathIndex>(classes_.size() - 1);
}

void PathClasses::serve(PathClass& each) const {
  each.served += each.rate * (now_ - each.since);
  each.since = now_;
}

void PathClasses::touch(PathIndex path) {
  if (classes_[path].is_touched) return;
  classes_[path].is_touched = true;
  touched_.push_back(path);
}

PathClasses::MemberIndex PathClasses::start(PathIndex path, double bytes) {
  assert(bytes >= 0);
  PathClass& each = classes_[path];
  if (each.members.empty()) {
    each.flow = rates_.add(each.path);
    if (each.flow >= path_of_.size()) path_of_.resize(each.flow + 1);
    path_of_[each.flow] = path;
    each.served = 0;
    each.rate = 0;
    each.since = now_;
  } else {
    serve(each);
    rates_.set_weight(each.flow, static_cast<double>(each.members.size() + 1));
  }
  const MemberIndex member = started_++;
  each.members.emplace(each.served + bytes, member);
  touch(path);
  ++active_;
  ++events_;
  return member;
}

void PathClasses::commit() {
  if (touched_.empty()) return;
  for (const FlowIndex flow : rates_.commit()) {
    PathClass& each = classes_[path_of_[flow]];
    serve(each);
    each.rate = rates_.level(flow);
    touch(path_of_[flow]);
  }
  for (const PathIndex path : touched_) {
    PathClass& each = classes_[path];
    each.is_touched = false;
    if (each.members.empty()) {
      finish_.erase(path);
      continue;
    }
    const double left = each.members.top().first - each.served;
    finish_.set(path, left > 0 ? each.since + left / each.rate : now_);
  }
  touched_.clear();
}

std::span<const PathClasses::MemberIndex> PathClasses::advance(double until) {
  commit();
  ended_.clear();
  if (finish_.empty() || finish_.first().at > until) {
    if (until != kNoLimit) now_ = std::max(now_, until);
    return ended_;
  }
  if (finish_.first().at == kNoLimit) return ended_;
  now_ = std::max(now_, finish_.first().at);
  while (!finish_.empty() && finish_.first().at <= now_ + kSameInstant) {
    const PathIndex path = finish_.first().flow;
    PathClass& each = classes_[path];
    finish_.pop();
    serve(each);
    // The first has ended, whatever rounding says of it; others that end with it, too.
    const double reached =
        std::max(each.members.top().first, each.served + each.rate * kSameInstant);
    while (!each.members.empty() && each.members.top().first <= reached) {
      ended_.push_back(each.members.top().second);
      each.members.pop();
    }
    if (each.members.empty()) {
      rates_.remove(each.flow);
    } else {
      rates_.set_weight(each.flow, static_cast<double>(each.members.size()));
    }
    touch(path);
  }
  active_ -= ended_.size();
  events_ += ended_.size();
  return ended_;
}

}  // namespace weir::network
