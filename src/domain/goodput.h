// SPDX-License-Identifier: Apache-2.0
//
// How much of a job's throughput brings it forward. With a larger batch, an iteration takes in more
// samples, but each brings less:
//   efficiency(m) = (phi + m0) / (phi + m)
// m0: the batch at which a sample counts in full, the user's; phi: the gradient noise scale, in
// samples (McCandlish et al. 2018; Qiao et al., OSDI 2021). Goodput is throughput times efficiency,
// counted here in iterations of the user's batch per second, so that work stays what it is.
// Limits: phi is taken as constant; in training it grows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "domain/work.h"

namespace weir {

// Iterations per second with that global batch.
struct BatchRate {
  std::int64_t batch = 0;
  IterationRate rate;
  friend bool operator==(const BatchRate&, const BatchRate&) = default;
};

struct GradientNoise {
  std::int64_t base_batch = 1;   // m0, at least 1
  std::int64_t noise_scale = 0;  // phi; 0: a larger batch brings nothing
};

// Rounded down. The rate itself at the base batch.
IterationRate goodput(const BatchRate& at, const GradientNoise& noise);

// Of the batches from the base batch to `most`, the one with the best goodput, and that goodput; the
// smallest of equals. Nothing when there is none.
std::optional<BatchRate> best_batch(std::span<const BatchRate> choices, const GradientNoise& noise,
                                    std::int64_t most);

}  // namespace weir
