// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of random shapes, as tables of eager calls have them: what tests of overheads are made of.
#pragma once

#include <cmath>
#include <cstdint>

#include "domain/kernel_call.h"
#include "domain/seeded_rng.h"
#include "predict/kernels/kernel_work.h"

namespace weir::predict {

inline KernelSample random_convolution(SeededRng& rng) {
  KernelSample sample;
  sample.call = {KernelFamily::conv, "conv", "fp32", "fwd/nchw", {}};
  const auto size = [&](double low, double high) {
    return static_cast<std::int64_t>(low * std::pow(high / low, rng.uniform()));
  };
  sample.call.sizes = {size(1, 64), size(8, 512), size(8, 512), 3, size(5, 64), 1, 1};
  sample.launch.kernel = "scudnn_128x64_relu";
  sample.launch.algorithm = "70|99";
  sample.launch.threads = 256;
  const KernelWork work = kernel_work(sample.call);
  sample.launch.blocks = 1 + static_cast<std::int64_t>(work.rows * work.columns / 8192);
  return sample;
}

}  // namespace weir::predict
