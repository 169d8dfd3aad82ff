// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/attention_backend.h"

#include <gtest/gtest.h>

namespace weir::predict {
namespace {

KernelCall with_head(std::int64_t size) {
  return usual_attention("bwd", {2, 8, 2, 512, 512, size, 1});
}

TEST(AttentionBackend, IsTheFirstThatComputesHeadsOfThatSize) {
  EXPECT_EQ(with_head(64).variant, "bwd/cudnn");
  EXPECT_EQ(with_head(128).variant, "bwd/cudnn");
  EXPECT_EQ(with_head(129).variant, "bwd/flash");
  EXPECT_EQ(with_head(256).variant, "bwd/flash");
  EXPECT_EQ(with_head(512).variant, "bwd/efficient");
}

TEST(AttentionBackend, HeadsThatEightDoesNotDivideAreNotForCudnn) {
  EXPECT_EQ(with_head(100).variant, "bwd/flash");
  EXPECT_EQ(with_head(104).variant, "bwd/cudnn");
}

TEST(AttentionBackend, CopiesGroupedHeadsWhereItHasTo) {
  EXPECT_EQ(with_head(256).sizes[attention_size::kv_heads], 2);
  EXPECT_EQ(with_head(512).sizes[attention_size::kv_heads], 8);
}

}  // namespace
}  // namespace weir::predict
