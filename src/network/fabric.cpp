// SPDX-License-Identifier: Apache-2.0
#include "network/fabric.h"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace weir::network {
namespace {

std::string_view kind_name(VertexKind kind) {
  switch (kind) {
    case VertexKind::gpu:
      return "gpu";
    case VertexKind::node_switch:
      return "node";
    case VertexKind::leaf:
      return "leaf";
    case VertexKind::spine:
      return "spine";
    case VertexKind::core:
      return "core";
  }
  return "";
}

class FabricBuilder {
 public:
  explicit FabricBuilder(const FabricSpec& spec) : spec_{spec} { fabric_.name = spec.name; }

  Result<Fabric> build() {
    if (const auto size = too_large(); !size.empty()) {
      return refuse(
          "fabric", size,
          fmt::format("1 to {} GPUs and at most {} links", kMostFabricGpus, kMostFabricLinks));
    }
    switch (spec_.kind) {
      case FabricKind::leaf_spine:
        build_leaf_spine();
        break;
      case FabricKind::fat_tree:
        build_fat_tree();
        break;
      case FabricKind::rail:
        build_rail();
        break;
      case FabricKind::optical:
        build_optical();
        break;
      case FabricKind::links:
        build_listed();
        break;
    }
    check_connected();
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(fabric_);
  }

 private:
  static tl::unexpected<Error> refuse(std::string field, std::string found, std::string expected) {
    return bad_input(Diagnostic{"", 0, std::move(field), std::move(found), std::move(expected)});
  }

  std::string too_large() const {
    const auto leaves = static_cast<std::int64_t>(spec_.leaves);
    const auto half = static_cast<std::int64_t>(spec_.ports / 2);
    std::int64_t gpus = leaves * spec_.gpus_per_leaf;
    std::int64_t links = 4 * gpus + 2 * leaves * spec_.spines * spec_.parallel_links;
    if (spec_.kind == FabricKind::fat_tree) {
      gpus = spec_.ports * half * half;
      links = 8 * gpus;
    } else if (spec_.kind == FabricKind::rail) {
      const std::int64_t rails = static_cast<std::int64_t>(spec_.pods) * spec_.gpus_per_node;
      gpus = rails * spec_.nodes_per_pod;
      links = 4 * gpus + 2 * rails * spec_.spines * spec_.parallel_links;
    } else if (spec_.kind == FabricKind::optical) {
      links = 4 * gpus + 2 * static_cast<std::int64_t>(spec_.circuits.size());
    } else if (spec_.kind == FabricKind::links) {
      gpus = static_cast<std::int64_t>(spec_.gpus.size());
      links = 2 * static_cast<std::int64_t>(spec_.links.size());
    }
    if (gpus < 1 || gpus > kMostFabricGpus) return fmt::format("{} GPUs", gpus);
    if (links > kMostFabricLinks) return fmt::format("{} links", links);
    return "";
  }

  VertexIndex add_vertex(VertexKind kind, std::uint32_t pod = 0, std::string name = {}) {
    fabric_.vertices.push_back({kind, counts_[kind]++, pod, std::move(name)});
    return static_cast<VertexIndex>(fabric_.vertices.size() - 1);
  }
  std::vector<VertexIndex> add_vertices(VertexKind kind, std::int64_t count) {
    std::vector<VertexIndex> made;
    for (std::int64_t i = 0; i < count; ++i) made.push_back(add_vertex(kind));
    return made;
  }
  // There and back; returns there.
  LinkIndex join(VertexIndex a, VertexIndex b, BytesPerSecond rate) {
    fabric_.links.push_back({a, b, rate.value});
    fabric_.links.push_back({b, a, rate.value});
    return static_cast<LinkIndex>(fabric_.links.size() - 2);
  }

