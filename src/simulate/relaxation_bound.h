// SPDX-License-Identifier: Apache-2.0
//
// How much of a cluster's GPU capacity any placement policy could allocate at best, when tasks
// worth 100 % of the capacity have arrived: what a policy's result is to be compared with, rather
// than with 100 %.
//
// It is the bound of the configuration programme (schedule/place/configuration_lp.h) for the
// workload's mix of tasks: the packer knows all tasks beforehand, may place fractions of them,
// ignores memory and CPU-only tasks, and every rounding is in its favour. Model sets and the way
// shares and whole GPUs fall onto single GPUs are kept.
//
// Limits: it holds for the workload's own mix. The tasks that one seed draws have a slightly
// different one, which moved the bound by up to 0.13 points (five openb lists, seeds 42-46). Takes
// 0.01 to 0.5 s there. A workload of more than kMostBoundedShapes shapes gets the trivial bound.
#pragma once

#include <cstddef>

#include "domain/cluster.h"
#include "domain/workload.h"

namespace weir::simulate {

// The time grows with more than the square of the number of shapes: some seconds for this many. The
// openb lists have up to 320.
inline constexpr std::size_t kMostBoundedShapes = 500;

// Percent of the GPU capacity; 0 when there is no GPU or none is asked for.
double relaxation_bound_percent(const Cluster& cluster, const Workload& workload);

}  // namespace weir::simulate
