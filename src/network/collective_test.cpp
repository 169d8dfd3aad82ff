// SPDX-License-Identifier: Apache-2.0
#include "network/collective.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace weir::network {
namespace {

// What each rank holds of each chunk: how often each rank's contribution is in it.
class Buffers {
 public:
  Buffers(std::uint32_t ranks, std::uint32_t chunks)
      : ranks_{ranks}, chunks_{chunks}, counts_(std::size_t{ranks} * chunks * ranks, 0) {}

  int& at(std::uint32_t rank, std::uint32_t chunk, std::uint32_t of) {
    return counts_[(std::size_t{rank} * chunks_ + chunk) * ranks_ + of];
  }
  // All moves of a step happen together.
  void play(const std::vector<Move>& step) {
    const Buffers before = *this;
    for (const Move& move : step) {
      for (std::uint32_t chunk = move.first_chunk; chunk < move.first_chunk + move.chunks;
           ++chunk) {
        for (std::uint32_t of = 0; of < ranks_; ++of) {
          const int sent = Buffers{before}.at(move.from, chunk, of);
          at(move.to, chunk, of) = move.is_added ? at(move.to, chunk, of) + sent : sent;
        }
      }
    }
  }
  bool is_complete(std::uint32_t rank, std::uint32_t chunk) {
    for (std::uint32_t of = 0; of < ranks_; ++of) {
      if (at(rank, chunk, of) != 1) return false;
    }
    return true;
  }

 private:
  std::uint32_t ranks_;
  std::uint32_t chunks_;
  std::vector<int> counts_;
};

// Every rank starts with its own contribution in every chunk.
Buffers played(const Collective& collective) {
  Buffers buffers{collective.ranks, collective.chunks};
  for (std::uint32_t rank = 0; rank < collective.ranks; ++rank) {
    for (std::uint32_t chunk = 0; chunk < collective.chunks; ++chunk)
      buffers.at(rank, chunk, rank) = 1;
  }
  for (const auto& step : collective.steps) buffers.play(step);
  return buffers;
}

TEST(Collective, AllReduceGivesEveryRankEveryContributionOnce) {
  for (std::uint32_t ranks = 2; ranks <= 17; ++ranks) {
    for (const CollectiveKind kind :
         {CollectiveKind::ring_all_reduce, CollectiveKind::halving_doubling,
          CollectiveKind::double_tree, CollectiveKind::hierarchical}) {
      for (std::uint32_t per_node = 1; per_node <= ranks; ++per_node) {
        const bool is_used =
            kind == CollectiveKind::hierarchical ? ranks % per_node == 0 : per_node == 1;
        if (!is_used) continue;
        const Collective made = make_collective(kind, ranks, {per_node, 3});
        Buffers buffers = played(made);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          for (std::uint32_t chunk = 0; chunk < made.chunks; ++chunk) {
            ASSERT_TRUE(buffers.is_complete(rank, chunk))
                << kNetworkCollectiveNames[static_cast<int>(kind)] << " of " << ranks << ", "
                << per_node << " per node: rank " << rank << ", chunk " << chunk;
          }
        }
      }
    }
  }
}

TEST(Collective, ReduceScatterLeavesEachRankItsOwnChunk) {
  for (std::uint32_t ranks = 2; ranks <= 17; ++ranks) {
    Buffers buffers = played(make_collective(CollectiveKind::ring_reduce_scatter, ranks));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) ASSERT_TRUE(buffers.is_complete(rank, rank));
  }
}

TEST(Collective, ReduceGivesTheFirstRankEverything) {
  for (std::uint32_t ranks = 2; ranks <= 17; ++ranks) {
    Buffers buffers = played(make_collective(CollectiveKind::reduce, ranks, {1, 4}));
    for (std::uint32_t chunk = 0; chunk < 4; ++chunk) ASSERT_TRUE(buffers.is_complete(0, chunk));
  }
}

TEST(Collective, AllGatherAndBroadcastBringChunksToEveryRank) {
  for (std::uint32_t ranks = 2; ranks <= 17; ++ranks) {
    for (const CollectiveKind kind : {CollectiveKind::ring_all_gather, CollectiveKind::broadcast}) {
      const bool is_gather = kind == CollectiveKind::ring_all_gather;
      const Collective made = make_collective(kind, ranks, {1, 5});
      Buffers buffers{ranks, made.chunks};
      for (std::uint32_t chunk = 0; chunk < made.chunks; ++chunk) {
        const std::uint32_t owner = is_gather ? chunk : 0;
        buffers.at(owner, chunk, owner) = 1;
      }
      for (const auto& step : made.steps) buffers.play(step);
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        for (std::uint32_t chunk = 0; chunk < made.chunks; ++chunk) {
          for (std::uint32_t of = 0; of < ranks; ++of) {
            ASSERT_EQ(buffers.at(rank, chunk, of), of == (is_gather ? chunk : 0) ? 1 : 0);
          }
        }
      }
    }
  }
}

