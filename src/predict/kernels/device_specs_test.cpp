// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/device_specs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "predict/kernels/kernel_work.h"

namespace weir::predict {
namespace {

// Takes what its work takes at these rates, whichever is longer.
KernelSample timed(KernelCall call, double flops, double bytes_per_second) {
  KernelSample sample;
  const KernelWork work = kernel_work(call);
  sample.milliseconds = 1e3 * std::max(work.flops / flops, work.bytes / bytes_per_second);
  sample.call = std::move(call);
  return sample;
}

TEST(ReachedRates, AreThoseOfProductsAndOfKernelsThatOnlyMoveBytes) {
  DeviceSpec spec;
  spec.name = "GPU of tomorrow";
  spec.sms = 100;
  spec.l2_bytes = 1e6;
  const KernelCall product{KernelFamily::gemm, "mm", "fp32", "nn", {1, 4096, 4096, 4096}};
  const KernelCall rows{KernelFamily::rows, "add", "fp32", "", {4096, 8192}};
  // Skips three of four inputs, and with Winograd's arithmetic it is faster than the GPU.
  const KernelCall strided{
      KernelFamily::conv, "conv", "fp32", "fwd/nchw", {64, 512, 64, 1, 128, 2, 0}};
  const std::vector<KernelSample> samples{timed(product, 10e12, 2e12), timed(rows, 10e12, 2e12),
                                          timed(strided, 50e12, 9e12)};
  const DeviceSpec reached = with_reached_rates(spec, samples);
  EXPECT_DOUBLE_EQ(reached.flops.at("fp32"), 10e12);
  EXPECT_DOUBLE_EQ(reached.bytes_per_second, 2e12);
  // Better than nothing.
  const DeviceSpec only = with_reached_rates(spec, {&samples[2], 1});
  EXPECT_GT(only.flops.at("fp32"), 0);
  EXPECT_GT(only.bytes_per_second, 0);
}

}  // namespace
}  // namespace weir::predict
