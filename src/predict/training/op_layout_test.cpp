// SPDX-License-Identifier: Apache-2.0
#include "predict/training/op_layout.h"

#include <gtest/gtest.h>

namespace weir::predict {
namespace {

using enum Spread;

const Resharding kNothing{};

TEST(Resharding, EqualLayoutsMoveNothing) {
  for (const Spread spread : {copies_in_middle, copies_in_front, split_hidden, split_heads}) {
    EXPECT_EQ(resharding(spread, {2, 2}, spread, {2, 2}), kNothing);
  }
  // Without tensor parallelism copies and splits are the same.
  EXPECT_EQ(resharding(copies_in_middle, {1, 4}, split_hidden, {1, 4}), kNothing);
}

TEST(Resharding, NothingIsAskedOfAnyLayout) {
  EXPECT_EQ(resharding(any, {4, 1}, split_heads, {1, 4}), kNothing);
  EXPECT_EQ(resharding(split_hidden, {4, 1}, any, {1, 4}), kNothing);
}

TEST(Resharding, FromCopiesToASplitEachKeepsItsPartAndGradientsAreGathered) {
  EXPECT_EQ(resharding(copies_in_middle, {4, 1}, split_hidden, {4, 1}),
            (Resharding{std::nullopt, Collective::all_gather, 4}));
  // Half the copies: tp 4 to tp 2 with twice the replicas.
  EXPECT_EQ(resharding(copies_in_middle, {4, 1}, copies_in_middle, {2, 2}),
            (Resharding{std::nullopt, Collective::all_gather, 2}));
}

TEST(Resharding, FromASplitToCopiesIsGathered) {
  EXPECT_EQ(resharding(split_hidden, {4, 1}, copies_in_middle, {4, 1}),
            (Resharding{Collective::all_gather, std::nullopt, 4}));
  EXPECT_EQ(resharding(copies_in_middle, {1, 4}, copies_in_middle, {2, 2}),
            (Resharding{Collective::all_gather, std::nullopt, 2}));
}

TEST(Resharding, FromOneSplitToAnotherGoesFromAllToAll) {
  // parts {1, 1, 4} to {1, 4, 1}
  EXPECT_EQ(resharding(split_hidden, {4, 1}, split_heads, {4, 1}),
            (Resharding{Collective::all_to_all, Collective::all_to_all, 4}));
  // batch in the middle to batch in front
  EXPECT_EQ(resharding(copies_in_middle, {1, 4}, copies_in_front, {1, 4}),
            (Resharding{Collective::all_to_all, Collective::all_to_all, 4}));
}

}  // namespace
}  // namespace weir::predict
