// SPDX-License-Identifier: Apache-2.0
//
// Max-min fair rates that follow changes. The rates are fair when no flow can get more without
// taking from one that has no more than it; then every flow has a bottleneck, a full link on which
// nobody is faster. There is exactly one such allocation.
//
//   FairRates rates{capacities};
//   const FlowIndex flow = rates.add(path);
//   for (const FlowIndex changed : rates.commit()) ... rates.level(changed) ...
//
// Between commits any number of flows may come and go. A commit looks at levels from low to high:
// below the lowest level at which a changed link fills, nothing can be different.
//
//  - propagate: follows the change from link to link and touches only flows whose rate differs.
//    A link that fills earlier cuts its flows, which leaves room on their other links; a link that
//    no longer fills where it did lets the flows rise that it alone held.
//  - cut: takes all flows at or above that lowest level which hang together with the change, and
//    fills them anew.
//  - full: fills everything anew. Slow; there to compare with.
//  - hybrid: propagate, and when that has looked at too much, cut from the level reached.
//
// All are exact; they differ by rounding only. What follows from equal calls is equal to the bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/flow_graph.h"

namespace weir::network {

enum class RateMethod : std::uint8_t { hybrid, propagate, cut, full };

// Propagation gives up after so many members looked at, and is not tried again for a growing number
// of commits: on crowded fabrics filling anew is cheaper.
inline constexpr std::uint64_t kScanBudget = 40'000;

class FairRates {
 public:
  explicit FairRates(std::span<const double> capacities, RateMethod method = RateMethod::hybrid,
                     std::uint64_t scan_budget = kScanBudget);

  // `cap` limits the flow's level. Requires: at least one hop or a cap, no link twice, weights > 0.
  FlowIndex add(std::span<const Hop> path, double cap = kNoLimit);
  void remove(FlowIndex flow);
  // From now on it costs so much on all its links. Requires: a flow without cap, weight > 0.
  void set_weight(FlowIndex flow, double weight);
  // 0 stops what crosses the link.
  void set_capacity(LinkIndex link, double capacity);

  // Brings all levels up to date. The flows that are new or have another level than before, in no
  // particular order; valid until the next call.
  std::span<const FlowIndex> commit();

  double level(FlowIndex flow) const { return graph_.flow(flow).level; }
  // What crosses the link, and what could.
  double load(LinkIndex link) const;
  double capacity(LinkIndex link) const { return graph_.links()[link].capacity; }
  const FlowGraph& graph() const { return graph_; }

 private:
  using Link = FlowGraph::Link;
  using Member = FlowGraph::Member;

  struct KeyedLink {
    double key = 0;
    LinkIndex link = 0;
    friend bool operator>(const KeyedLink& a, const KeyedLink& b) {
      return a.key != b.key ? a.key > b.key : a.link > b.link;
    }
  };
  struct Changed {
    FlowIndex flow = 0;
    double before = 0;
  };

  // Members of the link may rise, or new ones came: the level at which it fills must be found.
  void touch_rise(LinkIndex link);
  // Members fell or went: it fills later than it did, if at all.
  void touch_fall(LinkIndex link);
  void push(LinkIndex link, double key);
  void note_change(FlowIndex flow);

  bool propagate(std::uint64_t budget);
  void look_at_pending(double from);
  // The level at or above `from` at which the link fills.
  double filling_level(const Link& link, double from);
  bool is_full_at(const Link& link, double level);
  void settle(LinkIndex link, double level);
  void release(LinkIndex link, double level);
  bool is_held_elsewhere(FlowIndex flow, LinkIndex but, double level) const;

  // Everything at or above `from` that hangs together with the links that changed.
  void fill_above(double from);
  void collect(LinkIndex link);
  void fill_collected(double from);
  // Takes the link's flows from `least` on as not fixed, and says what each of them could have.
  double open_above(LinkIndex link, double least);
  // The link is full at this level: its open flows have it everywhere.
  void fix_members(LinkIndex link, double level);
  void fill_all();

  FlowGraph graph_;
  RateMethod method_;
  std::uint64_t scan_budget_;
  std::uint32_t commit_ = 1;

  std::vector<LinkIndex> pending_;
  std::vector<KeyedLink> dirty_;  // a heap, lowest key first; entries with another key are stale
  std::vector<Changed> changes_;
  std::vector<FlowIndex> changed_;
  std::vector<LinkIndex> collected_;
  std::vector<KeyedLink> filling_;
  std::vector<LinkIndex> free_caps_;
  std::vector<LinkIndex> cap_of_;  // by flow; kNoCap
  std::vector<Hop> with_cap_;

  std::size_t events_ = 0;  // flows that came and went since the last commit
  double level_ = 0;        // that propagation has reached
  std::uint64_t scanned_ = 0;
  std::uint32_t waiting_ = 0;  // commits until propagation is tried again
  std::uint32_t wait_ = 0;     // the last wait
};

}  // namespace weir::network
