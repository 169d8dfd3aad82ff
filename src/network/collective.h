// SPDX-License-Identifier: Apache-2.0
//
// Collectives as steps of transfers between ranks. A buffer of S bytes per rank is cut into equal
// chunks; a move says which chunks go from whom to whom, and whether the receiver adds them to its
// own or takes them as they are. So one description gives the bytes of each step, and can be played
// symbolically: every rank must end with every contribution exactly once (collective_test.cpp).
//
//   ring all-reduce         2(n-1) steps, n moves i -> i+1 of S/n
//   ring all-gather, reduce-scatter   n-1 of these (S is the full result)
//   halving-doubling        2 log2 n steps i <-> i xor 2^k of S/2, S/4, ... and back; when n is no
//                           power of two, the extra ranks first hand their buffer to a partner
//                           and get the result at the end
//   double binary tree      two trees, each with half of the buffer in pipelined chunks, up and
//                           down; a leaf of one is an inner rank of the other
//   hierarchical            reduce-scatter inside each node, a ring all-reduce per rail across
//                           nodes, all-gather inside
//   all-to-all              n-1 steps i -> i+s of S/n, or all at once
//   broadcast, reduce       a chain, in chunks
//   pipeline                one step, rank i -> i+1, S bytes
#pragma once

#include <cstdint>
#include <vector>

#include "domain/network_mix.h"

namespace weir::network {

struct Move {
  std::uint32_t from = 0;  // ranks
  std::uint32_t to = 0;
  std::uint32_t first_chunk = 0;
  std::uint32_t chunks = 1;
  bool is_added = false;
};

struct Collective {
  CollectiveKind kind = CollectiveKind::ring_all_reduce;
  std::uint32_t ranks = 0;
  std::uint32_t chunks = 1;  // of a rank's buffer
  std::vector<std::vector<Move>> steps;

  // Of `buffer` bytes per rank.
  double bytes_of(const Move& move, double buffer) const { return buffer * move.chunks / chunks; }
  // Most bytes that one rank sends.
  double most_sent(double buffer) const;
};

struct CollectiveOptions {
  std::uint32_t ranks_per_node = 1;   // hierarchical; divides the ranks
  std::uint32_t pipeline_chunks = 8;  // tree (per tree), broadcast, reduce
};

// Requires: ranks >= 2.
Collective make_collective(CollectiveKind kind, std::uint32_t ranks,
                           const CollectiveOptions& options = {});

// Bus bandwidth as NCCL's tests report it: bytes / time, times what makes it comparable with the
// speed of a link: 2(n-1)/n for all-reduce, (n-1)/n for gather, scatter and all-to-all, else 1.
double bus_factor(CollectiveKind kind, std::uint32_t ranks);

}  // namespace weir::network
