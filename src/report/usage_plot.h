// SPDX-License-Identifier: Apache-2.0
//
// GPUs in use over time, in two layers: what promises need, and what is lent beyond them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/table.h"
#include "simulate/allocation_history.h"

namespace weir::report {

// Mean GPUs in use in equal stretches of the run.
struct GpuUsage {
  Time begin;
  Time end;
  std::vector<double> promised;   // by stretch
  std::vector<double> left_over;  // by stretch
};

GpuUsage gpu_usage(const simulate::AllocationHistory& history, std::size_t stretches);

std::string usage_svg(const GpuUsage& usage, std::int64_t gpus, const std::string& title);
// Some twenty rows.
Table usage_table(const GpuUsage& usage);

}  // namespace weir::report
