// SPDX-License-Identifier: Apache-2.0
//
// When flows end, earliest first. A heap with four children per node in which every flow knows its
// place, so that a new rate moves its flow instead of leaving an old entry behind.
#pragma once

#include <cstdint>
#include <vector>

#include "network/flow_graph.h"

namespace weir::network {

class FinishHeap {
 public:
  struct Entry {
    double at = 0;
    FlowIndex flow = 0;
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // Of equal ends the flow with the lowest index. Requires: not empty.
  const Entry& first() const { return heap_.front(); }

  // Adds the flow or moves it.
  void set(FlowIndex flow, double at);
  void erase(FlowIndex flow);
  void pop() { erase(heap_.front().flow); }

  // For many at once: any number of set_later, then order().
  void set_later(FlowIndex flow, double at);
  void order();

 private:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  static bool is_before(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at < b.at : a.flow < b.flow;
  }
  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    place_[entry.flow] = static_cast<std::uint32_t>(place);
  }
  void up(std::size_t place, const Entry& entry);
  void down(std::size_t place, const Entry& entry);

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  // by flow
};

}  // namespace weir::network
