// SPDX-License-Identifier: Apache-2.0
//
// Which way transfers take through a fabric.
//
//  - ecmp: each switch hashes (source, destination, port, switch, seed). The port belongs to the
//    connection, so a path stays as long as the connection does; `connections` of them share a
//    transfer's bytes equally, each with a path of its own.
//  - source_index: the n-th GPU of a leaf always takes the n-th uplink; further up the leaf's
//    number decides.
//  - coloured: the transfers of a step are spread so that none share a link between switches as
//    long as none share a GPU (colours of edges: leaf to spine, and in a fat tree spine to core).
//  - spray: packets go equally over all shortest paths. The transfer is as fast as its slowest path
//    lets it be, so it is one flow with a part of its weight on each link.
//  - adaptive: each switch takes the link with the fewest flows when the transfer starts.
//  - two_hop: for leaves that are joined directly (optical circuits). What two leaves want from
//    each other stays on their own links up to `threshold` of these; the rest goes over one leaf
//    between them, in proportion to what such ways can carry (after TROD).
//
//  - ideal: nothing between the GPUs' own ports counts, as if one switch joined them all. What the
//    others are measured by.
//
// A link may fail: whatever crosses it must be routed again.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "network/fabric.h"
#include "network/route_table.h"

namespace weir::network {

enum class Routing : std::uint8_t { ecmp, source_index, coloured, spray, adaptive, two_hop, ideal };

inline constexpr std::string_view kRoutingNames[] = {
    "ecmp", "source-index", "coloured", "spray", "adaptive", "two-hop", "ideal"};

struct RoutingOptions {
  Routing routing = Routing::ecmp;
  std::uint64_t seed = 1;
  std::uint32_t connections = 1;  // ecmp: per pair of GPUs
  double threshold = 1;           // two_hop
};

struct Transfer {
  GpuIndex from = 0;
  GpuIndex to = 0;
  double bytes = 0;
  // Distinguishes connections between the same GPUs: of other jobs, or other channels.
  std::uint64_t connection = 0;
};

struct RoutedFlow {
  std::uint32_t transfer = 0;  // its place in the step
  double bytes = 0;            // per unit of weight
  std::vector<Hop> path;
};

class Router {
 public:
  // Requires: the fabric outlives the router.
  Router(const Fabric& fabric, const RoutingOptions& options);

  // The flows of a step's transfers, in order. `crowd` is the flows now on each link (by link;
  // adaptive only; updated with what is routed). A transfer that has no path any more has no flow:
  // its place is added to `lost`.
  void route(std::span<const Transfer> step, std::span<std::uint32_t> crowd,
             std::vector<RoutedFlow>& flows, std::vector<std::uint32_t>& lost) const;

  // True when equal transfers always take equal paths, so that a route may be kept.
  bool is_fixed() const { return options_.routing != Routing::adaptive && !depends_on_step(); }
  bool depends_on_step() const {
    return options_.routing == Routing::coloured || options_.routing == Routing::two_hop;
  }

  // Both directions of the cable stop.
  void fail(LinkIndex link);
  void repair(LinkIndex link);

  const RouteTable& table() const { return table_; }
  const RoutingOptions& options() const { return options_; }

 private:
  struct Step;  // what was decided for the transfers of a step together

  bool route_one(const Transfer& transfer, std::uint32_t place, const Step& together,
                 std::span<std::uint32_t> crowd, std::vector<RoutedFlow>& flows) const;
  bool spray(const Transfer& transfer, std::vector<Hop>& path) const;
  void two_hop(const Transfer& transfer, const Step& together, std::vector<Hop>& path) const;
  Step decide_together(std::span<const Transfer> step) const;
  void colour(std::span<const Transfer> step, Step& together) const;
  void weigh_ways(std::span<const Transfer> step, Step& together) const;
  double joint_capacity(VertexIndex from, VertexIndex to) const;

  const Fabric* fabric_;
  RoutingOptions options_;
  std::vector<bool> has_failed_;
  RouteTable table_;
};

}  // namespace weir::network
