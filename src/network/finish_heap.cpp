// SPDX-License-Identifier: Apache-2.0
#include "network/finish_heap.h"

#include <algorithm>

namespace weir::network {
namespace {

constexpr std::size_t kChildren = 4;

}  // namespace

void FinishHeap::up(std::size_t place, const Entry& entry) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / kChildren;
    if (!is_before(entry, heap_[parent])) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, entry);
}

void FinishHeap::down(std::size_t place, const Entry& entry) {
  for (;;) {
    const std::size_t first = place * kChildren + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = std::min(first + kChildren, heap_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (is_before(heap_[child], heap_[least])) least = child;
    }
    if (!is_before(heap_[least], entry)) break;
    put(place, heap_[least]);
    place = least;
  }
  put(place, entry);
}

void FinishHeap::set(FlowIndex flow, double at) {
  if (flow >= place_.size()) place_.resize(flow + 1, kNowhere);
  const Entry entry{at, flow};
  if (place_[flow] == kNowhere) {
    heap_.emplace_back();
    up(heap_.size() - 1, entry);
  } else if (is_before(entry, heap_[place_[flow]])) {
    up(place_[flow], entry);
  } else {
    down(place_[flow], entry);
  }
}

void FinishHeap::erase(FlowIndex flow) {
  if (flow >= place_.size() || place_[flow] == kNowhere) return;
  const std::size_t place = place_[flow];
  place_[flow] = kNowhere;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.flow == flow) return;
  if (place > 0 && is_before(last, heap_[(place - 1) / kChildren])) {
    up(place, last);
  } else {
    down(place, last);
  }
}

void FinishHeap::set_later(FlowIndex flow, double at) {
  if (flow >= place_.size()) place_.resize(flow + 1, kNowhere);
  if (place_[flow] == kNowhere) {
    heap_.emplace_back();
    put(heap_.size() - 1, {at, flow});
  } else {
    heap_[place_[flow]].at = at;
  }
}

void FinishHeap::order() {
  if (heap_.size() < 2) return;
  for (std::size_t place = (heap_.size() - 2) / kChildren + 1; place-- > 0;) {
    down(place, Entry{heap_[place]});
  }
}

}  // namespace weir::network
