// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/launch_dispatch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::predict {
namespace {

KernelCall product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {KernelFamily::gemm, "mm", "bf16", "nn", {1, m, n, k}};
}

std::map<std::string, std::vector<DispatchEntry>> tables_of(
    const std::vector<KernelSizes>& shapes) {
  std::map<std::string, std::vector<DispatchEntry>> tables;
  std::int32_t sketch = 0;
  for (const KernelSizes& shape : shapes)
    tables["gemm/mm/bf16/nn"].push_back({shape, sketch++, 1, 0, 0});
  return tables;
}

TEST(LaunchDispatch, TakesTheNearestInDoublings) {
  const auto tables = tables_of({{1, 64, 64, 64}, {1, 256, 64, 64}, {1, 4096, 64, 64}});
  const LaunchDispatch dispatch{tables};
  EXPECT_EQ(dispatch.nearest(product(512, 64, 64)).near[0].entry->sketch, 1);
  EXPECT_EQ(dispatch.nearest(product(3000, 64, 64)).near[0].entry->sketch, 2);
}

TEST(LaunchDispatch, PrefersTheSameAlignment) {
  const auto tables = tables_of({{1, 1024, 1024, 1025}, {1, 1024, 1024, 1152}});
  const LaunchDispatch dispatch{tables};
  EXPECT_EQ(dispatch.nearest(product(1024, 1024, 1032)).near[0].entry->sketch, 1);
}

TEST(LaunchDispatch, OfEquallyNearOnesTheFirstCounts) {
  const auto tables = tables_of({{1, 128, 64, 64}, {1, 128, 64, 64}});
  EXPECT_EQ(LaunchDispatch{tables}.nearest(product(128, 64, 64)).near[0].entry->sketch, 0);
}

TEST(LaunchDispatch, CanLeaveOutTheShapeItself) {
  const auto tables = tables_of({{1, 128, 64, 64}, {1, 4096, 64, 64}});
  const NearLaunches found = LaunchDispatch{tables}.nearest(product(128, 64, 64), true);
  ASSERT_EQ(found.count, 1U);
  EXPECT_EQ(found.near[0].entry->sketch, 1);
}

TEST(LaunchDispatch, CanLookAtSomeKernelsOnly) {
  const auto tables = tables_of({{1, 128, 64, 64}, {1, 4096, 64, 64}});
  const std::vector<char> only = {0, 1};
  const NearLaunches found = LaunchDispatch{tables}.nearest(product(128, 64, 64), false, &only);
  ASSERT_EQ(found.count, 1U);
  EXPECT_EQ(found.near[0].entry->sketch, 1);
}

TEST(LaunchDispatch, KnowsNothingOfOtherOperators) {
  const auto tables = tables_of({{1, 128, 64, 64}});
  KernelCall call = product(128, 64, 64);
  call.dtype = "fp32";
  EXPECT_EQ(LaunchDispatch{tables}.nearest(call).count, 0U);
}

RC_GTEST_PROP(LaunchDispatchProperties, DistancesNeverFallAndNoneNearerIsLeftOut, ()) {
  const auto size = rc::gen::inRange<std::int64_t>(1, 5000);
  const auto batch = rc::gen::inRange<std::int64_t>(1, 300);
  std::vector<KernelSizes> shapes;
  const int count = *rc::gen::inRange(1, 40);
  for (int i = 0; i < count; ++i) shapes.push_back({*batch, *size, *size, *size});
  const auto tables = tables_of(shapes);
  const LaunchDispatch dispatch{tables};
  KernelCall call = product(*size, *size, *size);
  call.sizes[gemm_size::b] = *batch;
  const NearLaunches found = dispatch.nearest(call);
  RC_ASSERT(found.count == std::min(kNeighbours, shapes.size()));
  for (std::size_t i = 1; i < found.count; ++i)
    RC_ASSERT(found.near[i - 1].distance <= found.near[i].distance);
  // Slow twin: each alone.
  std::size_t nearer = 0;
  for (const KernelSizes& shape : shapes) {
    const auto one = tables_of({shape});
    if (LaunchDispatch{one}.nearest(call).near[0].distance < found.near[found.count - 1].distance)
      ++nearer;
  }
  RC_ASSERT(nearer < kNeighbours);
}

}  // namespace
}  // namespace weir::predict
