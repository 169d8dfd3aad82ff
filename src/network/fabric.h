// SPDX-License-Identifier: Apache-2.0
//
// A fabric as a graph: GPUs (each with its network port), the switch inside a node, leaves, spines
// and cores, and links of one direction each. GPUs are vertices 0 to gpus-1 and forward nothing.
//
//   auto fabric = build_fabric(leaf_spine_spec(16, 16, 16));
//
// Between GPUs of one node traffic stays in the node. Otherwise it leaves by the GPU's one port.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "domain/fabric_spec.h"
#include "domain/result.h"
#include "network/flow_graph.h"

namespace weir::network {

using GpuIndex = std::uint32_t;
using VertexIndex = std::uint32_t;

enum class VertexKind : std::uint8_t { gpu, node_switch, leaf, spine, core };

struct Vertex {
  VertexKind kind = VertexKind::gpu;
  std::uint32_t number = 0;  // among its kind
  std::uint32_t pod = 0;
  std::string name;  // as listed; empty for generated ones
};

struct FabricLink {
  VertexIndex from = 0;
  VertexIndex to = 0;
  double capacity = 0;  // bytes per second
};

// Where a GPU hangs.
struct GpuPort {
  VertexIndex leaf = 0;
  std::uint32_t index_in_leaf = 0;
  std::uint32_t node = 0;
  LinkIndex out = 0;  // to the leaf
  LinkIndex in = 0;
  LinkIndex local_out = 0;  // to the switch inside the node, where there is one
  LinkIndex local_in = 0;
};

struct Fabric {
  std::string name;
  std::vector<Vertex> vertices;
  std::vector<FabricLink> links;
  std::vector<GpuPort> ports;  // by GPU
  std::uint32_t gpus_per_node = 1;

  std::uint32_t gpus() const { return static_cast<std::uint32_t>(ports.size()); }
  bool is_local(GpuIndex a, GpuIndex b) const {
    return gpus_per_node > 1 && ports[a].node == ports[b].node;
  }
  std::vector<double> capacities() const;
  // "leaf 3", "gpu 17"
  std::string vertex_name(VertexIndex vertex) const;
  // "leaf 3 > spine 5"
  std::string link_name(LinkIndex link) const;
};

// Bad input when GPUs cannot reach each other, or when there are none, or too many.
Result<Fabric> build_fabric(const FabricSpec& spec);

inline constexpr std::int64_t kMostFabricGpus = 1'000'000;
inline constexpr std::int64_t kMostFabricLinks = 16'000'000;

// One link of a GPU's rate for each GPU of a leaf and spine.
FabricSpec leaf_spine_spec(std::int32_t leaves, std::int32_t gpus_per_leaf, std::int32_t spines);

}  // namespace weir::network
