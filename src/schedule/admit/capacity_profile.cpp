// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/capacity_profile.h"

#include <algorithm>
#include <cassert>

namespace weir::schedule {

std::size_t CapacityProfile::piece_at(Time time) const {
  assert(!at_.empty() && at_.front() <= time);
  return static_cast<std::size_t>(std::upper_bound(at_.begin(), at_.end(), time) - at_.begin()) - 1;
}

std::size_t CapacityProfile::split_at(Time time) {
  const std::size_t piece = piece_at(time);
  if (at_[piece] == time) return piece;
  const auto next = static_cast<std::ptrdiff_t>(piece) + 1;
  at_.insert(at_.begin() + next, time);
  free_.insert(free_.begin() + next, free_[piece]);
  return piece + 1;
}

void CapacityProfile::merge_before(std::size_t piece) {
  if (piece == 0 || piece >= at_.size() || free_[piece] != free_[piece - 1]) return;
  at_.erase(at_.begin() + static_cast<std::ptrdiff_t>(piece));
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(piece));
}

void CapacityProfile::add(Time from, Time to, std::int32_t change) {
  if (from >= to || change == 0) return;
  const std::size_t first = split_at(from);
  const std::size_t last = to == Time::max() ? at_.size() : split_at(to);
  for (std::size_t i = first; i < last; ++i) free_[i] += change;
  merge_before(last);
  merge_before(first);
}

void CapacityProfile::apply(std::vector<Change> changes) {
  if (changes.empty()) return;
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  std::vector<Time> at;
  std::vector<std::int32_t> free;
  at.reserve(at_.size() + changes.size());
  free.reserve(at_.size() + changes.size());
  std::int32_t extra = 0;
  std::size_t next_change = 0;
  std::size_t next_piece = 0;
  std::int32_t here = 0;
  while (next_piece < at_.size() || next_change < changes.size()) {
    const Time piece = next_piece < at_.size() ? at_[next_piece] : Time::max();
    const Time change =
        next_change < changes.size() ? std::max(changes[next_change].at, at_.front()) : Time::max();
    const Time time = std::min(piece, change);
    if (time == Time::max()) break;
    if (piece == time) here = free_[next_piece++];
    while (next_change < changes.size() && changes[next_change].at <= time)
      extra += changes[next_change++].by;
    if (!free.empty() && free.back() == here + extra) continue;
    at.push_back(time);
    free.push_back(here + extra);
  }
  at_ = std::move(at);
  free_ = std::move(free);
}

CapacityProfile CapacityProfile::coarsened(std::int64_t parts) const {
  CapacityProfile coarse;
  const Time start = at_.front();
  for (std::size_t i = 0; i < at_.size();) {
    // The last piece lasts for ever and stands alone.
    std::int32_t least = free_[i];
    std::size_t next = i + 1;
    while (next + 1 < at_.size() && at_[next] - at_[i] < (at_[next] - start) / parts) {
      least = std::min(least, free_[next]);
      ++next;
    }
    if (coarse.free_.empty() || coarse.free_.back() != least) {
      coarse.at_.push_back(at_[i]);
      coarse.free_.push_back(least);
    }
    i = next;
  }
  return coarse;
}

void CapacityProfile::start_at(Time time) {
  const auto piece = static_cast<std::ptrdiff_t>(piece_at(time));
  at_.erase(at_.begin(), at_.begin() + piece);
  free_.erase(free_.begin(), free_.begin() + piece);
  at_.front() = time;
}

CapacityProfile::GpuTime CapacityProfile::free_time(Time from, Time to) const {
  GpuTime sum = 0;
  for (std::size_t i = piece_at(from); i < size() && begin_of(i) < to; ++i) {
    const Duration length = std::min(end_of(i), to) - std::max(begin_of(i), from);
    sum += static_cast<GpuTime>(free_[i]) * length.count();
  }
  return sum;
}

CapacityProfile smaller_of(const CapacityProfile& a, const CapacityProfile& b) {
  std::size_t in_a = 0;
  std::size_t in_b = 0;
  std::int32_t free = std::min(a.free_in(0), b.free_in(0));
  CapacityProfile smaller{a.begin_of(0), free};
  std::vector<CapacityProfile::Change> changes;
  while (in_a + 1 < a.size() || in_b + 1 < b.size()) {
    const Time at = std::min(a.end_of(in_a), b.end_of(in_b));
    if (a.end_of(in_a) == at) ++in_a;
    if (b.end_of(in_b) == at) ++in_b;
    const std::int32_t then = std::min(a.free_in(in_a), b.free_in(in_b));
    if (then != free) changes.push_back({at, then - free});
    free = then;
  }
  smaller.apply(std::move(changes));
  return smaller;
}

}  // namespace weir::schedule
