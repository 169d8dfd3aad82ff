// SPDX-License-Identifier: Apache-2.0
//
// A workload is a list of jobs, in a trace or a file of the user's. A job is `replicas` tasks of
// one shape that start together or not at all (a gang when there are several).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/shape.h"
#include "domain/time.h"

namespace weir {

struct JobSpec {
  std::string name;
  std::int32_t replicas = 1;
  Shape shape;

  constexpr bool is_gang() const { return replicas > 1; }
  constexpr MilliGpu gpu_total() const { return shape.gpu_total() * replicas; }
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// When a job came and how long it ran. Known of a trace, not of the future: no policy sees it.
struct JobTiming {
  Duration submitted{0};  // since the start of the trace
  Duration run_time{0};
  friend bool operator==(const JobTiming&, const JobTiming&) = default;
};

struct WorkloadJob {
  JobSpec spec;
  std::optional<JobTiming> timing;  // some traces have none
  friend bool operator==(const WorkloadJob&, const WorkloadJob&) = default;
};

struct Workload {
  std::string name;  // for reports: "default"
  std::vector<WorkloadJob> jobs;

  MilliGpu gpu_demand() const;
  bool has_timing() const;  // every job has
};

}  // namespace weir
