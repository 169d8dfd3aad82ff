// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/overhead_drift.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "domain/seeded_rng.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/kernel_work.h"
#include "predict/kernels/random_convolution_testing.h"

namespace weir::predict {
namespace {

DeviceSpec p100() {
  return *find_device("p100");
}

enum class Order { shuffled, by_work };

// Convolutions of random shapes whose kernel runs at 5 TFLOP/s with some noise, `per_row` ms later in each row from a
// share of the table on.
std::vector<KernelSample> eager_table(std::uint64_t seed, std::size_t count, double per_row,
                                      Order order = Order::shuffled, double starts = 0) {
  SeededRng rng{seed};
  std::vector<KernelSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    KernelSample sample = random_convolution(rng);
    if (i % 3 == 0) sample.launch.algorithm = "72|105";
    sample.milliseconds = (kernel_work(sample.call).flops / 5e12 * 1e3 + 0.03) *
                          std::exp(0.1 * (rng.uniform() - 0.5));
    samples.push_back(sample);
  }
  if (order == Order::by_work)
    std::sort(samples.begin(), samples.end(), [](const KernelSample& a, const KernelSample& b) {
      return a.milliseconds < b.milliseconds;
    });
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].row = static_cast<std::int64_t>(i);
    samples[i].milliseconds +=
        per_row * std::max(0.0, static_cast<double>(i) - starts * static_cast<double>(count));
  }
  return samples;
}

std::vector<const KernelSample*> pointers(const std::vector<KernelSample>& samples) {
  std::vector<const KernelSample*> all;
  for (const KernelSample& sample : samples) all.push_back(&sample);
  return all;
}

RC_GTEST_PROP(OverheadDrift, IsFoundToATenthWhateverTheRows, (std::uint64_t seed)) {
  const double per_row = 1e-4 + 4e-4 * SeededRng{seed}.uniform();
  // So many that not one table in ten million is shuffled into something that looks like an order of work.
  const auto samples = eager_table(seed, 3000, per_row);
  const OverheadDrift found = find_overhead_drift(pointers(samples), p100());
  RC_ASSERT(found.growth.size() == 1U);
  const OverheadGrowth& growth = found.growth.at("conv/conv");
  RC_ASSERT(growth.last_row == 2999);
  RC_ASSERT(std::abs(growth.last_milliseconds() / (per_row * 2999) - 1) < 0.1);
}

RC_GTEST_PROP(OverheadDrift, IsFoundWhereItBegins, (std::uint64_t seed)) {
  constexpr double kRows = 4000;
  SeededRng rng{seed};
  const double starts = 0.25 * static_cast<double>(1 + rng.below(3));
  const auto samples = eager_table(seed, kRows, 5e-4, Order::shuffled, starts);
  const OverheadDrift found = find_overhead_drift(pointers(samples), p100());
  RC_ASSERT(found.growth.size() == 1U);
  const double last = 5e-4 * kRows * (1 - starts);
  for (double row = 0; row < kRows; row += 100) {
    const double is = 5e-4 * std::max(0.0, row - starts * kRows);
    RC_ASSERT(std::abs(overhead_at(found.growth.at("conv/conv"), row) - is) < 0.1 * last);
  }
}

TEST(OverheadGrowth, IsEvenBetweenItsValuesAndBeyondTheLast) {
  const OverheadGrowth growth{30, {0, 1, 1, 4}};
  EXPECT_DOUBLE_EQ(overhead_at(growth, 0), 0);
  EXPECT_DOUBLE_EQ(overhead_at(growth, 5), 0.5);
  EXPECT_DOUBLE_EQ(overhead_at(growth, 10), 1);
  EXPECT_DOUBLE_EQ(overhead_at(growth, 15), 1);
  EXPECT_DOUBLE_EQ(overhead_at(growth, 25), 2.5);
  EXPECT_DOUBLE_EQ(overhead_at(growth, 30), 4);
  EXPECT_DOUBLE_EQ(overhead_at(growth, 31), 4.3);
  EXPECT_EQ(overhead_at({}, 7), 0);
}

RC_GTEST_PROP(OverheadDrift, IsNotSeenWhereThereIsNone, (std::uint64_t seed)) {
  const auto samples = eager_table(seed, 2000, 0);
  RC_ASSERT(find_overhead_drift(pointers(samples), p100()).growth.empty());
}

TEST(OverheadDrift, IsNotLookedForWhereLaterRowsHaveMoreWork) {
  const auto samples = eager_table(3, 2000, 2e-4, Order::by_work);
  EXPECT_TRUE(find_overhead_drift(pointers(samples), p100()).growth.empty());
}

TEST(OverheadDrift, IsNotLookedForInAFewRows) {
  const auto samples = eager_table(4, 400, 2e-3);
  EXPECT_TRUE(find_overhead_drift(pointers(samples), p100()).growth.empty());
}

TEST(OverheadDrift, TakenOutOfSamplesLeavesTheKernel) {
  const auto with = eager_table(5, 2000, 2e-4);
  const auto without = eager_table(5, 2000, 0);
  const KernelsAlone alone = kernels_alone(pointers(with), p100());
  ASSERT_EQ(alone.pointers.size(), without.size());
  double before = 0;
  double after = 0;
  for (std::size_t i = 0; i < without.size(); ++i) {
    EXPECT_EQ(alone.pointers[i]->call, without[i].call);
    EXPECT_GT(alone.pointers[i]->milliseconds, 0);
    before += std::abs(with[i].milliseconds - without[i].milliseconds);
    after += std::abs(alone.pointers[i]->milliseconds - without[i].milliseconds);
  }
  EXPECT_LT(after, 0.1 * before);
}

TEST(OverheadDrift, AddsWhatTheRowHadAndNothingForOtherTables) {
  const OverheadDrift drift{{{"conv/conv", {9, {0, 4.5}}}}};
  KernelSample sample;
  sample.call = {KernelFamily::conv, "conv", "fp32", "", {}};
  sample.row = 7;
  EXPECT_DOUBLE_EQ(drift.milliseconds(sample), 3.5);
  EXPECT_DOUBLE_EQ(drift.growth.at("conv/conv").last_milliseconds(), 4.5);
  sample.call.family = KernelFamily::gemm;
  EXPECT_EQ(drift.milliseconds(sample), 0);
}

TEST(OverheadDrift, LeavesAFifthToTheKernel) {
  const OverheadDrift drift{{{"conv/conv", {9, {0, 4.5}}}}};
  KernelSample sample;
  sample.call = {KernelFamily::conv, "conv", "fp32", "", {}};
  sample.row = 7;
  sample.milliseconds = 10;
  EXPECT_DOUBLE_EQ(drift.kernel_milliseconds(sample), 6.5);
  sample.milliseconds = 4;
  EXPECT_DOUBLE_EQ(drift.kernel_milliseconds(sample), 0.8);
}

}  // namespace
}  // namespace weir::predict
