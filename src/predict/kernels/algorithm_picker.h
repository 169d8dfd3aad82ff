// SPDX-License-Identifier: Apache-2.0
//
// Which of several algorithms will be the fastest for a call: cuDNN's for a convolution, or attention's backends. Each is a
// variant of the call ("fwd/nchw/algo_6", "bwd/flash") that the model knows by its own launches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/kernel_call.h"
#include "predict/kernels/kernel_predictor.h"

namespace weir::predict {

struct AlgorithmChoice {
  KernelCall call{};
  std::int64_t workspace_bytes = 0;
};

// The place of the one predicted to take least among those within the budget that were measured alike; of equal ones the
// first. Nothing when there is none.
std::optional<std::size_t> pick_algorithm(const KernelPredictor& predictor,
                                          std::span<const AlgorithmChoice> choices,
                                          std::int64_t workspace_budget);

// Why that algorithm of cuDNN cannot compute the convolution; empty if it can. Winograd takes filters of 3 or 5 at stride 1,
// FFT stride 1 and padded images up to 256, tiled FFT filters up to 32 at a stride of at most 2.
std::string why_not_valid(const KernelCall& call, std::string_view algorithm);

// How picks compare with the best: within kAsGood of it counts as right, or noise of the timing would decide.
inline constexpr double kAsGood = 0.02;
struct PickFigures {
  std::int64_t cases = 0;
  std::int64_t wrong = 0;
  double mean_regret = 0;  // of time over the best's, less 1
  double p95_regret = 0;
};
struct Pick {
  double picked = 0;
  double best = 0;
};
// Requires: 0 < best <= picked.
PickFigures pick_figures(const std::vector<Pick>& picks);

}  // namespace weir::predict
