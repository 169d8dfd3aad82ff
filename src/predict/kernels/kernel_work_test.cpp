// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/kernel_work.h"

#include <gtest/gtest.h>

namespace weir::predict {
namespace {

TEST(KernelWork, OfAProductCountsEveryMultiplyAndAddAndEveryMatrixOnce) {
  const KernelWork work = kernel_work({KernelFamily::gemm, "bmm", "bf16", "nn", {3, 4, 5, 6}});
  EXPECT_EQ(work.flops, 2 * 3 * 4 * 5 * 6);
  EXPECT_EQ(work.bytes, 2 * 3 * (4 * 5 + 5 * 6 + 4 * 6));
  EXPECT_EQ(work.depth, 5);
}

TEST(KernelWork, OfAConvolutionHasTheSameArithmeticInEveryPass) {
  // 8 -> 16 channels, 3 x 3, 7 x 7 -> 4 x 4
  KernelCall call{KernelFamily::conv, "conv", "fp32", "fwd/nchw", {2, 8, 16, 3, 7, 2, 1}};
  const double flops = 2.0 * 2 * 16 * 4 * 4 * 8 * 9;
  for (const char* pass : {"fwd/nchw", "dgrad/nchw", "wgrad/nchw"}) {
    call.variant = pass;
    EXPECT_EQ(kernel_work(call).flops, flops);
    EXPECT_EQ(kernel_work(call).bytes, 4.0 * 2 * (8 * 49 + 16 * 16));
    EXPECT_EQ(kernel_work(call).weight_bytes, 4.0 * 8 * 16 * 9);
  }
  EXPECT_EQ(kernel_work(call).rows * kernel_work(call).columns, 16.0 * 8 * 9);
}

TEST(KernelWork, OfAttentionHalvesUnderAMaskAndGrowsBackwards) {
  KernelCall call{KernelFamily::attention, "sdpa", "bf16", "fwd/cudnn", {2, 3, 3, 4, 4, 64, 0}};
  const double full = 4.0 * 2 * 3 * 16 * 64;
  EXPECT_EQ(kernel_work(call).flops, full);
  call.sizes[attention_size::causal] = 1;
  EXPECT_EQ(kernel_work(call).flops, full * 10 / 16);
  call.variant = "bwd/cudnn";
  EXPECT_EQ(kernel_work(call).flops, full * 10 / 16 * 2.5);
  EXPECT_EQ(kernel_work(call).bytes, 2 * (2.0 * 2 * 64 * 2 * (3 * 4 + 3 * 4) + 4 * 2 * 3 * 4));
}

TEST(KernelWork, OfGroupedHeadsReadsFewerKeys) {
  const KernelWork work =
      kernel_work({KernelFamily::attention, "sdpa", "bf16", "fwd/cudnn", {1, 8, 2, 1, 100, 64, 0}});
  EXPECT_EQ(work.bytes, 2.0 * 64 * 2 * (8 + 2 * 100) + 4 * 8);
  EXPECT_EQ(work.flops, 4.0 * 8 * 100 * 64);
}

TEST(KernelWork, OfRowsIsTraffic) {
  EXPECT_EQ(kernel_work({KernelFamily::rows, "add", "bf16", "", {10, 20}}).bytes, 10 * 20 * 3 * 2);
  EXPECT_EQ(kernel_work({KernelFamily::rows, "cast_up", "bf16", "", {10, 20}}).bytes, 10 * 20 * 6);
  EXPECT_EQ(kernel_work({KernelFamily::rows, "adamw", "fp32", "", {10, 20}}).bytes, 10 * 20 * 28);
  EXPECT_EQ(kernel_work({KernelFamily::rows, "tanh", "fp32", "", {10, 20}}).bytes, 10 * 20 * 8);
}

TEST(KernelWork, KnowsThePassOfEveryVariant) {
  EXPECT_EQ(pass_of({KernelFamily::conv, "conv", "bf16", "wgrad/nhwc", {}}), "wgrad");
  EXPECT_EQ(pass_of({KernelFamily::gemm, "mm", "bf16", "nt", {}}), "");
}

}  // namespace
}  // namespace weir::predict
