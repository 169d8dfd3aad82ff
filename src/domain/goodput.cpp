// SPDX-License-Identifier: Apache-2.0
#include "domain/goodput.h"

namespace weir {

IterationRate goodput(const BatchRate& at, const GradientNoise& noise) {
  const WideInteger samples = static_cast<WideInteger>(at.rate.value) * at.batch;
  const WideInteger useful = samples * (noise.noise_scale + noise.base_batch);
  const WideInteger per_iteration =
      static_cast<WideInteger>(noise.noise_scale + at.batch) * noise.base_batch;
  return IterationRate{static_cast<std::int64_t>(useful / per_iteration)};
}

std::optional<BatchRate> best_batch(std::span<const BatchRate> choices, const GradientNoise& noise,
                                    std::int64_t most) {
  std::optional<BatchRate> best;
  for (const BatchRate& choice : choices) {
    if (choice.batch < noise.base_batch || choice.batch > most) continue;
    const IterationRate rate = goodput(choice, noise);
    const bool is_better =
        !best || rate > best->rate || (rate == best->rate && choice.batch < best->batch);
    if (is_better) best = BatchRate{choice.batch, rate};
  }
  return best;
}

}  // namespace weir
