// SPDX-License-Identifier: Apache-2.0
#include "network/routes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "network/edge_colouring.h"

namespace weir::network {
namespace {

// The finaliser of splitmix64: every bit of the input moves every bit of the output.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

std::uint64_t flow_hash(const Transfer& transfer, std::uint64_t port, std::uint64_t seed) {
  const std::uint64_t pair = (std::uint64_t{transfer.from} << 32U) | transfer.to;
  return mixed(mixed(mixed(seed) ^ pair) ^ mixed(transfer.connection) ^ port);
}

void add_hop(std::vector<Hop>& path, LinkIndex link, double weight) {
  for (Hop& hop : path) {
    if (hop.link == link) {
      hop.weight += weight;
      return;
    }
  }
  path.push_back({link, weight});
}

}  // namespace

struct Router::Step {
  std::vector<std::uint32_t> colours;       // by transfer: leaf to spine
  std::vector<std::uint32_t> core_colours;  // spine to core
  struct Way {
    VertexIndex over = 0;  // a leaf between; the destination itself for the direct way
    double share = 0;
  };
  std::map<std::pair<VertexIndex, VertexIndex>, std::vector<Way>> ways;
};

Router::Router(const Fabric& fabric, const RoutingOptions& options)
    : fabric_{&fabric},
      options_{options},
      has_failed_(fabric.links.size(), false),
      table_{fabric} {}

void Router::fail(LinkIndex link) {
  has_failed_[link] = has_failed_[link ^ 1U] = true;
  table_ = RouteTable{*fabric_, has_failed_};
}

void Router::repair(LinkIndex link) {
  has_failed_[link] = has_failed_[link ^ 1U] = false;
  table_ = RouteTable{*fabric_, has_failed_};
}

void Router::route(std::span<const Transfer> step, std::span<std::uint32_t> crowd,
                   std::vector<RoutedFlow>& flows, std::vector<std::uint32_t>& lost) const {
  const Step together = depends_on_step() ? decide_together(step) : Step{};
  for (std::uint32_t i = 0; i < step.size(); ++i) {
    if (!route_one(step[i], i, together, crowd, flows)) lost.push_back(i);
  }
}

bool Router::route_one(const Transfer& transfer, std::uint32_t place, const Step& together,
                       std::span<std::uint32_t> crowd, std::vector<RoutedFlow>& flows) const {
  if (transfer.from == transfer.to) {
    flows.push_back({place, transfer.bytes, {}});
    return true;
  }
  const bool is_local = fabric_->is_local(transfer.from, transfer.to);
  if (options_.routing == Routing::spray && !is_local) {
    RoutedFlow flow{place, transfer.bytes, {}};
    if (!spray(transfer, flow.path)) return false;
    flows.push_back(std::move(flow));
    return true;
  }
  const GpuPort& port = fabric_->ports[transfer.from];
  if (options_.routing == Routing::ideal && !is_local) {
    const LinkIndex in = fabric_->ports[transfer.to].in;
    if (table_.has_failed(port.out) || table_.has_failed(in)) return false;
    flows.push_back({place, transfer.bytes, {{port.out, 1}, {in, 1}}});
    return true;
  }
  const VertexIndex to_leaf = fabric_->ports[transfer.to].leaf;
  if (options_.routing == Routing::two_hop && !is_local && port.leaf != to_leaf &&
      together.ways.count({port.leaf, to_leaf}) > 0) {
    RoutedFlow flow{place, transfer.bytes, {}};
    two_hop(transfer, together, flow.path);
    flows.push_back(std::move(flow));
    return true;
  }
  // Inside a node or a leaf there is nothing to choose, and one connection does.
  const bool is_near = is_local || port.leaf == to_leaf;
  const std::uint32_t count =
      options_.routing == Routing::ecmp && !is_near ? options_.connections : 1;
  std::vector<LinkIndex> links;
  for (std::uint32_t connection = 0; connection < count; ++connection) {
    const std::uint64_t hash = flow_hash(transfer, connection, options_.seed);
    const auto pick = [&](VertexIndex at, std::span<const LinkIndex> candidates,
                          std::size_t stage) -> std::size_t {
      const std::size_t choices = candidates.size();
      switch (options_.routing) {
        case Routing::source_index:
          return (stage == 0 ? port.index_in_leaf : fabric_->vertices[port.leaf].number) % choices;
        case Routing::coloured:
          return (stage == 0 || together.core_colours.empty() ? together.colours
                                                              : together.core_colours)[place] %
                 choices;
        case Routing::adaptive:
          return static_cast<std::size_t>(
              std::min_element(candidates.begin(), candidates.end(),
                               [&](LinkIndex a, LinkIndex b) { return crowd[a] < crowd[b]; }) -
              candidates.begin());
        case Routing::ecmp:
        case Routing::spray:
        case Routing::two_hop:
        case Routing::ideal:
          break;
      }
      return mixed(hash ^ mixed(at)) % choices;
    };
    if (!table_.find_path(transfer.from, transfer.to, links, pick)) return false;
    RoutedFlow flow{place, transfer.bytes / count, {}};
    for (const LinkIndex link : links) {
      flow.path.push_back({link, 1});
      if (!crowd.empty()) ++crowd[link];
    }
    flows.push_back(std::move(flow));
  }
  return true;
}

bool Router::spray(const Transfer& transfer, std::vector<Hop>& path) const {
  const GpuPort& start = fabric_->ports[transfer.from];
  const GpuPort& end = fabric_->ports[transfer.to];
  if (table_.has_failed(start.out) || table_.has_failed(end.in)) return false;
  path.push_back({start.out, 1});
  // Level by level: what arrives at a switch leaves it equally over its links.
  std::map<VertexIndex, double> here{{start.leaf, 1.0}};
  while (here.count(end.leaf) == 0) {
    std::map<VertexIndex, double> next;
    for (const auto& [at, weight] : here) {
      const auto candidates = table_.next_links(at, end.leaf);
      if (candidates.empty()) return false;
      for (const LinkIndex link : candidates) {
        const double part = weight / static_cast<double>(candidates.size());
        path.push_back({link, part});
        next[fabric_->links[link].to] += part;
      }
    }
    here = std::move(next);
  }
  path.push_back({end.in, 1});
  return true;
}

Router::Step Router::decide_together(std::span<const Transfer> step) const {
  Step together;
  if (options_.routing == Routing::coloured) {
    colour(step, together);
  } else {
    weigh_ways(step, together);
  }
  return together;
}

void Router::colour(std::span<const Transfer> step, Step& together) const {
  together.colours.assign(step.size(), 0);
  std::vector<BipartiteEdge> edges;
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; i < step.size(); ++i) {
    const VertexIndex from = fabric_->ports[step[i].from].leaf;
    const VertexIndex to = fabric_->ports[step[i].to].leaf;
    if (from == to || fabric_->is_local(step[i].from, step[i].to)) continue;
    edges.push_back({fabric_->vertices[from].number, fabric_->vertices[to].number});
    places.push_back(i);
  }
  const auto colours = colour_edges(edges);
  std::map<std::uint32_t, std::vector<std::uint32_t>> planes;
  for (std::size_t i = 0; i < places.size(); ++i) {
    together.colours[places[i]] = colours[i];
    planes[colours[i]].push_back(places[i]);
  }
  const bool has_cores = std::any_of(fabric_->vertices.begin(), fabric_->vertices.end(),
                                     [](const Vertex& v) { return v.kind == VertexKind::core; });
  if (!has_cores) return;
  // The transfers of one colour meet in one spine of each pod; they are spread over its cores.
  together.core_colours.assign(step.size(), 0);
  for (const auto& plane : planes) {
    std::vector<BipartiteEdge> between;
    std::vector<std::uint32_t> crossing;
    for (const std::uint32_t i : plane.second) {
      const std::uint32_t from = fabric_->vertices[fabric_->ports[step[i].from].leaf].pod;
      const std::uint32_t to = fabric_->vertices[fabric_->ports[step[i].to].leaf].pod;
      if (from == to) continue;
      between.push_back({from, to});
      crossing.push_back(i);
    }
    const auto found = colour_edges(between);
    for (std::size_t i = 0; i < crossing.size(); ++i) together.core_colours[crossing[i]] = found[i];
  }
}

