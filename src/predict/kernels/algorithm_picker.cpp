// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/algorithm_picker.h"

#include <algorithm>

#include "predict/kernels/error_figures.h"

namespace weir::predict {

std::optional<std::size_t> pick_algorithm(const KernelPredictor& predictor,
                                          std::span<const AlgorithmChoice> choices,
                                          std::int64_t workspace_budget) {
  std::optional<std::size_t> picked;
  double least = 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].workspace_bytes > workspace_budget) continue;
    if (!predictor.model().dispatch.contains(dispatch_key(choices[i].call))) continue;
    const double seconds = predictor.predict(choices[i].call).seconds;
    if (picked && seconds >= least) continue;
    picked = i;
    least = seconds;
  }
  return picked;
}

std::string why_not_valid(const KernelCall& call, std::string_view algorithm) {
  const std::int64_t filter = call.sizes[conv_size::ksize];
  const std::int64_t stride = call.sizes[conv_size::stride];
  const std::int64_t padded = call.sizes[conv_size::insize] + 2 * call.sizes[conv_size::pad];
  if (filter > padded) return "the filter is larger than the padded image";
  if (algorithm.starts_with("winograd") && ((filter != 3 && filter != 5) || stride != 1))
    return "Winograd needs a filter of 3 or 5 at stride 1";
  if (algorithm == "fft" && (stride != 1 || padded > 256))
    return "FFT needs stride 1 and a padded image of at most 256";
  if (algorithm == "fft_tiling" && (stride > 2 || filter > 32))
    return "tiled FFT needs a stride of at most 2 and a filter of at most 32";
  return {};
}

PickFigures pick_figures(const std::vector<Pick>& picks) {
  PickFigures figures;
  figures.cases = static_cast<std::int64_t>(picks.size());
  if (picks.empty()) return figures;
  std::vector<double> regrets;
  for (const Pick& pick : picks) {
    const double regret = pick.picked / pick.best - 1;
    regrets.push_back(regret);
    figures.mean_regret += regret / static_cast<double>(picks.size());
    if (regret > kAsGood) ++figures.wrong;
  }
  std::sort(regrets.begin(), regrets.end());
  figures.p95_regret = covering_value(regrets, 95);
  return figures;
}

}  // namespace weir::predict
