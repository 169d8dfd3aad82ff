// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/collective_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace weir::predict {
namespace {

constexpr double kLinkHop = 1.9e-6;
constexpr double kNetworkHop = 4.0e-6;
// Ethernet, RoCE and InfiniBand headers, and what NCCL reaches of the rest.
constexpr double kNetworkShare = 0.9;
constexpr int kUsualNode = 8;

// InternEvo's simulator divides the network by this, by how far the group reaches.
double congestion(RankGroup group) {
  const int ranks = group.size * group.stride;
  if (ranks <= 16) return 1.0;
  if (ranks <= 32) return 1.1;
  if (ranks <= 64) return 1.2;
  if (ranks <= 256) return 1.3;
  if (ranks <= 512) return 1.4;
  return 1.5;
}

double ring_latency(const Fabric& fabric, RankGroup group) {
  const int between = placed(fabric, group).nodes - 1;
  const int inside = group.size - 1 - between;
  return fabric.first_hop_s + inside * kLinkHop + between * kNetworkHop;
}

double ring_bytes_s(const Fabric& fabric, RankGroup group) {
  const GroupPlace place = placed(fabric, group);
  if (place.nodes == 1) return fabric.link_bytes_s;
  const double network = fabric.node_bytes_s() / place.leaving / congestion(group);
  return place.members > 1 ? std::min(fabric.link_bytes_s, network) : network;
}

double part_elsewhere(RankGroup group) {
  return static_cast<double>(group.size - 1) / group.size;
}

}  // namespace

Fabric usual_fabric(const GpuType& gpu, int gpus_per_node) {
  const int nics = std::max(1, gpu.nics * std::min(gpus_per_node, kUsualNode) / kUsualNode);
  return {gpus_per_node, gpu.link_gb_s * 1e9 * gpu.link_efficiency,
          gpu.nic_gbit_s * 1e9 / 8 * kNetworkShare, nics, gpu.latency_us * 1e-6};
}

GroupPlace placed(const Fabric& fabric, RankGroup group) {
  const int node = fabric.gpus_per_node;
  const std::int64_t block = std::int64_t{group.size} * group.stride;
  if (node % block == 0) return {1, group.size, 0};
  const bool is_even = block % node == 0;
  // Blocks begin at multiples of this within a node, so the last group of the worst begins that far from its end.
  const std::int64_t gap = std::gcd(block, std::int64_t{node});
  const std::int64_t begin = std::min(std::int64_t{node}, node - gap + group.stride) - 1;
  const auto nodes = std::min<std::int64_t>(group.size, (begin + block - group.stride) / node + 1);
  if (nodes == 1) return {1, group.size, 0};
  // At each end of a node that is not one of a group there is another one of these.
  const int leaving = static_cast<int>(
      std::min<std::int64_t>(node, (is_even ? 1 : 2) * std::int64_t{group.stride}));
  const int most = is_even ? group.size : std::max(1, group.size / 2);
  return {static_cast<int>(nodes), std::clamp(node / leaving, 1, most), leaving};
}

double all_gather_seconds(const Fabric& fabric, RankGroup group, double bytes) {
  if (group.size <= 1 || bytes <= 0) return 0;
  return bytes * part_elsewhere(group) / ring_bytes_s(fabric, group) + ring_latency(fabric, group);
}

double reduce_scatter_seconds(const Fabric& fabric, RankGroup group, double bytes) {
  return all_gather_seconds(fabric, group, bytes);
}

double all_reduce_seconds(const Fabric& fabric, RankGroup group, double bytes) {
  return 2 * all_gather_seconds(fabric, group, bytes);
}

double broadcast_seconds(const Fabric& fabric, RankGroup group, double bytes) {
  if (group.size <= 1 || bytes <= 0) return 0;
  return bytes / ring_bytes_s(fabric, group) + ring_latency(fabric, group);
}

double all_to_all_seconds(const Fabric& fabric, RankGroup group, double bytes) {
  if (group.size <= 1 || bytes <= 0) return 0;
  const GroupPlace place = placed(fabric, group);
  const double inside = bytes * (place.members - 1) / group.size / fabric.link_bytes_s;
  if (place.nodes == 1) return inside + fabric.first_hop_s;
  // Every GPU of a group that leaves the node sends what belongs to ranks on other nodes.
  const double leaving =
      bytes * place.leaving * place.members * (group.size - place.members) / group.size;
  const double network = leaving / (fabric.node_bytes_s() / congestion(group));
  return std::max(inside, network) + fabric.first_hop_s + kNetworkHop;
}

double network_transfer_seconds(const Fabric& fabric, double bytes, int senders) {
  if (bytes <= 0) return 0;
  const double rate = std::min(fabric.nic_bytes_s, fabric.node_bytes_s() / std::max(1, senders));
  return bytes / rate + kNetworkHop;
}

double link_transfer_seconds(const Fabric& fabric, double bytes) {
  return bytes <= 0 ? 0 : bytes / fabric.link_bytes_s + kLinkHop;
}

}  // namespace weir::predict