  void add_gpus(std::int64_t count) {
    add_vertices(VertexKind::gpu, count);
    fabric_.ports.resize(static_cast<std::size_t>(count));
    fabric_.gpus_per_node = static_cast<std::uint32_t>(spec_.gpus_per_node);
  }
  void attach(GpuIndex gpu, VertexIndex leaf, BytesPerSecond rate) {
    GpuPort& port = fabric_.ports[gpu];
    port.leaf = leaf;
    port.index_in_leaf = gpus_on_[leaf]++;
    port.out = join(gpu, leaf, rate);
    port.in = port.out + 1;
  }
  // GPUs in a row share nodes, as many as a node has.
  void add_node_switches() {
    VertexIndex inside = 0;
    for (GpuIndex gpu = 0; gpu < fabric_.gpus(); ++gpu) {
      GpuPort& port = fabric_.ports[gpu];
      port.node = gpu / fabric_.gpus_per_node;
      if (fabric_.gpus_per_node == 1) continue;
      if (gpu % fabric_.gpus_per_node == 0) inside = add_vertex(VertexKind::node_switch);
      port.local_out = join(gpu, inside, spec_.local);
      port.local_in = port.local_out + 1;
    }
  }
  void join_levels(const std::vector<VertexIndex>& leaves, const std::vector<VertexIndex>& spines) {
    for (const VertexIndex leaf : leaves) {
      for (const VertexIndex spine : spines) {
        for (std::int32_t i = 0; i < spec_.parallel_links; ++i) join(leaf, spine, spec_.uplink);
      }
    }
  }
  void attach_in_rows(const std::vector<VertexIndex>& leaves, std::int64_t gpus_per_leaf) {
    for (GpuIndex gpu = 0; gpu < fabric_.gpus(); ++gpu) {
      attach(gpu, leaves[gpu / static_cast<std::size_t>(gpus_per_leaf)], spec_.nic);
    }
    add_node_switches();
  }

  void build_leaf_spine() {
    add_gpus(static_cast<std::int64_t>(spec_.leaves) * spec_.gpus_per_leaf);
    const auto leaves = add_vertices(VertexKind::leaf, spec_.leaves);
    const auto spines = add_vertices(VertexKind::spine, spec_.spines);
    attach_in_rows(leaves, spec_.gpus_per_leaf);
    join_levels(leaves, spines);
  }

  void build_fat_tree() {
    const std::int32_t half = spec_.ports / 2;
    add_gpus(static_cast<std::int64_t>(spec_.ports) * half * half);
    std::vector<VertexIndex> leaves;
    std::vector<VertexIndex> spines;
    for (std::int32_t i = 0; i < spec_.ports * half; ++i) {
      leaves.push_back(add_vertex(VertexKind::leaf, static_cast<std::uint32_t>(i / half)));
    }
    for (std::int32_t i = 0; i < spec_.ports * half; ++i) {
      spines.push_back(add_vertex(VertexKind::spine, static_cast<std::uint32_t>(i / half)));
    }
    const auto cores = add_vertices(VertexKind::core, static_cast<std::int64_t>(half) * half);
    attach_in_rows(leaves, half);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const std::size_t first = i / static_cast<std::size_t>(half) * static_cast<std::size_t>(half);
      for (std::size_t j = 0; j < static_cast<std::size_t>(half); ++j) {
        join(leaves[i], spines[first + j], spec_.uplink);
      }
    }
    for (std::size_t i = 0; i < spines.size(); ++i) {
      const std::size_t first = i % static_cast<std::size_t>(half) * static_cast<std::size_t>(half);
      for (std::size_t j = 0; j < static_cast<std::size_t>(half); ++j) {
        join(spines[i], cores[first + j], spec_.uplink);
      }
    }
  }

  void build_rail() {
    const std::int32_t rails = spec_.gpus_per_node;
    const std::int32_t in_pod = rails * spec_.nodes_per_pod;
    add_gpus(static_cast<std::int64_t>(in_pod) * spec_.pods);
    std::vector<VertexIndex> leaves;
    for (std::int32_t i = 0; i < spec_.pods * rails; ++i) {
      leaves.push_back(add_vertex(VertexKind::leaf, static_cast<std::uint32_t>(i / rails)));
    }
    const auto spines = add_vertices(VertexKind::spine, spec_.spines);
    for (GpuIndex gpu = 0; gpu < fabric_.gpus(); ++gpu) {
      const auto pod = static_cast<std::int32_t>(gpu) / in_pod;
      const auto rail = static_cast<std::int32_t>(gpu) % rails;
      attach(gpu, leaves[static_cast<std::size_t>(pod * rails + rail)], spec_.nic);
    }
    add_node_switches();
    join_levels(leaves, spines);
  }

  void build_optical() {
    add_gpus(static_cast<std::int64_t>(spec_.leaves) * spec_.gpus_per_leaf);
    const auto leaves = add_vertices(VertexKind::leaf, spec_.leaves);
    const auto spines = add_vertices(VertexKind::spine, spec_.spines);
    attach_in_rows(leaves, spec_.gpus_per_leaf);
    for (const OpticalCircuit& circuit : spec_.circuits) {
      const auto& ends = circuit.is_direct ? leaves : spines;
      join(leaves[static_cast<std::size_t>(circuit.leaf)],
           ends[static_cast<std::size_t>(circuit.end)], spec_.uplink);
    }
  }

