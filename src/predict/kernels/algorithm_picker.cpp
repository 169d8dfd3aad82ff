// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/algorithm_picker.h"

#include <algorithm>

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
  figures.p95_regret = regrets[(regrets.size() - 1) * 95 / 100];
  return figures;
}

}  // namespace weir::predict
