// SPDX-License-Identifier: Apache-2.0
//
// Collectives and transfers by latency and bandwidth, level by level: links inside a node, network between nodes.
//
//   all-gather, reduce-scatter   bytes (n-1)/n / bw + latency(n-1 steps)
//   all-reduce                   twice that
//   broadcast                    bytes / bw + latency(n-1 steps)
//   all-to-all                   bytes (n-1)/n over the links, or what leaves the node over its network
// A ring through several nodes goes at the slower of link and the network's share of this group: groups that are
// placed alike share the node's network. Latencies are those of NCCL's tuning table for rings (LL128: 1.9 us a hop
// inside, 4.0 us between nodes, 14 us to begin). Larger networks get congested: the divisors of InternEvo's
// simulator. docs/models/transformer.md.
#pragma once

#include "predict/transformer/gpu_type.h"

namespace weir::predict {

struct Fabric {
  int gpus_per_node = 8;
  double link_bytes_s = 0;     // what a collective gets inside a node, of one GPU
  double nic_bytes_s = 0;      // of one network card
  int nics = 1;                // of a node
  double first_hop_s = 14e-6;  // until a collective moves bytes

  double node_bytes_s() const { return nic_bytes_s * nics; }
};

// The usual node of that GPU; a smaller node has its part of the cards, one at least.
Fabric usual_fabric(const GpuType& gpu, int gpus_per_node);

// Ranks r, r + stride, r + 2 stride, ...: `size` of them.
struct RankGroup {
  int size = 1;
  int stride = 1;
};

// How the worst placed of the groups that share all ranks in this way lies on nodes, which ranks fill one after the other.
struct GroupPlace {
  int nodes = 1;    // touched by it
  int members = 1;  // of it on a node that it leaves, or all
  int leaving = 0;  // groups of one node that have ranks elsewhere, too
};
GroupPlace placed(const Fabric& fabric, RankGroup group);

// Seconds. `bytes` is the whole tensor (gathered, reduced, sent), of an all-to-all what one rank holds.
double all_gather_seconds(const Fabric& fabric, RankGroup group, double bytes);
double reduce_scatter_seconds(const Fabric& fabric, RankGroup group, double bytes);
double all_reduce_seconds(const Fabric& fabric, RankGroup group, double bytes);
double broadcast_seconds(const Fabric& fabric, RankGroup group, double bytes);
double all_to_all_seconds(const Fabric& fabric, RankGroup group, double bytes);

// One transfer while `senders` GPUs of the node send to other nodes at the same time.
double network_transfer_seconds(const Fabric& fabric, double bytes, int senders);
double link_transfer_seconds(const Fabric& fabric, double bytes);

}  // namespace weir::predict
