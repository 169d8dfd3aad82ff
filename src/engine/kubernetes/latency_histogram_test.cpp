// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/latency_histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace weir::engine::kubernetes {
namespace {

using namespace std::chrono_literals;

RC_GTEST_PROP(LatencyHistogram, QuantilesAreExactToAnEighth, (std::uint8_t percent)) {
  const auto exponents =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 42)));
  std::vector<Duration> all;
  LatencyHistogram histogram;
  for (const int exponent : exponents) {
    all.emplace_back(*rc::gen::inRange<std::int64_t>(0, std::int64_t{2} << exponent));
    histogram.add(all.back());
  }
  std::sort(all.begin(), all.end());
  const double part = 1.0 / 100 * (1 + percent % 100);
  const auto rank =
      static_cast<std::size_t>(std::max(1.0, part * static_cast<double>(all.size()) + 0.999999));
  const Duration exact = all[rank - 1];
  const Duration found = histogram.quantile(part);
  RC_ASSERT(found >= exact);
  RC_ASSERT(found <= exact + exact / 8 + 125ns);
  RC_ASSERT(histogram.most() == all.back());
  RC_ASSERT(histogram.count() == all.size());
}

TEST(LatencyHistogram, CountsWithinALimit) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0ns);
  for (const Duration took : {Duration{100us}, Duration{900us}, Duration{5ms}, Duration{20h}})
    histogram.add(took);
  EXPECT_EQ(histogram.count_within(1ms + 125us), 2U);
  EXPECT_EQ(histogram.count_within(10ms), 3U);
  EXPECT_EQ(histogram.quantile(1), 20h);
}

}  // namespace
}  // namespace weir::engine::kubernetes
