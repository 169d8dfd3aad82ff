// SPDX-License-Identifier: Apache-2.0
//
// What `weir run` is to do, from its options or from a job file: what to start, and how its size
// changes.
#pragma once

#include <cstdint>

#include "cli/run_job_course.h"
#include "domain/engine.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

struct RunJobPlan {
  LaunchSpec launch;
  CoursePlan course;
};

std::vector<OptionSpec> run_job_plan_options();

// All mistakes at once. `gpus_here` is how many this machine has; 0: none, and slots are used, of
// which there may be any number. Requires: the command has the options above.
Result<RunJobPlan> read_run_job_plan(const OptionValues& options, std::int32_t gpus_here);

}  // namespace weir::cli