// A step's receivers write where senders of later steps do not read: each pair meets exactly once.
TEST(Collective, AllToAllSendsEveryPairItsChunkOnce) {
  for (std::uint32_t ranks = 2; ranks <= 17; ++ranks) {
    for (const CollectiveKind kind :
         {CollectiveKind::all_to_all, CollectiveKind::all_to_all_at_once}) {
      std::vector<int> sent(std::size_t{ranks} * ranks, 0);
      for (const auto& step : make_collective(kind, ranks).steps) {
        std::vector<int> receives(ranks, 0);
        for (const Move& move : step) {
          ++sent[move.from * ranks + move.to];
          ++receives[move.to];
          ASSERT_EQ(move.first_chunk, move.to);
        }
        for (const int count : receives) {
          ASSERT_EQ(count, kind == CollectiveKind::all_to_all ? 1 : static_cast<int>(ranks) - 1);
        }
      }
      for (std::uint32_t i = 0; i < ranks * ranks; ++i)
        ASSERT_EQ(sent[i], i % (ranks + 1) == 0 ? 0 : 1);
    }
  }
}

TEST(Collective, BytesPerRankAreThoseOfTheTable) {
  const double buffer = 1 << 20;
  for (std::uint32_t ranks = 2; ranks <= 17; ++ranks) {
    const double n = ranks;
    const auto sent = [&](CollectiveKind kind) {
      return make_collective(kind, ranks).most_sent(buffer);
    };
    EXPECT_NEAR(sent(CollectiveKind::ring_all_reduce), 2 * (n - 1) / n * buffer, 1);
    EXPECT_NEAR(sent(CollectiveKind::ring_all_gather), (n - 1) / n * buffer, 1);
    EXPECT_NEAR(sent(CollectiveKind::ring_reduce_scatter), (n - 1) / n * buffer, 1);
    EXPECT_NEAR(sent(CollectiveKind::all_to_all), (n - 1) / n * buffer, 1);
    EXPECT_NEAR(sent(CollectiveKind::pipeline), buffer, 1);
    const double z = std::bit_floor(ranks);
    const double result_back = std::has_single_bit(ranks) ? 0 : buffer;
    EXPECT_NEAR(sent(CollectiveKind::halving_doubling), 2 * (z - 1) / z * buffer + result_back, 1);
  }
  // Inside 4 ranks: 3/4 out and 3/4 in; across 3 nodes 2 * 2/3 of a quarter.
  const Collective made = make_collective(CollectiveKind::hierarchical, 12, {4, 8});
  EXPECT_NEAR(made.most_sent(buffer), buffer * (1.5 + 4.0 / 3 / 4), 1);
  // A rank of both trees sends up once per tree and down to at most two children of one tree (the
  // root of one is inner in the other at most once more).
  EXPECT_LE(make_collective(CollectiveKind::double_tree, 16).most_sent(buffer), 2.5 * buffer);
}

TEST(Collective, StepsAreThoseOfTheTable) {
  EXPECT_EQ(make_collective(CollectiveKind::ring_all_reduce, 8).steps.size(), 14U);
  EXPECT_EQ(make_collective(CollectiveKind::halving_doubling, 8).steps.size(), 6U);
  EXPECT_EQ(make_collective(CollectiveKind::halving_doubling, 9).steps.size(), 8U);
  EXPECT_EQ(make_collective(CollectiveKind::all_to_all, 8).steps.size(), 7U);
  EXPECT_EQ(make_collective(CollectiveKind::broadcast, 8, {1, 16}).steps.size(), 22U);
}

// In the double tree no rank has more than two children in one tree, and inner ranks of one are
// leaves of the other but for the ends.
TEST(Collective, NoRankOfATreeHasMoreThanTwoChildren) {
  for (std::uint32_t ranks = 2; ranks <= 64; ++ranks) {
    const Collective made = make_collective(CollectiveKind::double_tree, ranks, {1, 1});
    std::vector<int> children(std::size_t{ranks} * 2, 0);
    int inner_of_both = 0;
    for (const auto& step : made.steps) {
      for (const Move& move : step) {
        if (move.is_added) ++children[move.to * 2 + move.first_chunk];
      }
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      ASSERT_LE(children[rank * 2], 2);
      ASSERT_LE(children[rank * 2 + 1], 2);
      inner_of_both += children[rank * 2] > 0 && children[rank * 2 + 1] > 0 ? 1 : 0;
    }
    ASSERT_LE(inner_of_both, 1);
  }
}

}  // namespace
}  // namespace weir::network