  void build_listed() {
    add_gpus(static_cast<std::int64_t>(spec_.gpus.size()));
    fabric_.gpus_per_node = 1;
    std::map<std::string, VertexIndex, std::less<>> known;
    for (std::size_t i = 0; i < spec_.gpus.size(); ++i) {
      fabric_.vertices[i].name = spec_.gpus[i];
      known[spec_.gpus[i]] = static_cast<VertexIndex>(i);
      fabric_.ports[i].node = static_cast<std::uint32_t>(i);
    }
    const auto vertex = [&](const std::string& name) {
      const auto found = known.find(name);
      if (found != known.end()) return found->second;
      return known[name] = add_vertex(VertexKind::leaf, 0, name);
    };
    std::vector<int> links_of(spec_.gpus.size(), 0);
    for (const ListedLink& link : spec_.links) {
      const VertexIndex ends[2] = {vertex(link.from), vertex(link.to)};
      const bool is_gpu[2] = {ends[0] < fabric_.gpus(), ends[1] < fabric_.gpus()};
      for (int i = 0; i < 2; ++i) {
        if (is_gpu[i]) ++links_of[ends[i]];
      }
      if (is_gpu[0] && is_gpu[1]) {
        mistakes_.add(
            {"", 0, "links", fmt::format("{} to {}", link.from, link.to), "a switch between GPUs"});
      } else if (is_gpu[0] || is_gpu[1]) {
        attach(is_gpu[0] ? ends[0] : ends[1], is_gpu[0] ? ends[1] : ends[0], link.rate);
      } else {
        join(ends[0], ends[1], link.rate);
      }
    }
    for (std::size_t i = 0; i < links_of.size(); ++i) {
      if (links_of[i] == 1) continue;
      mistakes_.add({"", 0, "links", fmt::format("{} of GPU {}", links_of[i], spec_.gpus[i]),
                     "exactly one link for each GPU"});
    }
  }

  void check_connected() {
    if (!mistakes_.empty()) return;
    std::vector<std::vector<VertexIndex>> next(fabric_.vertices.size());
    for (const FabricLink& link : fabric_.links) {
      // Not through GPUs, and not only inside a node.
      if (fabric_.vertices[link.from].kind != VertexKind::node_switch &&
          fabric_.vertices[link.to].kind != VertexKind::node_switch) {
        next[link.from].push_back(link.to);
      }
    }
    std::vector<bool> is_reached(fabric_.vertices.size(), false);
    std::vector<VertexIndex> reached{0};
    is_reached[0] = true;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const VertexIndex vertex : next[reached[i]]) {
        if (!is_reached[vertex]) reached.push_back(vertex);
        is_reached[vertex] = true;
      }
    }
    GpuIndex lost = 0;
    GpuIndex first = 0;
    for (GpuIndex gpu = fabric_.gpus(); gpu-- > 0;) {
      if (is_reached[gpu]) continue;
      ++lost;
      first = gpu;
    }
    if (lost == 0) return;
    mistakes_.add({"", 0, "fabric",
                   fmt::format("{} of {} GPUs that {} cannot reach, the first is {}", lost,
                               fabric_.gpus(), fabric_.vertex_name(0), fabric_.vertex_name(first)),
                   "links or circuits that join all of them"});
  }

  const FabricSpec& spec_;
  Fabric fabric_;
  Diagnostics mistakes_;
  std::map<VertexKind, std::uint32_t> counts_;
  std::map<VertexIndex, std::uint32_t> gpus_on_;
};

}  // namespace

std::vector<double> Fabric::capacities() const {
  std::vector<double> made;
  made.reserve(links.size());
  for (const FabricLink& link : links) made.push_back(link.capacity);
  return made;
}

std::string Fabric::vertex_name(VertexIndex vertex) const {
  const Vertex& named = vertices[vertex];
  return named.name.empty() ? fmt::format("{} {}", kind_name(named.kind), named.number)
                            : named.name;
}

std::string Fabric::link_name(LinkIndex link) const {
  return fmt::format("{} > {}", vertex_name(links[link].from), vertex_name(links[link].to));
}

Result<Fabric> build_fabric(const FabricSpec& spec) {
  return FabricBuilder{spec}.build();
}

FabricSpec leaf_spine_spec(std::int32_t leaves, std::int32_t gpus_per_leaf, std::int32_t spines) {
  FabricSpec spec;
  spec.name = fmt::format("leaf-spine:{}x{}x{}", leaves, gpus_per_leaf, spines);
  spec.leaves = leaves;
  spec.gpus_per_leaf = gpus_per_leaf;
  spec.spines = spines;
  return spec;
}

}  // namespace weir::network
