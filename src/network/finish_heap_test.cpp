// SPDX-License-Identifier: Apache-2.0
#include "network/finish_heap.h"

#include <gtest/gtest.h>

#include <map>

#include "domain/seeded_rng.h"

namespace weir::network {
namespace {

TEST(FinishHeap, GivesTheEarliestWhateverIsMovedTakenOutOrOrderedAtOnce) {
  SeededRng rng{3};
  FinishHeap heap;
  std::map<FlowIndex, double> expected;
  for (int step = 0; step < 20'000; ++step) {
    const auto flow = static_cast<FlowIndex>(rng.below(200));
    const auto at = static_cast<double>(rng.below(50));
    switch (rng.below(8)) {
      case 0:
        heap.erase(flow);
        expected.erase(flow);
        break;
      case 1:
        for (FlowIndex i = 0; i < 20; ++i) {
          heap.set_later(flow + i, at + i);
          expected[flow + i] = at + i;
        }
        heap.order();
        break;
      default:
        heap.set(flow, at);
        expected[flow] = at;
    }
    ASSERT_EQ(heap.size(), expected.size());
    if (expected.empty()) continue;
    const auto first = std::min_element(expected.begin(), expected.end(), [](auto& a, auto& b) {
      return std::pair{a.second, a.first} < std::pair{b.second, b.first};
    });
    ASSERT_EQ(heap.first().flow, first->first);
    ASSERT_EQ(heap.first().at, first->second);
    if (expected.size() > 150) {
      heap.pop();
      expected.erase(first);
    }
  }
}

}  // namespace
}  // namespace weir::network
