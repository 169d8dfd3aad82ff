// SPDX-License-Identifier: Apache-2.0
//
// Which flows cross which links, in the form the fillers need: each link has its members side by
// side, each with a copy of its flow's level, so that a look at a link reads one block of memory.
//
// A hop's weight is what one unit of the flow's level costs on that link. A plain flow has weight 1
// everywhere and its level is its rate. A flow that stands for n equal ones has weight n and the
// level of one of them. A collective that moves in step (a co-flow) is one flow over all its links.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weir::network {

using LinkIndex = std::uint32_t;
using FlowIndex = std::uint32_t;

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct Hop {
  LinkIndex link = 0;
  double weight = 1;
  friend bool operator==(const Hop&, const Hop&) = default;
};

// Relative, far above rounding and far below what anybody measures: levels this close are equal,
// and a link this close to its capacity is full.
inline constexpr double kEqualLevels = 1e-12;
inline constexpr double kFull = 1e-11;

class FlowGraph {
 public:
  struct Member {
    double level = kNoLimit;  // its flow's
    double weight = 1;
    FlowIndex flow = 0;
    std::uint32_t hop = 0;
  };

  struct Link {
    double capacity = 0;
    double level = kNoLimit;  // at which it is full; kNoLimit when it is not
    std::vector<Member> members;
    // Of the commit in progress (fair_rates.h).
    double key = kNoKey;        // the level at which it will be looked at
    double spare = 0;           // while filling: what the fixed flows leave
    double open_weight = 0;     // while filling: of the flows that are not fixed
    std::uint32_t open = 0;     // their number
    std::uint32_t visited = 0;  // the commit that last filled it
    bool is_pending = false;
    bool is_stale = false;  // its key is too low at worst
  };
  static constexpr double kNoKey = -1;

  struct HopPlace {
    LinkIndex link = 0;
    std::uint32_t position = 0;  // in the link's members
  };

  struct Flow {
    double level = kNoLimit;
    std::uint32_t first_hop = 0;
    std::uint32_t hops = 0;
    std::uint32_t changed = 0;  // the commit that last changed it
    std::uint32_t visited = 0;  // the commit that last filled it
  };

  explicit FlowGraph(std::span<const double> capacities);

  LinkIndex add_link(double capacity);
  // The flow starts without limit. Requires: no link twice, weights > 0.
  FlowIndex add(std::span<const Hop> path);
  // Its index is given out again only after recycle().
  void remove(FlowIndex flow);
  void recycle();

  std::span<const HopPlace> hops(FlowIndex flow) const {
    return {hops_.data() + flows_[flow].first_hop, flows_[flow].hops};
  }
  void set_level(FlowIndex flow, double level);
  void set_weight(FlowIndex flow, double weight);

  std::vector<Link>& links() { return links_; }
  const std::vector<Link>& links() const { return links_; }
  Flow& flow(FlowIndex flow) { return flows_[flow]; }
  const Flow& flow(FlowIndex flow) const { return flows_[flow]; }
  // Indices in use or free.
  std::size_t size() const { return flows_.size(); }
  std::size_t alive() const { return alive_; }

 private:
  std::uint32_t take_hops(std::size_t count);
  void give_hops(std::uint32_t first, std::size_t count);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<HopPlace> hops_;
  std::vector<std::vector<std::uint32_t>> free_hops_;  // by power of two
  std::vector<FlowIndex> free_flows_;
  std::vector<FlowIndex> removed_;
  std::size_t alive_ = 0;
};

}  // namespace weir::network
