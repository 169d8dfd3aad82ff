// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/algorithm_picker.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "domain/seeded_rng.h"
#include "predict/kernels/fit_kernels.h"

namespace weir::predict {
namespace {

KernelCall copy_by(const std::string& algorithm, std::int64_t rows) {
  return {KernelFamily::rows, "copy", "fp32", "fwd/" + algorithm, {rows, 1024}};
}

// "slow" starts sooner, "fast" has more bandwidth: they cross at about 1,000 rows.
double milliseconds_by(const std::string& algorithm, std::int64_t rows) {
  const double bytes = static_cast<double>(rows) * 1024 * 8;
  return algorithm == "slow" ? 0.002 + bytes / 2e8 : 0.022 + bytes / 4e8;
}

const KernelModel& two_algorithms() {
  static const KernelModel kModel = [] {
    std::vector<KernelSample> samples;
    SeededRng rng{3};
    for (int i = 0; i < 80; ++i) {
      const auto rows = static_cast<std::int64_t>(16 + rng.below(8000));
      for (const char* algorithm : {"slow", "fast"}) {
        KernelSample sample;
        sample.call = copy_by(algorithm, rows);
        sample.launch = {algorithm, algorithm, rows, 128, 1, 4, 0};
        sample.milliseconds = milliseconds_by(algorithm, rows);
        samples.push_back(sample);
      }
    }
    std::vector<const KernelSample*> all;
    for (const KernelSample& sample : samples) all.push_back(&sample);
    return fit_kernels(all, {"small", 10, 1000, 1e11, 1e6, {{"fp32", 1e12}}, 64}, {});
  }();
  return kModel;
}

TEST(AlgorithmPicker, TakesTheFasterOnEitherSide) {
  const KernelPredictor predictor{two_algorithms()};
  for (const std::int64_t rows : {64, 300, 4000, 7000}) {
    const std::vector<AlgorithmChoice> choices = {{copy_by("slow", rows), 0},
                                                  {copy_by("fast", rows), 100}};
    EXPECT_EQ(pick_algorithm(predictor, choices, 1000), rows < 1000 ? 0U : 1U) << rows;
  }
}

TEST(AlgorithmPicker, StaysWithinTheBudgetAndWithWhatWasMeasured) {
  const KernelPredictor predictor{two_algorithms()};
  const std::vector<AlgorithmChoice> choices = {
      {copy_by("other", 7000), 0}, {copy_by("fast", 7000), 100}, {copy_by("slow", 7000), 50}};
  EXPECT_EQ(pick_algorithm(predictor, choices, 99), 2U);
  EXPECT_EQ(pick_algorithm(predictor, choices, 100), 1U);
  EXPECT_EQ(pick_algorithm(predictor, choices, 49), std::nullopt);
}

TEST(PickFigures, CountOnlyWhatIsClearlyWorse) {
  const PickFigures figures = pick_figures({{1, 1}, {1.01, 1}, {1.5, 1}, {3, 2}});
  EXPECT_EQ(figures.cases, 4);
  EXPECT_EQ(figures.wrong, 2);
  EXPECT_NEAR(figures.mean_regret, (0.01 + 0.5 + 0.5) / 4, 1e-12);
  EXPECT_NEAR(figures.p95_regret, 0.5, 1e-12);
}

TEST(PickFigures, TheWorstOfFewPicksIsNotLeftOut) {
  EXPECT_NEAR(pick_figures({{1, 1}, {1, 1}, {3, 1}}).p95_regret, 2, 1e-12);
}

RC_GTEST_PROP(PickFiguresProperties, RegretIsNeverNegative,
              (const std::vector<std::pair<std::uint8_t, std::uint8_t>>& drawn)) {
  std::vector<Pick> picks;
  for (const auto& pair : drawn)
    picks.push_back({1.0 + pair.first + pair.second, 1.0 + pair.first});
  const PickFigures figures = pick_figures(picks);
  RC_ASSERT(figures.mean_regret >= 0);
  RC_ASSERT(figures.wrong <= figures.cases);
}

}  // namespace
}  // namespace weir::predict
