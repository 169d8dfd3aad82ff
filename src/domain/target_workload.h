// SPDX-License-Identifier: Apache-2.0
//
// The target workload: which task shapes to expect, and how often. Placement policies measure
// fragmentation against it: a free GPU that no expected task can use is a fragment.
//
// Memory is not part of an expected shape (it only filters at placement); CPU-only shapes are.
// Popularity is an integer count, so that every decision made from it is exact.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/shape.h"

namespace weir {

struct ExpectedShape {
  Shape shape;  // memory 0
  std::int64_t count = 0;
  friend bool operator==(const ExpectedShape&, const ExpectedShape&) = default;
};

struct TargetWorkload {
  std::vector<ExpectedShape> shapes;  // most popular first
  std::int64_t total = 0;             // sum of their counts
  // Demand of all counted tasks, also of the shapes that were left out.
  MilliCpu cpu_demand;
  MilliGpu gpu_demand;

  friend bool operator==(const TargetWorkload&, const TargetWorkload&) = default;
};

// The shape as a target workload sees it: without its memory.
Shape expected_shape(Shape shape);

// Keeps the most popular shapes until they cover `coverage_percent` of all counts. Shapes need not
// be distinct. Ties: larger (cpu, gpu_share, gpu_count, models) first.
TargetWorkload make_target_workload(std::vector<ExpectedShape> counts, int coverage_percent = 95);

}  // namespace weir
