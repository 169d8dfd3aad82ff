// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/traced_tensor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace weir::predict {
namespace {

const TracedTensor kPlain{"bf16", {8, 64, 14, 14}, {}};
const TracedTensor kChannelsLast{"bf16", {8, 64, 14, 14}, {12544, 1, 896, 64}};
const TracedTensor kHeads{"bf16", {8, 32, 512, 64}, {1048576, 64, 2048, 1}};
const TracedTensor kHalfOfHeads{"bf16", {8, 32, 512, 32}, {1048576, 64, 2048, 1}};
const TracedTensor kExpanded{"bf16", {8, 2048, 7, 7}, {2048, 1, 0, 0}};

TEST(TracedTensor, CountsBytesThatLieInMemory) {
  EXPECT_EQ(bytes_of(kPlain), 2.0 * 8 * 64 * 14 * 14);
  EXPECT_EQ(bytes_of(kExpanded), 2.0 * 8 * 2048);
  EXPECT_EQ(bytes_of({"int64", {}, {}}), 8);
  EXPECT_EQ(bytes_of({"bool", {3, 0}, {}}), 0);
}

TEST(TracedTensor, RowsAreWhatLiesSideBySide) {
  EXPECT_EQ(row_shape(kPlain).columns, 14);
  EXPECT_EQ(row_shape(kChannelsLast).columns, 64);
  EXPECT_EQ(row_shape(kChannelsLast).rows, 8 * 14 * 14);
  EXPECT_EQ(row_shape(kHeads).columns, 64);
  EXPECT_EQ(row_shape({"fp32", {}, {}}).columns, 1);
}

TEST(TracedTensor, KnowsOrdersInMemory) {
  EXPECT_TRUE(is_packed(kPlain));
  EXPECT_TRUE(is_packed(kChannelsLast));
  EXPECT_TRUE(is_packed(kHeads));
  EXPECT_FALSE(is_packed(kHalfOfHeads));
  EXPECT_FALSE(is_packed(kExpanded));
  EXPECT_TRUE(lie_alike(kHeads, kHeads));
  EXPECT_FALSE(lie_alike(kPlain, kChannelsLast));
  EXPECT_FALSE(lie_alike(kHalfOfHeads, kHalfOfHeads));  // gaps: not one long row
  EXPECT_TRUE(has_channels_last(kChannelsLast));
  EXPECT_FALSE(has_channels_last(kPlain));
  EXPECT_TRUE(has_plain_rows(kHeads));
  EXPECT_FALSE(has_plain_rows(kChannelsLast));
}

RC_GTEST_PROP(TracedTensorProperties, AnyOrderOfDimensionsIsPackedAndAGapIsNot, ()) {
  const auto rank = *rc::gen::inRange<std::size_t>(1, 5);
  TracedTensor tensor{"fp32", {}, {}};
  for (std::size_t i = 0; i < rank; ++i)
    tensor.shape.push_back(*rc::gen::inRange<std::int64_t>(2, 9));
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = rank; i-- > 1;)
    std::swap(order[i], order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  tensor.strides.resize(rank);
  std::int64_t stride = 1;
  for (const std::size_t i : order) {
    tensor.strides[i] = stride;
    stride *= tensor.shape[i];
  }
  RC_ASSERT(is_packed(tensor));
  const RowShape shape = row_shape(tensor);
  RC_ASSERT(shape.rows * shape.columns == elements_of(tensor));
  RC_ASSERT(shape.columns == tensor.shape[order.front()]);
  tensor.strides[order.back()] += 1;
  RC_ASSERT(!is_packed(tensor));
}

}  // namespace
}  // namespace weir::predict
