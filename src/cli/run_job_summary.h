// SPDX-License-Identifier: Apache-2.0
//
// What `weir run` tells at the end: how the job ended, and what each change of its size took.
#pragma once

#include "cli/client_api.h"
#include "cli/run_job_course.h"
#include "report/table.h"

namespace weir::cli {

// A row for each change of size, in seconds, and a last one with the medians if there are several;
// "-" where nobody told.
report::Table change_table(const RunCourse& course);

// Requires: the course has an outcome.
ApiJson run_summary(const RunCourse& course, Duration took);

}  // namespace weir::cli