double Router::joint_capacity(VertexIndex from, VertexIndex to) const {
  double sum = 0;
  for (const LinkIndex link : table_.next_links(from, to)) {
    if (fabric_->links[link].to == to) sum += fabric_->links[link].capacity;
  }
  return sum;
}

void Router::weigh_ways(std::span<const Transfer> step, Step& together) const {
  std::map<std::pair<VertexIndex, VertexIndex>, double> wanted;
  for (const Transfer& transfer : step) {
    const VertexIndex from = fabric_->ports[transfer.from].leaf;
    const VertexIndex to = fabric_->ports[transfer.to].leaf;
    if (from == to || fabric_->is_local(transfer.from, transfer.to)) continue;
    wanted[{from, to}] += fabric_->links[fabric_->ports[transfer.from].out].capacity;
  }
  std::vector<VertexIndex> leaves;
  for (VertexIndex vertex = 0; vertex < fabric_->vertices.size(); ++vertex) {
    if (fabric_->vertices[vertex].kind == VertexKind::leaf) leaves.push_back(vertex);
  }
  for (const auto& [pair, demand] : wanted) {
    const double direct = joint_capacity(pair.first, pair.second);
    double around = 0;
    std::vector<Step::Way> ways;
    for (const VertexIndex leaf : leaves) {
      if (leaf == pair.first || leaf == pair.second) continue;
      const double room =
          std::min(joint_capacity(pair.first, leaf), joint_capacity(leaf, pair.second));
      if (room > 0) ways.push_back({leaf, room});
      around += room;
    }
    // Leaves that are not joined directly, nor over one other, are routed as usual.
    if (direct == 0 && around == 0) continue;
    double stays = std::min(1.0, options_.threshold * direct / demand);
    if (around == 0) stays = 1;
    for (Step::Way& way : ways) way.share *= (1 - stays) / around;
    if (stays == 1) ways.clear();
    if (stays > 0) ways.push_back({pair.second, stays});
    together.ways[pair] = std::move(ways);
  }
}

void Router::two_hop(const Transfer& transfer, const Step& together, std::vector<Hop>& path) const {
  const GpuPort& start = fabric_->ports[transfer.from];
  const GpuPort& end = fabric_->ports[transfer.to];
  path.push_back({start.out, 1});
  for (const Step::Way& way : together.ways.at({start.leaf, end.leaf})) {
    VertexIndex at = start.leaf;
    for (const VertexIndex next : {way.over, end.leaf}) {
      if (at == next) continue;
      const double capacity = joint_capacity(at, next);
      for (const LinkIndex link : table_.next_links(at, next)) {
        if (fabric_->links[link].to != next) continue;
        add_hop(path, link, way.share * fabric_->links[link].capacity / capacity);
      }
      at = next;
    }
  }
  path.push_back({end.in, 1});
}

}  // namespace weir::network
