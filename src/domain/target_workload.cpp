// SPDX-License-Identifier: Apache-2.0
#include "domain/target_workload.h"

#include <algorithm>
#include <tuple>

namespace weir {
namespace {

__extension__ using Wide = __int128;

auto shape_key(const Shape& shape) {
  return std::tuple{shape.cpu, shape.gpu_share, shape.gpu_count, shape.models, shape.memory};
}

void merge_equal_shapes(std::vector<ExpectedShape>& counts) {
  std::sort(counts.begin(), counts.end(), [](const ExpectedShape& a, const ExpectedShape& b) {
    return shape_key(a.shape) > shape_key(b.shape);
  });
  std::size_t kept = 0;
  for (const ExpectedShape& entry : counts) {
    if (kept > 0 && counts[kept - 1].shape == entry.shape) {
      counts[kept - 1].count += entry.count;
    } else {
      counts[kept++] = entry;
    }
  }
  counts.resize(kept);
}

}  // namespace

Shape expected_shape(Shape shape) {
  shape.memory = Mebibytes{0};
  return shape;
}

TargetWorkload make_target_workload(std::vector<ExpectedShape> counts, int coverage_percent) {
  for (ExpectedShape& entry : counts) entry.shape = expected_shape(entry.shape);
  merge_equal_shapes(counts);
  std::stable_sort(
      counts.begin(), counts.end(),
      [](const ExpectedShape& a, const ExpectedShape& b) { return a.count > b.count; });

  TargetWorkload target;
  std::int64_t all = 0;
  Wide cpu = 0;  // a million gangs of ten thousand million-core tasks do not fit 64 bits
  for (const ExpectedShape& entry : counts) {
    all += entry.count;
    cpu += static_cast<Wide>(entry.shape.cpu.value) * entry.count;
    target.gpu_demand += entry.shape.gpu_total() * entry.count;
  }
  target.cpu_demand = MilliCpu{static_cast<std::int64_t>(std::min<Wide>(cpu, INT64_MAX))};
  for (const ExpectedShape& entry : counts) {
    if (target.total * 100 >= all * coverage_percent) break;
    target.shapes.push_back(entry);
    target.total += entry.count;
  }
  return target;
}

}  // namespace weir
