// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/collective_time.h"

#include <algorithm>
#include <cmath>

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
  const int between = nodes_of(fabric, group) - 1;
  const int inside = group.size - 1 - between;
  return fabric.first_hop_s + inside * kLinkHop + between * kNetworkHop;
}

double ring_bytes_s(const Fabric& fabric, RankGroup group) {
  if (nodes_of(fabric, group) == 1) return fabric.link_bytes_s;
  const int members = members_on_node(fabric, group);
  const double sharing = static_cast<double>(fabric.gpus_per_node) / members;
  const double network = fabric.node_bytes_s() / sharing / congestion(group);
  return members > 1 ? std::min(fabric.link_bytes_s, network) : network;
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

int members_on_node(const Fabric& fabric, RankGroup group) {
  return std::min(group.size, std::max(1, fabric.gpus_per_node / group.stride));
}

int nodes_of(const Fabric& fabric, RankGroup group) {
  const int members = members_on_node(fabric, group);
  return (group.size + members - 1) / members;
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
  const int members = members_on_node(fabric, group);
  const double inside = bytes * (members - 1) / group.size / fabric.link_bytes_s;
  if (members == group.size) return inside + fabric.first_hop_s;
  // Every GPU of the node sends what belongs to ranks on other nodes.
  const double leaving = fabric.gpus_per_node * bytes * (group.size - members) / group.size;
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
