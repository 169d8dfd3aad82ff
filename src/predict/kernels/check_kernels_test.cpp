// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/check_kernels.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "domain/seeded_rng.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/kernel_work.h"
#include "predict/kernels/random_convolution_testing.h"

namespace weir::predict {
namespace {

constexpr double kPerRow = 4e-4;
constexpr std::size_t kTableRows = 3000;

// Convolutions whose calls take 0.4 us more from row to row; every fifth is to be predicted.
struct DriftingTable {
  std::vector<KernelSample> samples{};
  std::vector<const KernelSample*> fitting{};
  std::vector<const KernelSample*> others{};
};

DriftingTable drifting_table() {
  SeededRng rng{7};
  DriftingTable table;
  for (std::size_t i = 0; i < kTableRows; ++i) {
    KernelSample sample = random_convolution(rng);
    sample.row = static_cast<std::int64_t>(i);
    sample.milliseconds =
        kernel_work(sample.call).flops / 5e12 * 1e3 + 0.3 + kPerRow * static_cast<double>(i);
    table.samples.push_back(sample);
  }
  for (std::size_t i = 0; i < kTableRows; ++i)
    (i % 5 == 2 ? table.others : table.fitting).push_back(&table.samples[i]);
  return table;
}

KernelModel model_of(const DriftingTable& table) {
  KernelFitOptions options;
  options.boosting.trees = 20;
  return fit_kernels_alone(table.fitting, *find_device("p100"), options);
}

TEST(CheckKernels, RowsOfTheSameTableGetTheOverheadOfTheirPlace) {
  const DriftingTable table = drifting_table();
  const auto figures = checked_figures(check_kernels(model_of(table), table.others));
  EXPECT_LT(figures.at("conv").known.mean, 0.05);
  const double unplaced = figures.at("conv without place").known.mean;
  EXPECT_GT(unplaced, 2 * figures.at("conv").known.mean);
  EXPECT_GE(unplaced, figures.at("conv perfect, no place").known.mean - 0.01);
  EXPECT_FALSE(figures.contains("conv in order"));
}

TEST(CheckKernels, RowsOfAnotherTableHaveNoPlaceUnlessItTells) {
  DriftingTable table = drifting_table();
  const KernelModel model = model_of(table);
  const auto same = checked_figures(check_kernels(model, table.others));
  // Its rows are counted from 0 there.
  for (std::size_t i = 0; i < kTableRows; ++i)
    if (i % 5 == 2) table.samples[i].row = static_cast<std::int64_t>(i / 5);
  const auto other = checked_figures(check_kernels(model, table.others, RowPlaces::another_table));
  EXPECT_DOUBLE_EQ(other.at("conv").known.mean, same.at("conv without place").known.mean);
  EXPECT_LT(other.at("conv in order").known.mean, 0.05);
  EXPECT_FALSE(other.contains("conv without place"));
  for (std::size_t i = 0; i < kTableRows; ++i) {
    if (i % 5 != 2) continue;
    table.samples[i].row = static_cast<std::int64_t>(i);
    table.samples[i].is_row_told = true;
  }
  const auto told = checked_figures(check_kernels(model, table.others, RowPlaces::another_table));
  EXPECT_DOUBLE_EQ(told.at("conv").known.mean, same.at("conv").known.mean);
}

// As when rows that are to be predicted are put behind those that were fitted to.
TEST(CheckKernels, RowsFarBehindTheLastFittedOneHaveNoPlace) {
  DriftingTable table = drifting_table();
  const KernelModel model = model_of(table);
  for (std::size_t i = 0; i < kTableRows; ++i)
    if (i % 5 == 2) table.samples[i].row = static_cast<std::int64_t>(2 * kTableRows + i);
  for (const CheckedKernel& one : check_kernels(model, table.others)) EXPECT_FALSE(one.has_place);
}

TEST(CheckKernels, CoveredIsWhatWasFittedToOftenEnough) {
  const DriftingTable table = drifting_table();
  auto checked = check_kernels(model_of(table), table.others);
  mark_covered(model_of(table), checked);
  EXPECT_TRUE(checked.front().is_covered);
  mark_covered({table.fitting.begin(), table.fitting.begin() + kCoveredSamples - 1}, checked);
  EXPECT_FALSE(checked.front().is_covered);
}

RC_GTEST_PROP(UnknownOverhead, NoOtherConstantErrsLess, ()) {
  constexpr int kRows = 2000;
  const double kernel = 1e-3 * *rc::gen::inRange(1, 5000);
  const int sections = *rc::gen::inRange(1, 6);
  std::vector<double> overheads{0};
  for (int i = 0; i < sections; ++i)
    overheads.push_back(overheads.back() + 1e-3 * *rc::gen::inRange(0, 3000));
  const OverheadGrowth growth{kRows, overheads};
  const auto mean_error = [&](double told) {
    double sum = 0;
    for (int i = 0; i < kRows; ++i)
      sum += std::abs(told / (kernel + overhead_at(growth, i + 0.5)) - 1) / kRows;
    return sum;
  };
  const double best = mean_error(with_unknown_overhead(kernel, overheads));
  for (int i = 0; i <= 50; ++i)
    RC_ASSERT(best <= mean_error(kernel + overheads.back() * i / 50) + 1e-5);
}

TEST(UnknownOverhead, ThatGrowsEvenlyIsTheGeometricMiddle) {
  EXPECT_NEAR(with_unknown_overhead(2, std::vector<double>{0, 6}), 4, 1e-12);
  EXPECT_NEAR(with_unknown_overhead(2, std::vector<double>{0, 2, 4, 6}), 4, 1e-12);
  EXPECT_DOUBLE_EQ(with_unknown_overhead(2, std::vector<double>{0, 0}), 2);
  EXPECT_DOUBLE_EQ(with_unknown_overhead(2, {}), 2);
}

}  // namespace
}  // namespace weir::predict
